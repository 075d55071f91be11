"""The conditions that the machines share. Each answers Yes, No or Unknown with a reason; Unknown never leads to an act."""

from __future__ import annotations

import re

from strawboss.recovery.again import why_left_to_a_person
from strawboss.recovery.evidence import LaunchScript
from strawboss.recovery.facts import Facts, file_name, is_idle
from strawboss.recovery.settings import Beyond
from strawboss.recovery.verdict import YES, Said, Unknown, condition, no, unknown

NO_RESUME = "no result of subagent_resume in the transcript names it"
TWO_RESUMES = "two results of subagent_resume in the transcript name it"


@condition("its launcher no longer tracks it")
def is_untracked(facts: Facts) -> Said:
    return no("its id is in the registry") if facts.tracked else YES


@condition("it has not reported")
def is_unreported(facts: Facts) -> Said:
    """No message of the launcher's file names its session file. A ping counts as a result."""
    if facts.script is None:
        return unknown("its session file is not known")
    file, transcript = facts.script.session_file, facts.transcript
    if facts.is_resumed:
        return _is_unreported_since(facts, file)
    if file in transcript.results:
        return no("reported: a subagent_result names its session file")
    if file in transcript.pings:
        return no("reported: a subagent_ping names its session file")
    if file in transcript.torn_results or "" in transcript.torn_results:
        return unknown("a line of the transcript that may hold its result cannot be read")
    return YES


def _is_unreported_since(facts: Facts, file: str) -> Said:
    """A result of the run that it resumed names the same session file: only what comes after counts for it."""
    if not facts.resumes:
        return unknown(NO_RESUME)
    if facts.transcript.results_at.get(file, -1) > facts.began_at:
        return no("reported: a result that names its session file came after it was resumed")
    torn = (facts.transcript.torn_results_at.get(name, -1) for name in (file, ""))
    if any(at > facts.began_at for at in torn):
        return unknown("a line of the transcript that may hold its result cannot be read")
    return YES


@condition("nobody resumed it since")
def was_not_resumed_since(facts: Facts) -> Said:
    if facts.script is None:
        return unknown("its session file is not known")
    later = [one for one in facts.transcript.resumes if one.session_file == facts.script.session_file]
    others = [one.run for one in later if one.at > facts.began_at and one.run != facts.run]
    return no(f"it was resumed as run {others[-1]}") if others else YES


@condition("its launch script names it")
def has_launch_script(facts: Facts) -> Said:
    """The launch script this session wrote for that run, naming the run's own session, or the resume of a resumed run."""
    if facts.is_resumed:
        return _is_chained(facts)
    script = facts.files.script
    if script is None:
        return no("it has no launch script")
    if isinstance(script, Unknown):
        return unknown(script)
    if not _own_file(facts.run).search(script.session_file):
        return no("its launch script names a session file that is not its own")
    return YES


def _is_chained(facts: Facts) -> Said:
    """A resumed run is proven by its launcher's own record of the resume and by the resume script, in agreement."""
    script, resumes = facts.files.resume_script, facts.resumes
    if facts.settings.resumed is Beyond.OFF:
        return no("it was resumed before, and resumed: off in the config")
    if not isinstance(script, LaunchScript):
        return unknown(script or "it has no resume script")
    if len(resumes) != 1:
        return unknown(TWO_RESUMES if resumes else NO_RESUME)
    if resumes[0].session_file != script.session_file:
        return unknown("its resume script names another session file than the result of subagent_resume")
    if file_name(resumes[0].script) != file_name(script.path):
        return unknown("the result of subagent_resume names another script")
    return YES


def _own_file(run: str) -> re.Pattern[str]:
    # The whole tail: `_1a2b3c4d-` alone is also the beginning of a UUID run id (docs/design.md#reading-what-others-wrote).
    return re.compile(rf"_{re.escape(run)}-[0-9a-f]{{1,8}}-[0-9a-f]{{1,8}}-[0-9a-f]{{1,4}}\.jsonl$")


@condition("it is not a persistent specialist")
def is_not_persistent(facts: Facts) -> Said:
    """By its launch script or its policy sidecar: pi-herdr-agents cannot resume such a run."""
    policy = facts.files.policy
    if facts.script is None:
        return unknown("its launch script cannot be read")
    if facts.script.persistent:
        return no("its launch script says PI_SUBAGENT_PERSISTENT=1")
    if isinstance(policy, Unknown):
        return unknown(policy)
    if policy is not None and policy.persistent:
        return no("its policy sidecar says persistent")
    return YES


