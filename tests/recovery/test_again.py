"""A run that was recovered before and is stranded by a further restart."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from recovery.desk import Desk, KilledError, kill_at, restored, stranded
from recovery.given import (
    BOSS_PANE,
    CUT,
    ENDED,
    FILE,
    FILES,
    PANE,
    PI,
    RESTORED,
    RUN,
    SCRIPT,
    SCRIPT_PATH,
    SEEN,
    UNKNOWN,
    WORKTREE,
    key,
    restored_facts,
)

from strawboss.recovery.again import MOST_TIMES
from strawboss.recovery.commands import TellLauncher, WriteKey
from strawboss.recovery.conditions import is_a_new_stranding
from strawboss.recovery.evidence import Process, Resume, RunFiles, Transcript
from strawboss.recovery.settings import Beyond, Settings
from strawboss.recovery.verdict import Answer, Unknown
from strawboss.recovery.wording import times as spelled

RESUME_PATH = SCRIPT_PATH.replace(f"{RUN}.sh", "resume-1.sh")
NO_LAUNCH = Unknown("its only script resumes another run's session file")
RESUMED_FILES = RunFiles(
    NO_LAUNCH, ended=False, resume_script=replace(SCRIPT, path=RESUME_PATH), policy=FILES.policy
)
RESUME = Resume(RUN, FILE, RESUME_PATH, at=9, name="Zeta")
EARLIER = tuple(replace(RESUME, run=f"c000000{number}", at=number) for number in range(1, 9))
RECOVER = Settings(resumed=Beyond.RECOVER)


def resumed_run(resumes: tuple[Resume, ...] = (RESUME,), **changes: Any) -> dict[str, Any]:
    """What is different for a run that `subagent_resume` started: the original has reported before it."""
    before = {FILE: 3}
    transcript = Transcript((SEEN,), results=frozenset({FILE}), resumes=resumes, results_at=before)
    return {"files": {RUN: RESUMED_FILES}, "transcript": transcript, **changes}


def worktree_run(*keys: Any, **changes: Any) -> dict[str, Any]:
    told = (RUN,) * sum(one.key == "resumed" for one in keys)
    transcript = Transcript((SEEN, *keys), told=told)
    return {
        "files": {RUN: replace(FILES, worktree=WORKTREE)},
        "tails": {FILE: ENDED},
        "transcript": transcript,
        **changes,
    }


# -- by default ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given",
    [resumed_run(), worktree_run(key("resumed", terminal="t1"))],
    ids=["a resumed run", "a worktree run"],
)
def test_it_gets_one_warning_with_what_to_do_and_nothing_is_closed_or_sent(given: dict[str, Any]) -> None:
    desk = restored(**given)
    desk.look_times(12)
    assert desk.effects() == ["warned", "Notify"]
    assert "`resumed: recover`" in desk.warnings()[0]
    assert FILE in desk.warnings()[0]
    desk.restart()
    desk.panes = (BOSS_PANE, replace(RESTORED, terminal="t9"))
    desk.look_times(12)
    assert desk.effects() == ["warned", "Notify"]


def test_a_resumed_child_that_waits_is_left_to_a_person_too() -> None:
    desk = stranded(**resumed_run(), processes={PANE: (Process(19, "bash", None, ("bash", RESUME_PATH)), PI)})
    desk.look_times(5)
    assert desk.effects() == ["warned", "Notify"]
    assert "ask it for its report" in desk.warnings()[0]


def test_without_its_key_nobody_is_warned() -> None:
    desk = restored(**resumed_run(), broken_keys=frozenset({"warned"}))
    desk.look_times(3)
    assert all("could not confirm its warned key" in text for text in desk.warnings())


@pytest.mark.parametrize(
    "given", [resumed_run(), worktree_run(key("resumed", terminal="t1"))], ids=["resumed", "worktree"]
)
def test_switched_off_not_even_that(given: dict[str, Any]) -> None:
    desk = restored(**given, settings=Settings(resumed=Beyond.OFF))
    desk.look_times(12)
    assert desk.effects() == []


# -- when it is asked for --------------------------------------------------------------------------------------


def test_a_resumed_run_is_closed_and_handed_over_under_its_own_id() -> None:
    desk = restored(**resumed_run(), settings=RECOVER)
    desk.look_times(4)
    assert desk.effects() == ["closing", "ClosePane", "TellLauncher", "resumed"]
    assert desk.did(TellLauncher)[0].runs == (RUN,)


def test_a_resumed_child_that_waits_is_asked() -> None:
    script = Process(19, "bash", None, ("bash", RESUME_PATH))
    desk = stranded(**resumed_run(), settings=RECOVER, processes={PANE: (script, PI)})
    desk.look_times(3)
    assert desk.effects()[:2] == ["nudged", "SendIntercom"]


def test_a_worktree_run_is_told_of_once_for_each_restart() -> None:
    desk = restored(**worktree_run(key("resumed", terminal="t1")), settings=RECOVER)
    desk.look_times(4)
    assert desk.effects() == ["TellLauncher", "resumed"]
    desk.restart()
    desk.look_times(4)
    assert desk.effects() == ["TellLauncher", "resumed"]
    desk.panes = (BOSS_PANE, replace(RESTORED, terminal="t9"))
    desk.restart()
    desk.look_times(4)
    assert desk.effects() == ["TellLauncher", "resumed"] * 2


@pytest.mark.parametrize("times", range(1, MOST_TIMES + 2))
def test_one_task_is_recovered_so_often_whatever_the_ids_of_its_runs(times: int) -> None:
    desk = restored(**resumed_run((*EARLIER[: times - 1], RESUME)), settings=RECOVER)
    desk.look_times(12)
    recovers = times < MOST_TIMES
    assert ("ClosePane" in desk.effects()) is recovers
    assert [f"resumed {spelled(MOST_TIMES)}" in text for text in desk.warnings()] == (
        [] if recovers else [True]
    )


@pytest.mark.parametrize("times", range(1, MOST_TIMES + 1))
def test_a_worktree_run_is_told_of_so_often_and_then_a_person_is(times: int) -> None:
    before = [key("resumed", terminal=f"t{number}") for number in range(times)]
    desk = restored(**worktree_run(*before), settings=RECOVER)
    desk.look_times(12)
    last = times == MOST_TIMES
    assert desk.effects() == (["warned", "Notify"] if last else ["TellLauncher", "resumed"])


# -- the chain ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("resumes", "why"),
    [
        ((), "no result of subagent_resume"),
        ((RESUME, replace(RESUME, at=10)), "two results of subagent_resume"),
        ((replace(RESUME, session_file="/s/other.jsonl"),), "names another session file"),
        ((replace(RESUME, script="/s/zeta-resume-2.sh"),), "names another script"),
    ],
    ids=["missing", "doubled", "another session", "another script"],
)
def test_a_link_that_is_missing_doubled_or_contradicted_is_unknown_and_named(
    resumes: tuple[Resume, ...], why: str
) -> None:
    desk = restored(**resumed_run(resumes), settings=RECOVER)
    look = desk.look_times(3)
    assert desk.effects() == []
    assert why in str(look.runs[0].obstacle)


def test_only_a_result_after_the_resume_is_its_own() -> None:
    given = resumed_run()
    given["transcript"] = replace(given["transcript"], results_at={FILE: RESUME.at + 1})
    desk = restored(**given, settings=RECOVER)
    assert "came after it was resumed" in str(desk.look_times(3).runs[0].obstacle)
    assert desk.effects() == []


def test_a_torn_line_after_the_resume_may_be_its_result() -> None:
    given = resumed_run()
    given["transcript"] = replace(given["transcript"], torn_results_at={"": RESUME.at + 1})
    desk = restored(**given, settings=RECOVER)
    assert "cannot be read" in str(desk.look_times(3).runs[0].obstacle)
    assert desk.effects() == []


def test_an_original_whose_task_went_on_in_another_run_is_left_alone() -> None:
    later = replace(RESUME, run="ffffffff")
    desk: Desk = restored(tails={FILE: CUT}, transcript=Transcript((SEEN,), resumes=(later,)))
    assert "resumed as run ffffffff" in str(desk.look_times(3).runs[0].obstacle)
    assert desk.effects() == []


def test_a_resumed_key_that_turned_up_late_and_twice_is_one_stranding() -> None:
    desk = restored(**worktree_run(), settings=RECOVER, broken_keys=frozenset({"resumed"}))
    desk.look_times(2)
    late = key("resumed", terminal=RESTORED.terminal or "")
    desk.transcript = replace(desk.transcript, keys=(*desk.transcript.keys, late, late))
    desk.broken_keys = frozenset()
    desk.look_times(4)
    assert len(desk.did(TellLauncher)) == 1
    desk.restart()
    desk.panes = (BOSS_PANE, replace(RESTORED, terminal="t9"))
    desk.look_times(4)
    assert len(desk.did(TellLauncher)) == 2


def test_whether_a_stranding_is_new_is_unknown_while_no_pane_is_known() -> None:
    told = key("resumed", terminal=RESTORED.terminal or "")
    assert is_a_new_stranding(restored_facts()).answer is Answer.YES
    assert is_a_new_stranding(restored_facts(SEEN, told)).answer is Answer.NO
    assert is_a_new_stranding(restored_facts(SEEN, told, panes=UNKNOWN)).answer is Answer.UNKNOWN


def test_a_warning_that_names_no_terminal_is_not_said_again() -> None:
    desk = restored(**resumed_run())
    desk.transcript = replace(desk.transcript, keys=(*desk.transcript.keys, key("warned")))
    desk.look_times(3)
    assert desk.effects() == []


def test_the_key_of_a_warning_says_where_the_run_waits_and_whether_it_is_to_be_resumed() -> None:
    said = []
    for given in (resumed_run(), worktree_run(key("resumed", terminal="t1"))):
        desk = restored(**given)
        desk.look_times(3)
        [entry] = [one for one in desk.transcript.keys if one.key == "warned"]
        assert (entry.data["pane"], entry.data["terminal"]) == (RESTORED.id, RESTORED.terminal)
        said.append(entry.data.get("then"))
    assert said == ["resume", None]


# -- a process that dies between the message and its key ------------------------------------------------------------


def died_before_the_key() -> Desk:
    """A worktree run, handed over in one terminal, restored in another: the second message is taken, its key missing."""
    desk = restored(
        **worktree_run(key("resumed", terminal="t1")), settings=RECOVER, before=kill_at(WriteKey, "resumed")
    )
    desk.look()
    with pytest.raises(KilledError):
        desk.look()
    desk.restart()
    return desk


def test_the_key_that_is_written_late_names_the_terminal_so_that_the_same_stranding_is_not_told_twice() -> (
    None
):
    desk = died_before_the_key()
    desk.look()
    assert desk.did(WriteKey)[-1].data["terminal"] == RESTORED.terminal
    desk.restart()
    desk.look_times(4)
    assert len(desk.did(TellLauncher)) == 1


def test_the_late_key_waits_for_the_pane_list_and_the_run_with_it() -> None:
    desk = died_before_the_key()
    panes, desk.panes = desk.panes, UNKNOWN
    desk.look_times(3)
    assert desk.keys().count("resumed") == 0
    desk.panes = panes
    desk.look_times(3)
    assert desk.keys().count("resumed") == 1
    assert len(desk.did(TellLauncher)) == 1


def test_a_key_that_names_no_terminal_tells_no_stranding_from_the_next() -> None:
    desk = restored(**worktree_run(key("resumed", terminal="t1"), key("resumed")), settings=RECOVER)
    desk.look_times(4)
    assert desk.effects() == []
