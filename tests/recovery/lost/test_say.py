"""A run that is proven lost: one warning, or a claim that its launcher gets."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from recovery.desk import Desk, restored
from recovery.given import (
    BOSS_PANE,
    BOSS_PEER,
    CUT,
    FILE,
    FILES,
    OLD,
    PANE,
    PI,
    RESTORED,
    RUN,
    UNKNOWN,
    WORKTREE,
    key,
)
from recovery.test_again import EARLIER, RESUME, resumed_run

from strawboss.recovery.again import MOST_TIMES
from strawboss.recovery.commands import FindHolders, Notify, SessionState, TellLauncher, WriteKey
from strawboss.recovery.evidence import Holders, Identity, Pane, Policy, Process, Transcript
from strawboss.recovery.lost.numbers import LAST_MISS as LOST_MISSES
from strawboss.recovery.restored.numbers import LAST_MISS
from strawboss.recovery.settings import Beyond, Settings
from strawboss.recovery.wording import times as spelled

NOTED = key("seen", terminal=OLD, pane=PANE, pid="20", started="100.0", boot="boot")
RECOVER = Settings(lost=Beyond.RECOVER)
TO_PROVE = LAST_MISS + 2  # two looks after the restored case gave up


def forgotten(**changes: Any) -> Desk:
    """A child cut off by a restart, whose pane herdr forgot."""
    given: dict[str, Any] = {
        "panes": (BOSS_PANE,),
        "roster": (BOSS_PEER,),
        "transcript": Transcript((NOTED,)),
        **changes,
    }
    return restored(**given)


def test_the_key_comes_first_and_one_warning_has_the_call_to_make_and_the_setting() -> None:
    desk = forgotten()
    desk.look_times(TO_PROVE + 5)
    assert desk.effects() == ["lost", "Notify"]
    [warning] = desk.warnings()
    assert f'subagent_resume {{"sessionPath": "{FILE}"}}' in warning
    assert "herdr lists no pane of it" in warning
    assert "`lost: recover`" in warning


@pytest.mark.parametrize(
    "known_by",
    [
        {"files": {RUN: replace(FILES, policy=Policy("worktree", persistent=False))}},
        {"transcript": Transcript((NOTED,), worktrees=frozenset({RUN}))},
    ],
    ids=["its policy", "its launch"],
)
def test_a_worktree_that_no_manifest_names_is_not_said_to_be_resumed(known_by: dict[str, Any]) -> None:
    desk = forgotten(**known_by)
    desk.look_times(TO_PROVE + 5)
    [warning] = desk.warnings()
    assert "subagent_resume" not in warning
    assert f"Go on with run {RUN} by hand in its worktree, with `pi --session`" in warning


@pytest.mark.parametrize("silent", ["roster", "panes"])
def test_a_run_that_nobody_can_be_asked_about_is_called_lost_as_soon_as_somebody_can(silent: str) -> None:
    desk = forgotten()
    desk.look_times(LAST_MISS)
    answered = getattr(desk, silent)
    setattr(desk, silent, UNKNOWN)
    desk.look_times(LOST_MISSES + 1)
    assert desk.effects() == []
    setattr(desk, silent, answered)
    desk.look_times(2)
    assert desk.effects() == ["lost", "Notify"]


def test_it_is_handed_over_when_that_is_asked_for_and_nothing_is_closed() -> None:
    desk = forgotten(settings=RECOVER)
    desk.look_times(TO_PROVE + 2)
    assert desk.effects() == ["lost", "TellLauncher", "resumed"]
    [claim] = [one for one in desk.did(WriteKey) if one.key == "lost"]
    assert claim.data["then"] == "resume"
    [told] = desk.did(TellLauncher)
    assert "did not come back" in told.text
    assert FILE in told.text


def test_a_claim_outlives_the_process_that_made_it() -> None:
    desk = forgotten(settings=RECOVER, takes_messages=False)
    desk.look_times(TO_PROVE)
    assert desk.effects() == ["lost"]
    desk.restart()
    desk.takes_messages = True
    desk.look_times(2)
    assert desk.effects() == ["lost", "TellLauncher", "resumed"]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"holders": Holders(naming=(PI,))}, "names its session file or its script"),
        ({"holders": UNKNOWN}, "it cannot be read"),
        ({"identities": {20: Identity(20, 100.0, "boot")}}, "still runs as process 20"),
        ({"tails": {}}, "no such file"),
    ],
)
def test_a_claim_waits_while_somebody_may_hold_the_session(change: dict[str, Any], why: str) -> None:
    desk = forgotten(settings=RECOVER, transcript=Transcript((NOTED, key("lost", then="resume"))))
    before = {name: getattr(desk, name) for name in change}
    for name, value in change.items():
        setattr(desk, name, value)
    look = desk.look_times(3)
    assert desk.did(TellLauncher) == []
    assert why in str(look.runs[0].obstacle)
    for name, value in before.items():
        setattr(desk, name, value)
    desk.look_times(2)
    assert [kind for kind in desk.effects() if kind != "Notify"] == ["TellLauncher", "resumed"]


def test_somebody_who_holds_it_at_one_of_the_two_looks_starts_the_proof_again() -> None:
    desk = forgotten()
    desk.look_times(TO_PROVE - 1)
    desk.holders = Holders(naming=(PI,))
    desk.look()
    desk.holders = Holders()
    desk.look()
    assert desk.effects() == []
    desk.look()
    assert desk.effects() == ["lost", "Notify"]


def test_the_machine_is_asked_only_for_a_run_that_everything_else_calls_lost() -> None:
    desk = forgotten()
    desk.look_times(LAST_MISS - 1)
    assert desk.did(FindHolders) == []
    desk.look_times(20)
    assert len(desk.did(FindHolders)) <= 3


def test_one_warning_tells_of_all_that_one_look_found_lost() -> None:
    other = "b0000002"
    desk = forgotten()
    script = FILES.script
    assert script is not None
    desk.runs = {RUN: desk.runs[RUN], other: desk.runs[RUN]}
    file = FILE.replace(RUN, other)
    path = script.path.replace(RUN, other)
    desk.files[other] = replace(FILES, script=replace(script, session_file=file, surface="w1:p4", path=path))
    desk.tails[file] = CUT
    desk.transcript = Transcript((NOTED, replace(NOTED, run=other, data={**NOTED.data, "pane": "w1:p4"})))
    desk.look_times(TO_PROVE)
    assert [type(one) for one in desk.did(Notify)] == [Notify]
    assert all(name in desk.warnings()[0] for name in (FILE, file))


# -- between the claim and the message ---------------------------------------------------------------------------

SHELL = Process(18, "bash", None, ("-bash",))
NOTED_PANE = replace(RESTORED, terminal=OLD, agent=None, session=None)
SOMEBODY = Holders(naming=(PI,))


# -- which was recovered before ------------------------------------------------------------------------------------


def resumed_and_forgotten(times: int, resumed: Beyond, lost: Beyond, **changes: Any) -> Desk:
    """The so-manieth generation of its session file, which left no pane."""
    given = resumed_run((*EARLIER[: times - 1], RESUME))
    transcript = replace(given["transcript"], keys=(NOTED,))
    settings = Settings(resumed=resumed, lost=lost)
    return forgotten(**{**given, "transcript": transcript, "settings": settings, **changes})


def named(text: str) -> set[str]:
    return set(re.findall(r"`((?:resumed|lost): recover)`", text))


@pytest.mark.parametrize("times", range(1, MOST_TIMES + 2))
@pytest.mark.parametrize("resumed", [Beyond.WARN, Beyond.RECOVER])
@pytest.mark.parametrize("lost", [Beyond.WARN, Beyond.RECOVER])
def test_a_lost_run_that_was_recovered_before_is_recovered_only_as_the_settings_and_the_limit_say(
    times: int, resumed: Beyond, lost: Beyond
) -> None:
    desk = resumed_and_forgotten(times, resumed, lost)
    desk.look_times(TO_PROVE + 5)
    missing = {
        f"{name}: recover" for name, one in (("resumed", resumed), ("lost", lost)) if one is Beyond.WARN
    }
    if times < MOST_TIMES and not missing:
        assert desk.effects() == ["lost", "TellLauncher", "resumed"]
        return
    assert desk.effects() == ["lost", "Notify"]
    [warning] = desk.warnings()
    assert named(warning) == (missing if times < MOST_TIMES else set())
    assert (f"this task has been resumed {spelled(MOST_TIMES)}" in warning) is (times >= MOST_TIMES)


def test_switched_off_a_lost_run_that_was_recovered_before_is_left_alone() -> None:
    desk = resumed_and_forgotten(1, Beyond.OFF, Beyond.RECOVER)
    desk.look_times(TO_PROVE + 5)
    assert desk.effects() == []


@pytest.mark.parametrize("lost", [Beyond.WARN, Beyond.RECOVER])
@pytest.mark.parametrize(
    "change",
    [
        {"files": {RUN: replace(FILES, worktree=WORKTREE)}},
        {"tails": {}},
        {"transcript": Transcript((key("seen", terminal=OLD, pane=PANE),))},
        {"holders": Holders(silent=(7,))},
        {"panes": (BOSS_PANE, NOTED_PANE), "processes": {PANE: (SHELL,)}},
    ],
    ids=["in a worktree", "no session file", "no pi noted", "a silent pi", "a shell in its terminal"],
)
def test_no_setting_is_named_where_none_would_have_had_it_handed_over(
    change: dict[str, Any], lost: Beyond
) -> None:
    desk = forgotten(settings=Settings(lost=lost), **change)
    desk.look_times(TO_PROVE + 5)
    assert desk.effects() == ["lost", "Notify"]
    assert named(desk.warnings()[0]) == set()
    assert ("was not handed over: " in desk.warnings()[0]) is (lost is Beyond.RECOVER)


def told_in(*terminals: str) -> dict[str, Any]:
    """A worktree run whose launcher was told of it in those terminals."""
    return {
        "files": {RUN: replace(FILES, worktree=WORKTREE)},
        "transcript": Transcript(
            (NOTED, *(key("resumed", terminal=one) for one in terminals)), told=(RUN,) * len(terminals)
        ),
    }


@pytest.mark.parametrize("settings", [Settings(), Settings(lost=Beyond.RECOVER, resumed=Beyond.RECOVER)])
def test_a_worktree_run_that_was_told_of_and_is_lost_since_gets_one_warning_for_each_time(
    settings: Settings,
) -> None:
    desk = forgotten(**told_in("t2"), settings=settings)
    for _ in range(3):
        desk.look_times(TO_PROVE + 2)
        desk.restart()
    assert desk.effects() == ["lost", "Notify"]
    assert "Go on with run" in desk.warnings()[0]
    told = (key("resumed", terminal="t3"), RUN)
    desk.transcript = replace(
        desk.transcript, keys=(*desk.transcript.keys, told[0]), told=(*desk.transcript.told, told[1])
    )
    desk.look_times(TO_PROVE + 2)
    assert desk.effects() == ["lost", "Notify"] * 2


def test_the_shell_that_is_left_where_its_launcher_was_told_of_it_is_the_end_of_that_stranding() -> None:
    left = replace(NOTED_PANE, terminal="t2")
    desk = forgotten(**told_in("t2"), panes=(BOSS_PANE, left), processes={PANE: (SHELL,)})
    desk.look_times(TO_PROVE + 5)
    assert desk.effects() == []


# -- what may be left of it ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pane", "why"),
    [
        (NOTED_PANE, f"pane {PANE} is the terminal it was seen in"),
        (replace(NOTED_PANE, terminal="another", session=FILE), f"pane {PANE} is on its session file"),
    ],
    ids=["the terminal it was seen in", "a stored session"],
)
def test_a_bare_shell_where_somebody_may_go_on_from_is_no_reason_to_have_it_resumed(
    pane: Pane, why: str
) -> None:
    left: dict[str, Any] = {"panes": (BOSS_PANE, pane), "processes": {PANE: (SHELL,)}}
    desk = forgotten(settings=RECOVER, **left)
    desk.look_times(TO_PROVE + 5)
    assert desk.effects() == ["lost", "Notify"]
    assert f"was not handed over: {why}." in desk.warnings()[0]
    claimed = forgotten(settings=RECOVER, transcript=Transcript((NOTED, key("lost", then="resume"))), **left)
    assert why in str(claimed.look_times(3).runs[0].obstacle)
    assert claimed.effects() == []


def test_a_bare_shell_that_a_restart_put_where_it_was_started_is_one() -> None:
    anew = replace(NOTED_PANE, terminal="another")
    desk = forgotten(settings=RECOVER, panes=(BOSS_PANE, anew), processes={PANE: (SHELL,)})
    desk.look_times(TO_PROVE + 1)
    assert desk.effects() == ["lost", "TellLauncher", "resumed"]


def test_what_hinders_a_handover_at_one_of_the_two_looks_starts_the_proof_again() -> None:
    desk = forgotten(settings=RECOVER, holders=Holders(silent=(7,)))
    desk.look_times(TO_PROVE - 1)
    desk.holders = Holders()
    desk.look()
    assert desk.effects() == []
    desk.look_times(2)
    assert desk.effects() == ["lost", "TellLauncher", "resumed"]


@pytest.mark.parametrize(
    "waits",
    [{"session": SessionState(idle=True, compacting=True)}, {"takes_messages": False}],
    ids=["compacting", "message dropped"],
)
def test_a_message_that_had_to_wait_is_put_only_while_still_nobody_holds_the_run(waits: Any) -> None:
    desk = forgotten(settings=RECOVER)
    desk.look_times(TO_PROVE)
    vars(desk).update(waits)
    desk.look()
    desk.forget()
    desk.holders, desk.session, desk.takes_messages = SOMEBODY, SessionState(idle=True), True
    desk.look_times(3)
    assert desk.did(TellLauncher) == []
    desk.holders = Holders()
    desk.look_times(2)
    assert len(desk.did(TellLauncher)) == 1
    assert desk.keys() == ["resumed"]
