"""The witnesses of every act, each with its Yes, its No and its Unknown, and that one list serves all machines."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from recovery.given import (
    BOSS_PEER,
    FILES,
    PEER,
    UNKNOWN,
    WAITING,
    WORKTREE,
    assistant,
    facts,
    restored_facts,
    tail,
    user,
)

from strawboss.recovery import witnesses as w
from strawboss.recovery.facts import Facts
from strawboss.recovery.nudge import NUDGE
from strawboss.recovery.restored import RESTORED as MACHINE
from strawboss.recovery.verdict import Answer, Unknown, first_obstacle

YES, NO, MAYBE = Answer.YES, Answer.NO, Answer.UNKNOWN
NO_BROKER = Unknown("no broker", absent=True)


def test_one_list_guards_the_nudge_the_close_and_what_is_said_of_a_worktree_child() -> None:
    for machine in (NUDGE, MACHINE):
        assert machine.by_witnesses[1:] == w.WITNESSES
        assert machine.by_witnesses[0].sentence == "its session file can be read"


IN_A_WORKTREE = replace(FILES, worktree=WORKTREE)


@pytest.mark.parametrize(
    "changes",
    [
        {"roster": (BOSS_PEER, replace(PEER, status="tool:bash"))},
        {"roster": (BOSS_PEER, replace(PEER, id="another"))},
        {"roster": (BOSS_PEER, replace(PEER, pane="w1:p9", pid=99))},
        {"forks": ("/s/newer.jsonl",)},
        {"forks": UNKNOWN},
    ],
    ids=["busy", "another session", "elsewhere", "forked", "maybe forked"],
)
@pytest.mark.parametrize("files", [FILES, IN_A_WORKTREE], ids=["ordinary", "worktree"])
def test_a_witness_that_says_otherwise_does_so_in_a_worktree_too(files: Any, changes: dict[str, Any]) -> None:
    assert first_obstacle(restored_facts(files=files), MACHINE.conditions) is None
    assert first_obstacle(restored_facts(files=files, **changes), MACHINE.conditions) is not None


@pytest.mark.parametrize("changes", [{"roster": UNKNOWN}, {"tail": UNKNOWN}])
def test_one_that_cannot_be_asked_holds_back_no_word_to_the_launcher_of_a_worktree_run(
    changes: dict[str, Any],
) -> None:
    assert first_obstacle(restored_facts(**changes), MACHINE.conditions) is not None
    assert first_obstacle(restored_facts(files=IN_A_WORKTREE, **changes), MACHINE.conditions) is None


def test_a_broker_that_knew_the_child_and_is_gone_could_have_spoken() -> None:
    for was_connected, answer in ((False, YES), (True, MAYBE)):
        silent = facts(roster=NO_BROKER, was_connected=was_connected)
        assert (w.intercom_agrees(silent).answer, w.is_nowhere_else(silent).answer) == (answer, answer)
    assert w.intercom_agrees(facts(roster=(BOSS_PEER,), was_connected=True)).answer is YES


@pytest.mark.parametrize(
    ("changes", "connected"),
    [
        ({}, True),
        ({"roster": (BOSS_PEER, replace(PEER, pane=None, pid=99))}, True),  # by its session
        ({"roster": (BOSS_PEER, replace(PEER, id="another"))}, True),  # whoever is in its pane
        ({"roster": (BOSS_PEER,)}, False),
        ({"roster": NO_BROKER}, False),
        ({"roster": (BOSS_PEER, replace(PEER, pane=None, pid=99)), "tail": UNKNOWN}, False),
    ],
)
def test_intercom_knows_the_child_by_its_pane_or_its_session(
    changes: dict[str, Any], connected: bool
) -> None:
    assert facts(**changes).is_connected is connected


def test_a_pi_that_intercom_knows_on_another_session_contradicts_its_pane() -> None:
    elsewhere = restored_facts(roster=(replace(PEER, id="another"),))
    assert w.intercom_agrees(elsewhere).answer is MAYBE


@pytest.mark.parametrize(
    ("roster", "answer"),
    [
        ((PEER,), YES),
        ((), YES),  # it never knew the child
        ((replace(PEER, status="tool:bash"),), NO),  # herdr's status is frozen (N01)
        ((replace(PEER, status="thinking"),), NO),
        ((replace(PEER, pane=None),), YES),  # by its pid
        ((replace(PEER, pane=None, status="tool:bash"),), NO),
        (
            (replace(PEER, pane="w1:p9", pid=99),),
            YES,
        ),  # nobody there; who is elsewhere is asked after for itself
        ((PEER, replace(PEER, id="another")), MAYBE),
        (UNKNOWN, MAYBE),
        (Unknown("no broker", absent=True), YES),
    ],
)
def test_whoever_intercom_knows_in_the_pane_must_be_the_child_and_idle(roster: Any, answer: Answer) -> None:
    assert w.intercom_agrees(restored_facts(roster=roster)).answer is answer


MOVED = tail(user(), assistant("stop"), user())


def stood(**changes: Any) -> Facts:
    """Facts of a look, with what the look before heard of the same child."""
    return facts(before=facts().standing, **changes)


def test_a_child_of_which_nothing_moved_between_two_looks_stands_still() -> None:
    assert w.stands_still(facts()).answer is YES  # there is nothing to compare with yet
    assert w.stands_still(stood()).answer is YES


@pytest.mark.parametrize(
    "moved",
    [
        {"tail": MOVED},
        {"activity": replace(WAITING, updated_at=WAITING.updated_at + 1)},
        {"activity": UNKNOWN},
    ],
)
def test_a_child_whose_files_grow_is_at_work_whatever_a_status_says(moved: dict[str, Any]) -> None:
    assert w.stands_still(stood(**moved)).answer is NO


def test_a_child_whose_session_file_cannot_be_read_may_have_moved() -> None:
    assert w.stands_still(stood(tail=UNKNOWN)).answer is MAYBE
    assert w.session_file_is_readable(stood(tail=UNKNOWN)).answer is MAYBE
    assert w.session_file_is_readable(facts()).answer is YES


def test_a_newer_file_that_goes_on_from_it_makes_its_end_unknown() -> None:
    assert w.is_not_forked(facts()).answer is YES
    assert w.is_not_forked(facts(forks=("/s/newer.jsonl",))).answer is MAYBE
    assert w.is_not_forked(facts(forks=UNKNOWN)).answer is MAYBE


@pytest.mark.parametrize(
    ("changes", "answer"),
    [
        ({}, YES),
        ({"roster": (BOSS_PEER, replace(PEER, id="another", pane="w1:p9", pid=99))}, YES),
        (
            {"roster": (BOSS_PEER, PEER, replace(PEER, pane=None, pid=99))},
            MAYBE,
        ),  # in a terminal outside herdr
        ({"roster": (BOSS_PEER, replace(PEER, pane="w1:p9", pid=99))}, MAYBE),
        ({"roster": UNKNOWN}, MAYBE),
        ({"roster": NO_BROKER}, YES),
        ({"tail": UNKNOWN}, MAYBE),
    ],
)
def test_whoever_is_connected_as_its_session_in_another_place_works_with_it(
    changes: dict[str, Any], answer: Answer
) -> None:
    assert w.is_nowhere_else(facts(**changes)).answer is answer
