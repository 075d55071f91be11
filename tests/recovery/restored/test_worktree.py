"""A managed-worktree run is never closed, told at most once a restore, and handed over either way."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from recovery.desk import Desk, KilledError, kill_at, restored
from recovery.given import (
    BASH_CALL,
    BOSS_PANE,
    BOSS_PEER,
    CUT,
    ENDED,
    FILE,
    FILES,
    PANE,
    PEER,
    RESTORED,
    RUN,
    SEEN,
    UNKNOWN,
    WORKTREE,
    assistant,
    tail,
    user,
)

from strawboss.recovery.commands import (
    ClosePane,
    Command,
    Outcome,
    ReadRegistry,
    ReadSession,
    ReadTail,
    Result,
    SendIntercom,
    TellLauncher,
    WriteKey,
)
from strawboss.recovery.evidence import Policy, Transcript, Worktree
from strawboss.recovery.restored.numbers import REACH_LOOKS

MANAGED = replace(FILES, worktree=WORKTREE)


def worktree(**changes: Any) -> Desk:
    return restored(**{"files": {RUN: MANAGED}, **changes})


def told(desk: Desk) -> str:
    [message] = desk.did(TellLauncher)
    text: str = message.text
    return text


def test_a_cut_child_is_told_after_its_key_and_the_launcher_hears_of_it() -> None:
    desk = worktree()
    desk.look_times(2)
    assert desk.effects() == ["continued", "SendIntercom", "TellLauncher", "resumed"]
    [sent] = desk.did(SendIntercom)
    assert (sent.session, sent.epoch) == (PEER.id, PEER.epoch)
    for part in ("The tool call (bash) got no result", "The Boss", '"boss"', FILE, RUN):
        assert part in sent.text
    for part in ("not idle, wait for its report over intercom", PANE, "/w/tree", "feature/x"):
        assert part in told(desk)
    assert "continue it in its pane" not in told(desk)


def test_a_child_that_was_not_cut_is_handed_over_without_a_word_to_it() -> None:
    desk = worktree(tails={FILE: ENDED})
    desk.look_times(2)
    assert desk.effects() == ["TellLauncher", "resumed"]
    assert "It waits at its prompt: continue it in its pane." in told(desk)
    assert "mid-turn" not in told(desk)


@pytest.mark.parametrize("end", [UNKNOWN, replace(CUT, torn=True)])
def test_a_child_whose_file_cannot_be_read_is_not_told(end: Any) -> None:
    desk = worktree(tails={FILE: end})
    desk.look_times(2)
    assert desk.effects() == ["TellLauncher", "resumed"]


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"tails": {FILE: ENDED}},
        {"roster": (BOSS_PEER,)},
        {"refuses": {SendIntercom: Result(Outcome.FAILED, "no")}},
        {"files": {RUN: replace(FILES, policy=Policy("workflow", persistent=False))}},
        {"files": {RUN: replace(FILES, worktree=Worktree("running"))}},
        {"files": {RUN: FILES}, "transcript": Transcript((SEEN,), worktrees=frozenset({RUN}))},
    ],
)
def test_its_pane_is_never_closed(changes: dict[str, Any]) -> None:
    desk = worktree(**changes)
    desk.look_times(12)
    assert desk.did(ClosePane) == []
    assert "subagent_resume {" not in told(desk)
    assert desk.keys()[-1] == "resumed"


def test_an_owner_without_a_manifest_gets_a_text_with_its_pane_and_no_branch() -> None:
    desk = worktree(files={RUN: replace(FILES, policy=Policy("workflow", persistent=False))})
    desk.look_times(2)
    assert f'pane "{PANE}"' in told(desk)
    assert "branch" not in told(desk)


@pytest.mark.parametrize("worktree_file", [UNKNOWN, Worktree("removed"), Worktree("cancelled")])
def test_a_damaged_manifest_or_a_worktree_that_is_no_more_leads_to_nothing(worktree_file: Any) -> None:
    desk = worktree(files={RUN: replace(FILES, worktree=worktree_file)})
    desk.look_times(20)
    assert desk.effects() == []


# -- looks to become reachable -----------------------------------------------------------------------------------

AWAY = (BOSS_PEER,)


@pytest.mark.parametrize("looks", range(1, REACH_LOOKS))
def test_a_child_that_becomes_reachable_in_time_is_told(looks: int) -> None:
    desk = worktree(roster=AWAY)
    desk.look_times(1 + looks)
    assert desk.effects() == []
    desk.roster = (BOSS_PEER, PEER)
    desk.look()
    assert desk.effects() == ["continued", "SendIntercom", "TellLauncher", "resumed"]


@pytest.mark.parametrize(
    ("roster", "why"),
    [
        (AWAY, "no single session of the roster is in its pane"),
        (UNKNOWN, "it cannot be read"),
        ((BOSS_PEER, replace(PEER, pane=None)), "no single session of the roster"),
        ((PEER,), "its session is not in the roster"),
    ],
    ids=["away", "no broker", "location not current", "launcher away"],
)
def test_after_so_many_looks_the_launcher_hears_why_it_was_not_told(roster: Any, why: str) -> None:
    desk = worktree(roster=roster)
    desk.look_times(REACH_LOOKS)
    assert desk.effects() == []
    desk.look()  # the second find was the first of them
    assert desk.effects() == ["TellLauncher", "resumed"]
    assert "It was not told to go on (it could not be reached: " in told(desk)
    assert why in told(desk)
    assert "continue it in its pane" in told(desk)


BUSY = (BOSS_PEER, replace(PEER, status="tool:bash"))
AT_REST = (BOSS_PEER, PEER)


@pytest.mark.parametrize("end", [CUT, ENDED], ids=["cut", "not cut"])
def test_of_a_child_that_pi_intercom_says_is_at_work_nobody_is_told(end: Any) -> None:
    desk = worktree(roster=BUSY, tails={FILE: end})
    desk.look_times(12)
    assert desk.effects() == []


@pytest.mark.parametrize("first", [BUSY, UNKNOWN], ids=["busy", "not to be asked"])
def test_a_witness_must_agree_at_both_looks_before_the_child_is_told(first: Any) -> None:
    desk = worktree(roster=first)
    desk.look()
    desk.roster = AT_REST
    desk.look()
    assert desk.effects() == []
    desk.look()
    assert desk.effects() == ["continued", "SendIntercom", "TellLauncher", "resumed"]


@pytest.mark.parametrize(
    "meanwhile",
    [
        {"roster": BUSY},
        {"panes": (BOSS_PANE, replace(RESTORED, status="working"))},
        {"tails": {FILE: tail(user(), assistant("stop"), user(), assistant("stop"))}},
        {"processes": {}},
        {"forks": {FILE: ("/s/newer.jsonl",)}},
    ],
    ids=["busy", "working", "a new step", "no list", "forked"],
)
def test_that_a_child_waits_is_said_only_while_every_witness_says_so(meanwhile: Any) -> None:
    desk = worktree(tails={FILE: ENDED})
    desk.look()
    desk.before = lambda command: vars(desk).update(meanwhile) if isinstance(command, ReadSession) else None
    desk.look()
    assert desk.effects() == []


# -- the send itself ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("outcome", "why"), [(Outcome.FAILED, "did not take the text"), (Outcome.UNKNOWN, "not known whether")]
)
def test_a_send_that_fails_is_the_one_attempt_and_the_launcher_hears_why(outcome: Outcome, why: str) -> None:
    desk = worktree(refuses={SendIntercom: Result(outcome, "offline")})
    desk.look_times(6)
    assert desk.effects() == ["continued", "SendIntercom", "TellLauncher", "resumed"]
    assert why in told(desk)
    assert "offline" in told(desk)


@pytest.mark.parametrize(
    "went_on",
    [
        tail(user(), assistant("toolUse", BASH_CALL), user()),
        ENDED,
        UNKNOWN,
        replace(CUT, torn=True),
    ],
    ids=["another message", "ended", "unreadable", "torn"],
)
def test_a_child_someone_went_on_with_is_not_told(went_on: Any) -> None:
    desk = worktree()
    desk.look()

    def while_the_key_is_written(command: Command) -> None:
        if isinstance(command, WriteKey) and command.key == "continued":
            desk.tails = {FILE: went_on}

    desk.before = while_the_key_is_written
    desk.look()
    assert desk.did(SendIntercom) == []
    assert len(desk.did(ReadTail)) == 3  # at both looks, and right before it would have been told
    assert "somebody went on with it" in told(desk)


@pytest.mark.parametrize(
    "meanwhile",
    [
        lambda desk: {"transcript": replace(desk.transcript, results=frozenset({FILE}))},
        lambda desk: {"registry": frozenset({RUN})},
    ],
    ids=["reported", "tracked again"],
)
def test_the_launcher_is_not_told_of_a_child_that_got_home_while_it_was_to_be_told(meanwhile: Any) -> None:
    desk = worktree()
    desk.look()

    def while_the_key_is_written(command: Command) -> None:
        if isinstance(command, ReadRegistry) and "continued" in desk.effects():
            vars(desk).update(meanwhile(desk))

    desk.before = while_the_key_is_written
    desk.look()
    assert desk.effects() == ["continued"]


def test_a_child_whose_file_was_read_at_one_look_only_is_told_a_look_later() -> None:
    desk = worktree(tails={FILE: UNKNOWN})
    desk.look()
    desk.tails = {FILE: CUT}
    desk.look()
    assert desk.effects() == []
    desk.look()
    assert desk.effects() == ["continued", "SendIntercom", "TellLauncher", "resumed"]


def test_without_its_key_the_child_is_not_told_and_asked_again_at_the_next_look() -> None:
    desk = worktree(broken_keys=frozenset({"continued"}))
    desk.look_times(4)
    assert set(desk.effects()) == {"continued", "Notify"}
    desk.broken_keys = frozenset()
    desk.look()
    assert desk.effects()[-3:] == ["SendIntercom", "TellLauncher", "resumed"]


# -- a process that dies -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "key", "sends"),
    [
        (WriteKey, "continued", 1),
        (SendIntercom, None, 0),
        (TellLauncher, None, 1),
        (WriteKey, "resumed", 1),
    ],
)
def test_a_child_is_told_at_most_once_whenever_the_process_dies(
    kind: type, key: str | None, sends: int
) -> None:
    desk = worktree(before=kill_at(kind, key))
    desk.look()
    with pytest.raises(KilledError):
        desk.look()
    desk.restart()
    desk.look_times(5)
    assert len(desk.did(SendIntercom)) == sends
    assert len(desk.did(TellLauncher)) == 1
    assert desk.keys()[-1] == "resumed"


def test_who_may_have_been_told_is_handed_over_with_that_doubt() -> None:
    desk = worktree(before=kill_at(SendIntercom))
    desk.look()
    with pytest.raises(KilledError):
        desk.look()
    desk.restart()
    desk.look()
    assert "look first whether it is at work" in told(desk)


def test_a_second_restore_is_not_told_again() -> None:
    desk = worktree()
    desk.look_times(2)
    desk.restart()
    desk.panes = (BOSS_PANE, replace(RESTORED, terminal="newer"))
    desk.look_times(5)
    assert (len(desk.did(SendIntercom)), len(desk.did(TellLauncher))) == (1, 1)
