"""The conditions both machines share: each with its Yes, its No and its Unknown."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from recovery.given import (
    BASH,
    BOSS_PANE,
    BOSS_PEER,
    FILE,
    FILES,
    LAUNCHER,
    OTHER_FILE,
    PEER,
    PI,
    RUN,
    RUNNING,
    SCRIPT,
    SCRIPT_PATH,
    UNKNOWN,
    facts,
    key,
    with_script,
)

from strawboss.recovery import conditions as c
from strawboss.recovery import facts as f
from strawboss.recovery.evidence import Policy, Process, RunFiles, Transcript
from strawboss.recovery.verdict import Answer, Verdict

YES, NO, MAYBE = Answer.YES, Answer.NO, Answer.UNKNOWN


def test_a_run_in_the_registry_is_tracked() -> None:
    assert c.is_untracked(facts()).answer is YES
    assert c.is_untracked(facts(tracked=True)).answer is NO


@pytest.mark.parametrize(
    ("transcript", "answer", "why"),
    [
        (Transcript(), YES, ""),
        (Transcript(results=frozenset({FILE})), NO, "subagent_result"),
        (Transcript(pings=frozenset({FILE})), NO, "subagent_ping"),
        (Transcript(results=frozenset({OTHER_FILE}), pings=frozenset({OTHER_FILE})), YES, ""),
        (Transcript(torn_results=frozenset({FILE})), MAYBE, "cannot be read"),
        (Transcript(torn_results=frozenset({""})), MAYBE, "cannot be read"),
        (Transcript(torn_results=frozenset({OTHER_FILE})), YES, ""),
        (Transcript(results=frozenset({FILE}), torn_results=frozenset({""})), NO, "subagent_result"),
    ],
)
def test_a_run_has_reported_when_a_result_or_a_ping_names_its_session_file(
    transcript: Transcript, answer: Answer, why: str
) -> None:
    verdict = c.is_unreported(facts(transcript=transcript))
    assert verdict.answer is answer
    assert why in verdict.why


@pytest.mark.parametrize("script", [None, UNKNOWN])
def test_without_a_launch_script_nobody_knows_what_would_be_its_result(script: object) -> None:
    assert c.is_unreported(facts(files=RunFiles(script))).answer is MAYBE  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("files", "answer"),
    [
        (FILES, YES),
        (RunFiles(None), NO),
        (RunFiles(UNKNOWN), MAYBE),
        (with_script(session_file=OTHER_FILE), NO),
    ],
)
def test_a_launch_script_names_the_runs_own_session(files: RunFiles, answer: Answer) -> None:
    assert c.has_launch_script(facts(files=files)).answer is answer


UUID = f"{RUN}-1111-4222-8333-444455556666"


@pytest.mark.parametrize(
    ("run", "session", "answer"),
    [
        (RUN, f"/s/t_{RUN}-1-2-3.jsonl", YES),
        (UUID, f"/s/t_{UUID}-0a1b2c3d-4e5f6a7b-8c9d.jsonl", YES),
        ("a1", "/s/t_a1-0a1b2c3d-4e5f6a7b-8c9d.jsonl", YES),
        (RUN, f"/s/t_{UUID}-0a1b2c3d-4e5f6a7b-8c9d.jsonl", NO),
        (RUN, f"/s/t_x{RUN}-1-2-3.jsonl", NO),
        (RUN, f"/s/t_{RUN}-1-2.jsonl", NO),
        (RUN, f"/s/t_{RUN}-1-2-3.jsonl.bak", NO),
        ("a.b", "/s/t_axb-1-2-3.jsonl", NO),
    ],
)
def test_the_whole_tail_of_the_file_name_is_compared(run: str, session: str, answer: Answer) -> None:
    given_facts = facts(run=run, files=with_script(session_file=session))
    assert c.has_launch_script(given_facts).answer is answer


@pytest.mark.parametrize(
    ("files", "answer"),
    [
        (FILES, YES),
        (replace(FILES, policy=None), YES),  # older pi-herdr-agents write none
        (with_script(persistent=True), NO),
        (replace(FILES, policy=Policy("public", persistent=True)), NO),
        (replace(FILES, policy=UNKNOWN), MAYBE),
        (replace(with_script(persistent=True), policy=UNKNOWN), NO),
        (RunFiles(UNKNOWN), MAYBE),
    ],
)
def test_a_persistent_specialist_is_known_by_script_or_sidecar(files: RunFiles, answer: Answer) -> None:
    assert c.is_not_persistent(facts(files=files)).answer is answer


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("nudged", NO),
        ("resumed", NO),
        ("gaveUp", NO),
        *((name, YES) for name in ("seen", "closing", "unclosed", "continued", "lost")),
    ],
)
def test_one_act_for_each_run(name: str, answer: Answer) -> None:
    assert c.has_not_been_acted_on(facts(key(name))).answer is answer


def test_what_was_given_up_says_why() -> None:
    assert "the pane stays" in c.has_not_been_acted_on(facts(key("gaveUp", why="the pane stays"))).why


def test_herdr_lists_its_panes_or_nothing_is_known() -> None:
    assert c.panes_are_listed(facts()).answer is YES
    assert c.panes_are_listed(facts(panes=UNKNOWN)).answer is MAYBE


@pytest.mark.parametrize("condition", [c.launcher_is_alone, c.nobody_else_is_seen])
def test_two_panes_on_the_launchers_session_make_everything_unknown(condition: object) -> None:
    second = replace(BOSS_PANE, id="w1:p9")
    assert condition(facts(panes=(BOSS_PANE, RUNNING))).answer is YES  # type: ignore[operator]
    assert condition(facts(panes=())).answer is YES  # type: ignore[operator]
    verdict = condition(facts(panes=(BOSS_PANE, second)))  # type: ignore[operator]
    assert (verdict.answer, "w1:p1, w1:p9" in verdict.why) == (MAYBE, True)


def test_an_unlisted_second_pi_stops_new_acts_and_not_what_is_under_way() -> None:
    assert c.launcher_is_alone(facts(panes=UNKNOWN)).answer is MAYBE
    assert c.nobody_else_is_seen(facts(panes=UNKNOWN)).answer is YES


def ran(*argv: str) -> Process:
    return Process(1, "bash", None, ("bash", *argv))


@pytest.mark.parametrize(
    ("processes", "answer"),
    [
        ((BASH, PI), YES),
        ((PI,), NO),
        ((), NO),
        (UNKNOWN, MAYBE),
        ((Process(1, "bash"), PI), MAYBE),  # herdr did not tell its arguments
        ((Process(1, "x"), BASH), YES),
        ((ran(SCRIPT_PATH.replace(RUN, "ffffffff")),), NO),
        ((ran(f"/elsewhere{SCRIPT_PATH}"),), YES),  # the same place by another road: a symlink
        ((ran(SCRIPT_PATH.replace("/", "\\")),), YES),
        ((ran(SCRIPT_PATH.replace("boss", "another")),), NO),
        ((ran("-c", f"bash {SCRIPT_PATH} && rest"),), NO),
        ((ran(f"zeta-{RUN}.sh"),), NO),
    ],
)
def test_the_pane_runs_the_child_when_a_foreground_argument_is_its_script(
    processes: object, answer: Answer
) -> None:
    assert c.runs_its_script(facts(processes=processes)).answer is answer


def test_without_a_script_nobody_knows_what_the_pane_runs() -> None:
    assert c.runs_its_script(facts(files=RunFiles(None))).answer is MAYBE


@pytest.mark.parametrize(
    ("process", "is_pi"),
    [
        (Process(1, "node", "pi", ("node", "x")), True),
        (Process(1, "pi", "node", ("pi",)), False),
        (Process(1, "node", None, ("/usr/bin/pi", "--session")), True),
        (Process(1, "node", None, ("C:\\bin\\pi",)), True),
        (Process(1, "pi", None, ("node", "/x/pi")), False),
        (Process(1, "pi", None, ()), True),
        (Process(1, "pi"), True),
        (Process(1, "pip"), False),
        (Process(1), False),
    ],
)
def test_pi_is_known_by_argv0_then_argv_then_name(process: Process, is_pi: bool) -> None:
    assert f.is_pi(process) is is_pi


@pytest.mark.parametrize(
    ("argv", "names"),
    [
        (("bash", SCRIPT_PATH), True),
        (("bash", "/any/subagent-scripts/x-resume-1767225600000.sh"), True),
        (("bash", "C:\\s\\subagent-scripts\\x.sh"), True),
        (("bash", "-c", f"exec bash '{SCRIPT_PATH}'"), True),
        (("node", "server.js"), False),
        (("bash", "x.sh"), False),
    ],
)
def test_any_launch_or_resume_script_is_known_by_its_folder(argv: tuple[str, ...], names: bool) -> None:
    assert f.names_a_script(Process(1, argv=argv)) is names


@pytest.mark.parametrize(
    ("status", "idle"),
    [("idle", True), ("idle · reading", True), ("thinking", False), ("tool:bash · idle", False), ("", False)],
)
def test_intercom_is_idle_by_the_base_of_its_status(status: str, idle: bool) -> None:
    assert f.is_idle(status) is idle


# -- the session in the pane -----------------------------------------------------------------------------------


def test_the_session_in_the_pane_is_found_by_its_current_location() -> None:
    assert facts().peer == PEER


def test_a_location_that_is_not_current_does_not_count_nor_does_the_pid_then() -> None:
    stale = replace(PEER, pane=None)
    assert facts(roster=(BOSS_PEER, stale)).peer is None


def test_two_sessions_in_one_pane_are_none() -> None:
    assert facts(roster=(PEER, replace(PEER, id="another"))).peer is None


def test_where_the_broker_knows_no_locations_the_pid_in_the_foreground_tells() -> None:
    boss, child = replace(BOSS_PEER, located=False, pane=None), replace(PEER, located=False, pane=None)
    assert facts(roster=(boss, child)).peer == child
    assert facts(roster=(boss, replace(child, pid=99))).peer is None
    assert facts(roster=(boss, child), processes=UNKNOWN).peer is None


@pytest.mark.parametrize("changes", [{"roster": UNKNOWN}, {"panes": ()}, {"panes": UNKNOWN}])
def test_without_roster_or_pane_there_is_no_session(changes: dict[str, object]) -> None:
    assert facts(**changes).peer is None


def test_two_panes_on_its_session_file_are_no_pane() -> None:
    twice = (RUNNING, replace(RUNNING, id="w1:p9"))
    assert facts(panes=twice).pane is None
    assert facts(panes=twice).own_panes == twice


def test_the_launchers_name_is_its_sessions_else_the_one_intercom_made_up() -> None:
    nameless = replace(LAUNCHER, name="")
    roster = (replace(BOSS_PEER, name="subagent-chat-1"), PEER)
    assert facts(roster=roster).launcher_name == "The Boss"
    assert facts(launcher=nameless, roster=roster).launcher_name == "subagent-chat-1"
    assert facts(launcher=nameless, roster=UNKNOWN).launcher_name == ""
    assert facts(launcher=nameless, roster=()).launcher_name == ""


def test_a_run_without_a_script_has_no_name() -> None:
    assert (facts().name, facts(files=RunFiles(None)).name) == (SCRIPT.name, "")


@given(st.lists(st.sampled_from([PI, BASH, Process(1), Process(2, "sh", None, ("sh",))])))
def test_a_process_more_never_hides_the_script(others: list[Process]) -> None:
    verdict: Verdict = c.runs_its_script(facts(processes=(*others, BASH)))
    assert verdict.holds
