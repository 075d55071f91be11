"""When nobody holds the session of a run that was seen running, and what is left of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from recovery.given import (
    BASH,
    BOSS_PANE,
    BOSS_PEER,
    CUT,
    ENDED,
    FILE,
    FILES,
    NOTHING_ASKED,
    OLD,
    OTHER_FILE,
    PANE,
    PEER,
    PI,
    RESTORED,
    RUN,
    RUNNING,
    SCRIPT,
    SEEN,
    SETTINGS,
    UNKNOWN,
    WORKTREE,
    facts,
    key,
)

from strawboss.recovery.again import MOST_TIMES
from strawboss.recovery.evidence import Holders, Identity, KeyEntry, Process, Resume, RunFiles, Transcript
from strawboss.recovery.facts import NOT_ASKED, Facts, Standing
from strawboss.recovery.lost import LOST, conditions
from strawboss.recovery.lost.conditions import pane_left, what_is_left
from strawboss.recovery.restored.conditions import has_never_ended
from strawboss.recovery.settings import Beyond, Settings
from strawboss.recovery.verdict import Answer, Unknown, first_obstacle

YES, NO, MAYBE = Answer.YES, Answer.NO, Answer.UNKNOWN
IDENTITY = Identity(20, 100.0, "boot")
NOTED = key("seen", terminal=OLD, pane=PANE, pid="20", started="100.0", boot="boot")
RECOVER = Settings(lost=Beyond.RECOVER)
SHELL = Process(18, "bash", None, ("-bash",))
ELSEWHERE = replace(RUNNING, terminal="another", session=OTHER_FILE)
OTHER = replace(RESTORED, id="w1:p9")
NOTED_PANE = replace(RUNNING, session=None)
NO_PI = replace(RESTORED, agent=None)
ANEW = replace(NO_PI, session=None)  # a bare shell that a restore put where it was started
UNLISTED: dict[str, Any] = {"panes": (BOSS_PANE, RESTORED), "processes": UNKNOWN}
OTHER_PEER = replace(PEER, pid=21)
GONE = Unknown("its folder is not there", absent=True)


def lost_facts(*keys: Any, **changes: Any) -> Facts:
    """Seen running, and no pane of it any more."""
    given: dict[str, Any] = {
        "panes": (BOSS_PANE,),
        "roster": (BOSS_PEER,),
        "holders": Holders(),
        "pi": None,
        **changes,
    }
    return facts(*(keys or (NOTED,)), **given)


def test_a_run_whose_session_nobody_holds_is_lost() -> None:
    assert first_obstacle(lost_facts(), LOST.conditions) is None
    assert first_obstacle(lost_facts(settings=RECOVER), conditions.STILL_LOST) is None


@pytest.mark.parametrize(
    ("change", "condition", "answer"),
    [
        ({"settings": replace(SETTINGS, lost=Beyond.OFF)}, conditions.is_on, NO),
        ({"files": replace(FILES, ended=True)}, has_never_ended, NO),
        ({"files": replace(FILES, ended=UNKNOWN)}, has_never_ended, MAYBE),
        ({"files": replace(FILES, ended=GONE)}, has_never_ended, YES),
        ({"panes": (BOSS_PANE, RESTORED)}, conditions.one_pane_is_left, YES),
        ({"panes": (BOSS_PANE, RESTORED, OTHER)}, conditions.one_pane_is_left, MAYBE),
        ({"panes": (BOSS_PANE, ELSEWHERE, OTHER)}, conditions.one_pane_is_left, YES),
        ({"panes": (BOSS_PANE, NOTED_PANE, OTHER)}, conditions.one_pane_is_left, MAYBE),
        ({"panes": (BOSS_PANE, RUNNING), "processes": UNKNOWN}, conditions.no_pi_is_left, MAYBE),
        ({"panes": (BOSS_PANE, RUNNING), "processes": (BASH, PI)}, conditions.no_pi_is_left, NO),
        ({"panes": (BOSS_PANE, RUNNING), "processes": (PI,)}, conditions.no_pi_is_left, NO),
        ({"panes": (BOSS_PANE, RUNNING), "processes": (SHELL,)}, conditions.no_pi_is_left, YES),
        ({"panes": (BOSS_PANE, RESTORED), "processes": (SHELL,)}, conditions.no_pi_is_left, YES),
        (UNLISTED, conditions.no_pi_is_left, YES),
        ({"panes": (BOSS_PANE, ELSEWHERE), "processes": (BASH, PI)}, conditions.no_pi_is_left, NO),
        ({"roster": UNKNOWN}, conditions.intercom_knows_no_pi, MAYBE),
        ({"roster": Unknown("no broker", absent=True)}, conditions.intercom_knows_no_pi, YES),
        ({"roster": (BOSS_PEER, PEER)}, conditions.intercom_knows_no_pi, NO),
        ({"roster": (BOSS_PEER, PEER), "tail": UNKNOWN}, conditions.intercom_knows_no_pi, NO),
        ({"roster": (BOSS_PEER, OTHER_PEER), "tail": UNKNOWN}, conditions.intercom_knows_no_pi, YES),
        ({"holders": UNKNOWN}, conditions.nobody_holds_it, MAYBE),
        ({"holders": Holders(naming=(PI,))}, conditions.nobody_holds_it, NO),
        ({"holders": Holders(unreadable=(7,), silent=(7,))}, conditions.nobody_holds_it, YES),
        ({"pi": UNKNOWN}, conditions.its_pi_is_gone, MAYBE),
        ({"pi": IDENTITY}, conditions.its_pi_is_gone, NO),
        ({"pi": replace(IDENTITY, started=200.0)}, conditions.its_pi_is_gone, YES),
        ({"pi": replace(IDENTITY, boot="another")}, conditions.its_pi_is_gone, YES),
        ({"forks": (OTHER_FILE,)}, conditions.no_fork_is_there, MAYBE),
        ({"forks": UNKNOWN}, conditions.no_fork_is_there, MAYBE),
        ({"forks": GONE}, conditions.no_fork_is_there, YES),
    ],
)
def test_each_condition_has_its_yes_its_no_and_its_unknown(
    change: dict[str, Any], condition: Any, answer: Answer
) -> None:
    assert condition(lost_facts(**change)).answer is answer


def test_a_key_that_noted_no_pi_is_enough_for_a_word_and_not_for_a_second_pi() -> None:
    given = lost_facts(SEEN)
    assert conditions.its_pi_is_gone(given).holds
    assert conditions.its_pi_was_noted(given).answer is MAYBE


RESUMED_ONCE: dict[str, Any] = {
    "files": RunFiles(UNKNOWN, policy=FILES.policy, resume_script=SCRIPT),
    "transcript": Transcript((NOTED,), resumes=(Resume(RUN, FILE, SCRIPT.path, at=5),)),
}


@pytest.mark.parametrize(
    ("change", "condition", "answer"),
    [
        ({}, conditions.is_no_worktree_run, YES),
        ({"files": replace(FILES, worktree=WORKTREE)}, conditions.is_no_worktree_run, NO),
        ({}, conditions.may_be_recovered, YES),
        (RESUMED_ONCE, conditions.may_be_recovered, NO),
        ({**RESUMED_ONCE, "settings": Settings(resumed=Beyond.RECOVER)}, conditions.may_be_recovered, YES),
        ({}, conditions.no_pane_is_left, YES),
        ({"panes": UNKNOWN}, conditions.no_pane_is_left, MAYBE),
        ({"panes": (BOSS_PANE, NO_PI), "processes": (SHELL,)}, conditions.no_pane_is_left, NO),
        ({"panes": (BOSS_PANE, NOTED_PANE), "processes": (SHELL,)}, conditions.no_pane_is_left, NO),
        ({"panes": (BOSS_PANE, ANEW), "processes": (SHELL,)}, conditions.no_pane_is_left, YES),
        ({"panes": (BOSS_PANE, ANEW), "processes": UNKNOWN}, conditions.no_pane_is_left, YES),
        (
            {"panes": (BOSS_PANE, replace(ANEW, agent="pi")), "processes": UNKNOWN},
            conditions.no_pane_is_left,
            MAYBE,
        ),
        ({"holders": UNKNOWN}, conditions.nobody_else_could, MAYBE),
        ({"holders": Holders(unreadable=(7,))}, conditions.nobody_else_could, MAYBE),
        ({"holders": Holders(silent=(7,))}, conditions.nobody_else_could, MAYBE),
        ({"holders": Holders(silent=(10,))}, conditions.nobody_else_could, YES),
        (
            {"holders": Holders(silent=(20,)), "roster": (replace(PEER, id="another"),)},
            conditions.nobody_else_could,
            YES,
        ),
    ],
)
def test_to_have_it_resumed_more_must_hold_than_to_call_it_lost(
    change: dict[str, Any], condition: Any, answer: Answer
) -> None:
    assert condition(lost_facts(**change)).answer is answer
    assert condition in conditions.TO_RESUME


@pytest.mark.parametrize("told", [{}, {"terminal": "t2"}], ids=["nowhere", "in a terminal"])
@pytest.mark.parametrize("name", ["lost", "resumed", "warned", "unclosed"])
def test_what_a_person_or_its_launcher_was_told_is_not_said_again(name: str, told: dict[str, str]) -> None:
    assert first_obstacle(lost_facts(NOTED), LOST.by_files) is None
    assert first_obstacle(lost_facts(NOTED, key(name, **told)), LOST.by_files) is not None


IN_T2 = key("resumed", terminal="t2")
WARNED = key("warned", terminal="t3")
ANYWAY, AGAIN = Settings(), Settings(resumed=Beyond.RECOVER)


@pytest.mark.parametrize(
    ("keys", "settings", "is_new"),
    [
        ((IN_T2,), ANYWAY, True),
        ((IN_T2, key("lost")), ANYWAY, False),
        ((key("lost"), IN_T2), ANYWAY, True),
        ((IN_T2, WARNED), ANYWAY, False),
        ((IN_T2, WARNED), AGAIN, True),
        ((*(key("resumed", terminal=f"t{number}") for number in range(MOST_TIMES)), WARNED), AGAIN, False),
    ],
    ids=[
        "told",
        "lost since",
        "lost before",
        "warned",
        "warned, and more is asked for",
        "warned at the limit",
    ],
)
def test_a_worktree_run_that_was_handed_over_may_be_lost_since(
    keys: tuple[KeyEntry, ...], settings: Settings, is_new: bool
) -> None:
    given = lost_facts(NOTED, *keys, settings=settings, files=replace(FILES, worktree=WORKTREE))
    assert conditions.was_not_said(given).holds is is_new


@pytest.mark.parametrize(
    ("panes", "answer"),
    [
        ((BOSS_PANE,), YES),
        ((BOSS_PANE, replace(ANEW, terminal="t3")), YES),
        ((BOSS_PANE, replace(ANEW, terminal="t2")), NO),
        ((BOSS_PANE, replace(ANEW, terminal="t2", id="w9:p9")), NO),
        (UNKNOWN, MAYBE),
    ],
    ids=["no pane", "another terminal", "a shell in it", "moved", "unknown"],
)
def test_the_terminal_in_which_its_launcher_was_told_of_it_is_no_new_stranding(
    panes: Any, answer: Answer
) -> None:
    assert conditions.that_terminal_is_gone(lost_facts(NOTED, IN_T2, panes=panes)).answer is answer


def test_a_session_file_that_grows_is_held_by_somebody() -> None:
    given = lost_facts(tail=CUT)
    assert given.standing is not None
    before = Standing(step=given.standing.step, active_at=0.0)
    assert conditions.nothing_grows(replace(given, before=before)).holds
    assert conditions.nothing_grows(replace(given, before=replace(before, step="e0"))).answer is NO
    assert conditions.nothing_grows(replace(given, before=None)).holds


def test_a_run_that_somebody_resumed_is_with_that_one() -> None:
    resume = Resume("ffffffff", FILE, "/s/zeta-resume-1.sh", at=5)
    given = lost_facts(transcript=Transcript((NOTED,), resumes=(resume,)))
    assert "resumed as run ffffffff" in str(first_obstacle(given, LOST.by_files))


def test_the_pane_that_is_left_is_the_noted_terminal_then_its_session_then_its_scripts_pane() -> None:
    moved = replace(RUNNING, id="w1:p8", session=None)
    own = replace(RESTORED, id="w1:p9")
    scripts = replace(RESTORED, session=None)
    assert pane_left(lost_facts(panes=(BOSS_PANE, scripts, moved))) == moved
    assert pane_left(lost_facts(panes=(BOSS_PANE, scripts, own))) == own
    assert pane_left(lost_facts(panes=(BOSS_PANE, scripts))) == scripts
    assert pane_left(lost_facts()) is None


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({}, "herdr lists no pane of it"),
        ({"panes": (BOSS_PANE, RESTORED), "processes": (SHELL,)}, f"its pane {PANE} holds no pi"),
        (
            {"panes": (BOSS_PANE, RESTORED), "processes": UNKNOWN},
            f"its pane {PANE} holds nothing that herdr can list",
        ),
        ({"tail": UNKNOWN}, "herdr lists no pane of it, and its session file cannot be read"),
    ],
)
def test_what_is_there_now_is_said(change: dict[str, Any], said: str) -> None:
    assert what_is_left(lost_facts(**change)) == said


def test_the_run_of_the_script_is_the_run_that_is_lost() -> None:
    assert (lost_facts().run, lost_facts().script) == (RUN, SCRIPT)
    assert lost_facts(tail=ENDED).standing is not None


@pytest.mark.parametrize("condition", LOST.conditions)
def test_where_the_files_say_who_it_is_all_else_is_unknown_until_it_is_asked(condition: Any) -> None:
    asked_nothing = lost_facts(**NOTHING_ASKED, holders=NOT_ASKED, pi=NOT_ASKED)
    known = (*conditions.BY_FILES, conditions.nothing_grows)  # no step is known that could be new
    assert condition(asked_nothing).answer is (YES if condition in known else MAYBE)