@condition("nothing was done for it before")
def has_not_been_acted_on(facts: Facts) -> Said:
    """One message per run: no `nudged`, `resumed` or `gaveUp` key."""
    if facts.keys.gave_up is not None:
        return no(f"given up: {facts.keys.gave_up}")
    if facts.keys.nudged:
        return no("its nudged key is written")
    if facts.keys.resumed and not _may_strand_again(facts):
        return no("its resumed key is written")
    return YES


def _may_strand_again(facts: Facts) -> bool:
    """A worktree run keeps its pane, so a further restart strands it again; its keys tell one stranding from the next.

    Where an older version noted no terminal, one that was told to go on may be: that is worth a word and no act.
    """
    again = facts.keys.tells_strandings_apart or facts.keys.went_on
    return facts.is_worktree and again and facts.settings.resumed is not Beyond.OFF


@condition("herdr lists its panes")
def panes_are_listed(facts: Facts) -> Said:
    return unknown(facts.panes) if isinstance(facts.panes, Unknown) else YES


@condition("no second pi is on the launcher's session")
def launcher_is_alone(facts: Facts) -> Said:
    """Two pi on one session file interleave two branches: neither can be trusted with keys (R35)."""
    if isinstance(facts.panes, Unknown):
        return unknown(facts.panes)
    panes = [pane.id for pane in facts.panes if pane.session == facts.launcher.file]
    if len(panes) > 1:
        return unknown(f"panes {', '.join(sorted(panes))} are all on it")
    return YES


@condition(launcher_is_alone.sentence)
def nobody_else_is_seen(facts: Facts) -> Said:
    """For what is under way already: only a second pi that is seen holds it up."""
    return YES if isinstance(facts.panes, Unknown) else launcher_is_alone.judge(facts)


@condition("its pane runs its launch script")
def runs_its_script(facts: Facts) -> Said:
    """Its pane runs the child itself: the foreground holds the launch script this session wrote for it."""
    if facts.script is None:
        return unknown("its launch script is not known")
    if isinstance(facts.processes, Unknown):
        return unknown(facts.processes)
    if any(_is_script(facts, argument) for process in facts.processes for argument in process.argv or ()):
        return YES
    if any(process.argv is None for process in facts.processes):
        return unknown("the arguments of a process in its pane cannot be read")
    return no("its launch script is not among the pane's foreground processes")


def _is_script(facts: Facts, argument: str) -> bool:
    # By its place under the launcher's artifacts, so that a symlink on the way there changes nothing.
    assert facts.script is not None
    file = file_name(facts.script.path)
    place = f"artifacts/{facts.launcher.id}/subagent-scripts/{file}"
    plain = argument.replace("\\", "/")
    return argument == facts.script.path or plain == place or plain.endswith("/" + place)


@condition("the launcher is on pi-intercom")
def launcher_is_reachable(facts: Facts) -> Said:
    """Without the launcher in the roster nobody could receive the report."""
    if isinstance(facts.roster, Unknown):
        return unknown(facts.roster)
    launcher = facts.launcher
    if any(peer.id == launcher.id or peer.pid == launcher.pid for peer in facts.roster):
        return YES
    return unknown("its session is not in the roster")


@condition("pi-intercom has a session in its pane")
def has_a_session(facts: Facts) -> Said:
    if isinstance(facts.roster, Unknown):
        return unknown(facts.roster)
    return YES if facts.peer else no("no single session of the roster is in its pane")


@condition("pi-intercom says that session is idle")
def session_is_idle(facts: Facts) -> Said:
    if isinstance(facts.roster, Unknown):
        return unknown(facts.roster)
    if facts.peer is None:
        return unknown("its session is not known")
    return YES if is_idle(facts.peer.status) else no(f"it says {facts.peer.status}")


@condition("nobody was told of it there before")
def is_a_new_stranding(facts: Facts) -> Said:
    """A new terminal is a new stranding, and the keys carry the terminals that were dealt with; one warning is enough."""
    keys, pane = facts.keys, facts.pane or facts.launch_pane
    if not (keys.dealt_with or keys.warned_in):
        return YES
    if isinstance(facts.panes, Unknown):
        return unknown(facts.panes)
    terminal = pane.terminal if pane is not None else None
    if terminal in keys.handed_in:
        return no("its launcher was told of it in that terminal")
    if terminal in keys.warned_in or (keys.warned_in and why_left_to_a_person(facts)):
        return no("a person was warned of it")
    return YES
