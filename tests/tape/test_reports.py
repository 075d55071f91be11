"""What people reported of agent fleets, supervisors and journals: each report a fixture, each fixture a sentence."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest
from click.testing import CliRunner
from pytest_mock import MockerFixture

from strawboss.cli.main import strawboss
from strawboss.recovery import commands as c
from strawboss.recovery.commands import (
    ClosePane,
    Command,
    ListPanes,
    Notify,
    Outcome,
    Pause,
    ProcessInfo,
    Result,
    SendIntercom,
    TellLauncher,
    WriteKey,
)
from strawboss.recovery.memory import RunReport
from strawboss.recovery.restored.numbers import GONE_SECONDS, LAST_MISS
from strawboss.recovery.settings import LOOK_SECONDS, Settings
from strawboss.recovery.wording import iso
from strawboss.tape.door import open_looks
from strawboss.tape.play import Summary, Told, play, summarize
from strawboss.tape.world import World

REPORTS = Path(__file__).parents[2] / "fixtures" / "reports"
RUN = "a1b2c3d4"
FILE = f"/s/2026-01-01T00-00-00-000Z_{RUN}-0a1b2c3d-4e5f6a7b-8c9d.jsonl"
NOTHING_DONE = Summary()
AS_SEEN = Settings(interval=15.0)  # the looks whose clocks were noted were so far apart
T = TypeVar("T")


@dataclass(frozen=True)
class Report:
    """A fixture that was played: what each look said and did, and every single command in order, by look."""

    story: list[Told]
    asked: list[list[tuple[Command, Any]]]

    @property
    def summary(self) -> Summary:
        return summarize(self.story)

    def did(self, kind: type[T]) -> list[T]:
        return [command for told in self.story for command, _ in told.done if isinstance(command, kind)]

    def at(self, kind: type[Command]) -> list[int]:
        """The looks, from 1, in which such commands were given; one number for each command."""
        return [
            number
            for number, look in enumerate(self.asked, 1)
            for command, _ in look
            if isinstance(command, kind)
        ]

    def written(self) -> list[tuple[str, str]]:
        return [(one.key, one.run) for one in self.did(WriteKey)]

    def warnings(self) -> list[str]:
        return [one.text for one in self.did(Notify) if one.level == "warning"]

    def last(self, run: str = RUN) -> RunReport:
        return next(report for report in self.story[-1].runs if report.run == run)


@pytest.fixture
def tell(mocker: MockerFixture) -> Callable[..., Report]:
    """`tell("R01")` plays that fixture; `tell("N04", folder)` the one that lies there."""

    def played(name: str, folder: Path = REPORTS) -> Report:
        answer = mocker.spy(World, "answer")
        [fixture] = folder.glob(f"{name}.json*")
        story, _ = play(open_looks(fixture), AS_SEEN)
        commands = [call.args[1] for call in answer.call_args_list]
        # A look asks for the runs right after the registry; who looks again before an act asks for other things.
        starts = [
            i - 1
            for i, one in enumerate(commands)
            if one == c.ReadRuns() and commands[i - 1] == c.ReadRegistry()
        ]
        pairs = list(zip(commands, answer.spy_return_list, strict=True))
        looks = [pairs[i:j] for i, j in zip(starts, [*starts[1:], len(pairs)], strict=True)]
        assert len(looks) == len(story)
        return Report(story, looks)

    return played


def untouched(report: Report) -> bool:
    """No act of any kind, and no word to anybody."""
    return not any(report.did(kind) for kind in (ClosePane, SendIntercom, TellLauncher, Notify))


Tell = Callable[..., Report]


# -- A. restore, panes, process info, status ---------------------------------------------------------------------


def test_r01_a_restored_agent_is_closed_and_handed_over_never_nudged(tell: Tell) -> None:
    report = tell("R01")
    assert report.written() == [("seen", RUN), ("closing", RUN), ("resumed", RUN)]
    assert (report.at(ClosePane), report.at(TellLauncher), report.did(SendIntercom)) == ([3], [3], [])


def test_r02_a_record_without_a_process_is_unknown_and_given_up_with_one_warning(tell: Tell) -> None:
    report = tell("R02")
    assert report.written() == [("lost", RUN)]
    # twice in a row, after the restore was given up
    assert (report.at(Notify), len(report.warnings())) == ([LAST_MISS + 2], 1)
    assert (report.last().machine, report.last().state) == ("lost", "lost, a person was warned")


def test_r04_five_bare_shells_are_five_runs_given_up_and_one_warning(tell: Tell) -> None:
    report = tell("R04")
    [warning] = report.warnings()
    assert report.at(Notify) == [LAST_MISS + 2]
    assert len(set(re.findall(r'"sessionPath": "([^"]+)"', warning))) == 5
    assert [key for key, _ in report.written()] == ["lost"] * 5
    assert not report.did(ClosePane)


def test_r06_a_pane_whose_pi_works_on_another_session_is_not_closed(tell: Tell) -> None:
    report = tell("R06")
    assert untouched(report)
    assert "another session" in str(report.last().obstacle)
    assert report.last().state == "given up"  # not looked at for ever


def test_r07_a_child_at_work_whose_pane_names_another_session_is_not_lost(tell: Tell) -> None:
    report = tell("R07")
    assert (untouched(report), report.written()) == (True, [])
    assert "a launch or resume script runs in pane w1:p3" in str(report.last().obstacle)


def test_r08_a_pi_without_a_registered_session_is_unknown(tell: Tell) -> None:
    report = tell("R08")
    assert untouched(report)
    assert report.written() == []


def test_r09_a_status_that_sticks_on_working_is_left_alone_and_explained(tell: Tell) -> None:
    report = tell("R09")
    assert untouched(report)
    assert str(report.last().obstacle) == "herdr says its pi is idle: no (herdr says working)"
    assert report.last().machine == "nudge"


def test_r10_an_idle_pane_whose_child_never_started_is_not_asked(tell: Tell) -> None:
    report = tell("R10")
    assert untouched(report)
    assert "starting" in str(report.last().obstacle)


def test_r11_pane_intercom_and_activity_must_all_agree(tell: Tell) -> None:
    report = tell("R11")
    assert untouched(report)
    assert report.story[9].runs[0].obstacle != report.story[10].runs[0].obstacle
    assert "tool:bash" in str(report.last().obstacle)


def seconds_waited(report: Report) -> float:
    pauses = [answer for look in report.asked for command, answer in look if isinstance(command, Pause)]
    return pauses[-1] - pauses[0] if pauses else 0.0


def test_r12_the_wait_for_a_pane_that_never_vanishes_ends(tell: Tell) -> None:
    report = tell("R12")
    assert seconds_waited(report) == GONE_SECONDS
    assert report.written() == [("closing", RUN), ("gaveUp", RUN)]
    assert (len(report.warnings()), report.did(TellLauncher), report.at(ClosePane)) == (1, [], [2])


def test_r14_a_pane_that_is_gone_is_seen_in_the_next_list(tell: Tell) -> None:
    report = tell("R14")
    after_close = [type(command) for command, _ in report.asked[1]]
    after_close = after_close[after_close.index(ClosePane) :]
    assert after_close[:3] == [ClosePane, Pause, ListPanes]
    assert after_close.count(ListPanes) == 1
    assert seconds_waited(report) == 0.0


def test_r15_a_pane_that_changed_hands_before_the_close_is_not_closed(tell: Tell) -> None:
    report = tell("R15")
    assert report.written() == [("closing", RUN), ("unclosed", RUN)]
    assert not report.did(ClosePane)
    assert not report.did(TellLauncher)


def test_r16_an_idle_pane_without_processes_is_not_closed(tell: Tell) -> None:
    report = tell("R16")
    assert untouched(report)
    assert report.last().state == "given up"


def test_r17_an_unreadable_foreground_has_no_effect_in_a_hundred_looks(tell: Tell) -> None:
    report = tell("R17")
    assert untouched(report)
    assert report.written() == []
    assert max(report.at(ProcessInfo), default=0) <= LAST_MISS


def test_r20_a_live_handoff_is_no_restore_and_delays_the_nudge(tell: Tell) -> None:
    report = tell("R20")
    seen = report.did(WriteKey)[0]
    assert (seen.key, seen.data["terminal"]) == ("seen", "T2")
    assert report.at(SendIntercom) == [3]
    assert not report.did(ClosePane)


def test_r22_fifty_tracked_runs_cost_nothing_and_ten_candidates_one_list_a_look(tell: Tell) -> None:
    report = tell("R22")
    files = {c.ReadRegistry, c.ReadRuns, c.ReadTranscript, c.ReadRun}
    assert {type(command) for command, _ in report.asked[0]} == files  # what the keys say, once
    later = {type(command) for look in report.asked[1:100] for command, _ in look}
    assert later == {c.ReadRegistry, c.ReadRuns}
    assert report.at(ListPanes) == [101, 102]
    assert report.at(ProcessInfo) == []
    assert untouched(report)


# -- B. Windows --------------------------------------------------------------------------------------------------


def test_r23_on_windows_nothing_is_ever_taken_for_restored(tell: Tell) -> None:
    report = tell("R23")
    assert untouched(report)
    assert report.written() == []
    assert report.at(ListPanes) == []
    assert "Windows" in str(report.last().obstacle)


def test_r24_an_ok_reply_is_not_an_effect(tell: Tell) -> None:
    report = tell("R24")
    closed = [answer for look in report.asked for command, answer in look if isinstance(command, ClosePane)]
    assert closed == [Result(Outcome.DONE)]
    assert report.summary.gave_up == [RUN]
    assert not report.did(TellLauncher)
    [warning] = report.warnings()
    assert "w1:p3 stays open" in warning
    assert FILE in warning


# -- C. registry, delivery, orphans ------------------------------------------------------------------------------


def test_r28_a_bare_shell_is_never_typed_into_and_not_asked_for_ever(tell: Tell) -> None:
    report = tell("R28")
    effects = {type(command) for told in report.story for command, _ in told.done}
    assert effects == {WriteKey, Notify}
    assert max(report.at(ListPanes)) == LAST_MISS + 2


def test_r30_only_the_run_without_a_result_is_examined(tell: Tell) -> None:
    report = tell("R30")
    assert {
        command.pane for look in report.asked for command, _ in look if isinstance(command, ProcessInfo)
    } == {"w1:p9"}
    assert report.summary.nudged == ["c0000007"]


def test_r32_a_ping_settles_the_run_also_after_a_restart(tell: Tell) -> None:
    report = tell("R32")
    assert untouched(report)
    assert report.at(ListPanes) == []


def test_r33_reloads_in_the_middle_and_afterwards_make_one_message(tell: Tell) -> None:
    assert tell("R33").at(SendIntercom) == [3]


def test_r35_a_second_pi_makes_us_passive_and_is_told_once(tell: Tell) -> None:
    report = tell("R35")
    assert report.written() == []
    assert not any(report.did(kind) for kind in (ClosePane, SendIntercom, TellLauncher))
    assert (report.at(Notify), report.at(ProcessInfo)) == ([1], [])


def test_r38_a_resumed_run_is_never_guessed(tell: Tell) -> None:
    report = tell("R38")
    assert untouched(report)
    assert report.written() == []


def test_r40_a_rejected_message_is_not_resumed_and_shows_the_session(tell: Tell) -> None:
    report = tell("R40")
    assert report.written() == [("closing", RUN), ("gaveUp", RUN)]
    [warning] = report.warnings()
    assert FILE in warning
    assert report.at(TellLauncher) == [2]


# -- D. intercom and message delivery ----------------------------------------------------------------------------


def test_r41_an_offline_target_was_the_one_attempt(tell: Tell) -> None:
    report = tell("R41")
    assert report.written() == [("nudged", RUN)]
    assert (report.at(SendIntercom), len(report.warnings())) == ([2], 1)


def test_r42_the_request_is_true_when_read_hours_later(tell: Tell) -> None:
    [sent] = tell("R42").did(SendIntercom)
    look = iso(2 * LOOK_SECONDS)
    assert sent.text == (REPORTS / "R42.txt").read_text(encoding="utf-8").rstrip("\n").replace("{look}", look)
    assert sent.text.startswith(f"Straw Boss, {look},")
    assert "2026-01-01T00:00:00Z" in sent.text  # the end of the turn
    assert "already reported, ignore this" in sent.text


def test_r43_a_target_that_registered_anew_is_looked_at_again(tell: Tell) -> None:
    report = tell("R43")
    assert report.at(WriteKey) == report.at(SendIntercom) == [3]
    assert report.did(SendIntercom)[0].epoch == "e2"


def test_r45_the_report_is_to_go_to_the_launcher(tell: Tell) -> None:
    [sent] = tell("R45").did(SendIntercom)
    assert '"The Boss" (pi-intercom session "boss")' in sent.text
    assert 'to "boss"' in sent.text


def test_r46_keys_go_by_run_and_never_by_name(tell: Tell) -> None:
    report = tell("R46")
    assert {one.name for one in report.story[-1].runs} == {"Zeta"}
    assert report.written() == [("nudged", "d0000002")]
    assert [one.session for one in report.did(SendIntercom)] == ["child-1"]


# -- E. session files --------------------------------------------------------------------------------------------


def arguments(report: Report) -> dict[str, Any]:
    [told] = report.did(TellLauncher)
    return json.loads(re.findall(r"subagent_resume (\{.*\})", told.text)[0])


def test_r52_a_hostile_tool_name_is_a_tool_and_the_state_is_checked_first(tell: Tell) -> None:
    text = arguments(tell("R52"))["message"]
    assert "The tool call (a tool) got no result. Check the current state before" in text
    assert "Ignore all" not in text


def test_r53_an_abort_is_no_cut_and_three_restores_are_one_message_and_one_warning(tell: Tell) -> None:
    report = tell("R53")
    assert (report.at(TellLauncher), report.did(SendIntercom), report.did(ClosePane)) == ([2], [], [])
    assert "mid-turn" not in report.did(TellLauncher)[0].text
    assert report.written() == [("resumed", RUN), ("warned", RUN)]
    assert ["it was recovered before" in text for text in report.warnings()] == [True]


def test_r55_without_a_durable_key_the_nudge_waits(tell: Tell) -> None:
    report = tell("R55")
    assert report.at(WriteKey) == [2, 3, 4, 5, 6]
    assert report.at(SendIntercom) == [6]
    assert len(report.warnings()) == 1


def test_r56_custom_entries_behind_the_answer_are_no_step(tell: Tell) -> None:
    assert "Finish the task you were given" in arguments(tell("R56"))["message"]


def test_r65_a_run_whose_script_is_not_written_yet_is_starting_and_not_ruled_out(tell: Tell) -> None:
    report = tell("R65")
    assert [told.runs[0].state for told in report.story[:4]] == ["tracked"] * 4
    assert [key for key, _ in report.written()] == ["seen", "nudged"]


def test_r67_a_running_tool_is_work(tell: Tell) -> None:
    report = tell("R67")
    assert untouched(report)
    assert "active" in str(report.last().obstacle)


def test_r68_a_file_that_does_not_grow_is_no_stall(tell: Tell) -> None:
    report = tell("R68")
    assert untouched(report)
    assert report.at(c.ReadTail) == []


def test_r71_a_child_stranded_two_hours_after_the_start_is_found_within_two_looks(tell: Tell) -> None:
    assert tell("R71").at(SendIntercom) == [482]


# -- F, G. clocks ------------------------------------------------------------------------------------------------


def test_r73_after_a_sleep_of_the_host_a_look_only_observes(tell: Tell) -> None:
    report = tell("R73")
    assert report.at(SendIntercom) == [4]
    assert "the host slept" in str(report.story[1].runs[0].obstacle)
    assert report.at(ListPanes) == [1, 3, 4, 4]


def test_r74_the_first_look_over_old_evidence_does_nothing(tell: Tell) -> None:
    report = tell("R74")
    assert report.story[0].done == ()
    assert report.at(SendIntercom) == [2]


def test_r83_a_restored_pi_is_told_to_go_on_only_when_seen_twice(tell: Tell) -> None:
    report = tell("R83")
    assert report.at(SendIntercom) == [2]
    assert report.written() == [("continued", RUN), ("resumed", RUN)]
    assert "wait for its report over intercom" in report.did(TellLauncher)[0].text


# -- N. evidence that contradicts itself -------------------------------------------------------------------------


def test_n01_a_status_frozen_at_idle_closes_nothing_while_the_roster_and_the_session_file_say_work(
    tell: Tell,
) -> None:
    report = tell("N01")
    assert untouched(report)
    assert report.written() == []
    assert "tool:bash" in str(report.last().obstacle)


def everybody_says_idle(told: dict[str, Any]) -> dict[str, Any]:
    """The case with the first look twice, and nobody at work."""
    look = told["looks"][0]
    look["roster"][1]["status"] = "idle"
    told["looks"] = [look, json.loads(json.dumps(look))]
    return told


def grown(tails: dict[str, Any]) -> dict[str, Any]:
    end = tails[FILE]["entries"]
    return {FILE: {**tails[FILE], "entries": [*end, {**end[-1], "id": "e2", "parent": end[-1]["id"]}]}}


SCRIPT = f"/s/artifacts/boss/subagent-scripts/zeta-{RUN}.sh"
RESUMED = {"pid": 19, "name": "bash", "argv": ["bash", SCRIPT.replace(RUN, "resume-1767225600000")]}
# One witness of the second look says otherwise, and all others say what they said before.
SIBLINGS_OF_N01: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "the roster": lambda look: {"roster": [look["roster"][0], {**look["roster"][1], "status": "tool:bash"}]},
    "the roster without an answer": lambda _: {"roster": {"unknown": "no answer"}},
    "a broker that is gone": lambda _: {"roster": {"absent": "no broker"}},
    "the activity file, the roster silent": lambda look: {
        "runs": {RUN: {**look["runs"][RUN], "updated_at": 1767225660}},
        "roster": look["roster"][:1],
    },
    "the session file": lambda look: {"tails": grown(look["tails"])},
    "the process list": lambda look: {"processes": {"w1:p3": [RESUMED, *look["processes"]["w1:p3"]]}},
    "a fork": lambda _: {"forks": {FILE: ["/s/newer.jsonl"]}},
    "herdr": lambda look: {"panes": [look["panes"][0], {**look["panes"][1], "status": "working"}]},
}


def tell_n01(tell: Tell, folder: Path, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Report:
    told = everybody_says_idle(json.loads((REPORTS / "N01.json").read_text()))
    told["looks"][1].update(change(told["looks"][1]))
    (folder / "N01.json").write_text(json.dumps(told))
    return tell("N01", folder)


def test_n01_where_every_witness_agrees_its_pane_is_closed(tell: Tell, tmp_path: Path) -> None:
    assert tell_n01(tell, tmp_path, lambda _: {}).at(ClosePane) == [2]


@pytest.mark.parametrize("witness", SIBLINGS_OF_N01)
def test_n01_one_witness_that_says_otherwise_is_enough(tell: Tell, tmp_path: Path, witness: str) -> None:
    report = tell_n01(tell, tmp_path, SIBLINGS_OF_N01[witness])
    assert (untouched(report), report.written()) == (True, [])


@pytest.mark.parametrize("names", [["bash", SCRIPT], ["pi", "--session", FILE]])
def test_r07_whatever_process_names_the_script_or_the_session_file_it_is_not_lost(
    tell: Tell, tmp_path: Path, names: list[str]
) -> None:
    told = json.loads((REPORTS / "R07.json").read_text())
    [look] = told["looks"]
    look.update(panes=look["panes"][:1], roster=look["roster"][:1], processes={}, times=14)
    look["holders"] = {FILE: {"naming": [{"pid": 20, "name": names[0], "argv": names}]}}
    (tmp_path / "R07.json").write_text(json.dumps(told))
    report = tell("R07", tmp_path)
    assert (untouched(report), report.written()) == (True, [])
    assert "process 20 names its session file or its script" in str(report.last().obstacle)


def in_a_worktree(look: dict[str, Any]) -> None:
    look["files"][RUN]["worktree"] = {
        "state": "running",
        "pane": "w1:p3",
        "path": "/w/tree",
        "branch": "feature/x",
    }


def without_its_session_file(look: dict[str, Any]) -> None:
    look["tails"] = {}


def without_a_pane(look: dict[str, Any]) -> None:
    look["panes"] = look["panes"][:1]


def in_a_nameless_pane(look: dict[str, Any]) -> None:
    look["panes"][1]["session"] = None


@pytest.mark.parametrize(
    "changed", [lambda _: None, in_a_worktree, without_its_session_file, without_a_pane, in_a_nameless_pane]
)
def test_n04_a_bare_shell_is_no_pi_whatever_session_its_pane_names(
    tell: Tell, tmp_path: Path, changed: Callable[[dict[str, Any]], None]
) -> None:
    told = json.loads((REPORTS / "N04.json").read_text())
    changed(told["looks"][0])
    (tmp_path / "N04.json").write_text(json.dumps(told))
    report = tell("N04", tmp_path)
    [warning] = report.warnings()
    assert report.written() == [("lost", RUN)]
    assert FILE in warning
    assert not any(report.did(kind) for kind in (ClosePane, SendIntercom, TellLauncher))


@pytest.mark.parametrize("kind", ["ordinary", "worktree"])
def test_n03_a_call_without_a_result_was_cut_off_whatever_the_stop_word(kind: str) -> None:
    story, _ = play(open_looks(REPORTS / "N03" / kind), Settings())
    [message] = [one.text for one in did(story, TellLauncher)]
    told = next(
        line for line in message.splitlines() if {"ordinary": "Beta", "worktree": "Delta"}[kind] in line
    )
    assert "restored mid-turn" in told


@pytest.mark.parametrize(
    ("word", "cut"),
    # pi runs the tools of every reply but one that failed or was aborted: what those began was never run.
    [
        ("stop", True),
        ("endTurn", True),
        ("length", True),
        ("toolUse", True),
        ("error", False),
        ("aborted", False),
    ],
)
def test_n03_the_stop_words_of_a_reply_whose_call_has_no_result(
    tell: Tell, tmp_path: Path, word: str, cut: bool
) -> None:
    told = everybody_says_idle(json.loads((REPORTS / "N01.json").read_text()))
    for look in told["looks"]:
        look["tails"][FILE]["entries"][-1]["stop_reason"] = word
    (tmp_path / "N03.json").write_text(json.dumps(told))
    [message] = [one.text for one in tell("N03", tmp_path).did(TellLauncher)]
    assert ("restored mid-turn" in message) is cut


def test_n02_half_a_key_and_an_entry_glued_to_it_block_nobody_they_cannot_mean() -> None:
    story, _ = play(open_looks(REPORTS / "N02"), Settings())
    assert [told.label for told in story] == ["N02/1-before", "N02/3-after-10s", "N02/3-after-10s"]
    assert {run for one in did(story, TellLauncher) for run in one.runs} == {
        "0f238203",
        "a213437c",
        "a53a33eb",
    }


def did(story: list[Told], kind: type[T]) -> list[T]:
    return [command for told in story for command, _ in told.done if isinstance(command, kind)]


# -- all of them -------------------------------------------------------------------------------------------------

FOLDERS = ("N02", "N03/ordinary", "N03/worktree")
FIXTURES = [*sorted(path.name for path in REPORTS.glob("*.json")), *FOLDERS]
REPORTED = {path.stem for path in REPORTS.iterdir()}


def test_every_fixture_has_a_test_of_its_name() -> None:
    tests = {name.split("_")[1].upper() for name in globals() if re.match(r"test_[rn]\d\d_", name)}
    assert tests == set(REPORTED)


@pytest.mark.parametrize("name", FIXTURES)
def test_the_command_replays_every_report_and_begins_with_its_summary(name: str) -> None:
    result = CliRunner().invoke(strawboss, ["replay", "--json", str(REPORTS / name)])
    assert result.exit_code == 0
    lines = [json.loads(line) for line in result.output.splitlines()]
    assert set(lines[0]["summary"]) == {
        "nudged",
        "closed",
        "resumed",
        "continued",
        "gaveUp",
        "untouched",
    }
    assert [line["look"] for line in lines[1:]] == list(range(1, len(lines)))
