"""The recorded scenes come out as docs/design.md says."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from tape.scenes import (
    ALPHA_ONE,
    ALPHA_ONE_RESUMED,
    BETA,
    DELTA,
    DELTA_TWO,
    ETA,
    ETA_AGAIN,
    GAMMA,
    LAUNCHER,
    RECORDED,
    STORIES,
    STRANDED_AGAIN,
    ZETA,
    acts,
    directory,
    effects,
    tell,
)

from strawboss.recovery.commands import ClosePane, Notify, SendIntercom, TellLauncher, WriteKey
from strawboss.recovery.evidence import Holders
from strawboss.recovery.restored.numbers import LAST_MISS
from strawboss.recovery.settings import Beyond, Settings
from strawboss.recovery.verdict import Answer
from strawboss.tape.moment import Recording, open_recording
from strawboss.tape.play import Summary, Told, play, summarize

DELTA_SESSION = "01a23394-2778-740e-bda0-147519c97933"
ZETA_SESSION = "01a23395-051d-76ed-85d4-cb06e155b337"


def story(name: str) -> list[Told]:
    return tell([directory(moment) for moment in STORIES[name]])


def of(told: list[Told], kind: type) -> list:
    return [command for command in effects(told) if isinstance(command, kind)]


def arguments_in(text: str) -> dict[str, dict[str, object]]:
    """The subagent_resume calls that a message names, by session path."""
    calls = [json.loads(call) for call in re.findall(r"subagent_resume (\{.*\})", text)]
    return {call["sessionPath"]: call for call in calls}


def test_a_delivered_result_settles_the_run() -> None:
    told = story("delivered")
    assert acts(told) == set()
    assert summarize(told).untouched[ALPHA_ONE].startswith("it has not reported: no (reported")


def test_a_stranded_child_is_nudged_once_and_addressed_exactly() -> None:
    told = story("nudged")
    [sent] = of(told, SendIntercom)
    roster = json.loads((directory("nudge/3") / "intercom.json").read_text())[1]["sessions"]
    zeta = next(session for session in roster if session["id"] == sent.session)
    assert (sent.session, sent.epoch) == (ZETA_SESSION, zeta["endpointEpoch"])
    assert LAUNCHER in sent.text
    assert "subagent-chat-01a23392-c4f6-76a6" in sent.text
    assert summarize(told).nudged == [ZETA]
    assert len(of(told, Notify)) == 1


def test_the_key_is_written_before_the_message_goes_out() -> None:
    done = effects(story("nudged"))
    key = next(i for i, one in enumerate(done) if isinstance(one, WriteKey) and one.key == "nudged")
    assert isinstance(done[key + 1], SendIntercom)


def test_a_working_child_and_runs_never_seen_running_are_left_alone() -> None:
    untouched = summarize(story("nudged")).untouched
    assert "working" in untouched[ETA]
    assert all("never seen running" in untouched[run] for run in (BETA, GAMMA, DELTA))


def test_a_child_that_ends_by_itself_is_not_touched() -> None:
    summary = summarize(story("ended by itself"))
    assert (summary.nudged, summary.closed, summary.resumed) == ([ZETA], [], [])
    assert "exit sidecar" in summary.untouched[ETA]


def test_restored_panes_are_closed_and_nothing_else() -> None:
    told = story("restored")
    assert {command.pane for command in of(told, ClosePane)} == {"w1:p3", "w1:p4"}
    summary = summarize(told)
    assert set(summary.untouched) == {ALPHA_ONE, ALPHA_ONE_RESUMED}


def test_the_launcher_gets_one_message_with_a_follow_up_for_each_run() -> None:
    [message] = of(story("restored"), TellLauncher)
    calls = {
        re.search(r"_([0-9a-f]{8})-", path)[1]: call for path, call in arguments_in(message.text).items()
    }
    assert set(calls) == {BETA, GAMMA}
    assert "cut off by a Herdr restart" in calls[BETA]["message"]
    assert "(bash)" in calls[BETA]["message"]
    assert "2026-12-01T21:47:48.472Z" in calls[BETA]["message"]
    assert "autoExit" not in calls[BETA]
    assert "cut off" not in calls[GAMMA]["message"]
    assert calls[GAMMA]["autoExit"] is False
    assert calls[GAMMA]["name"] == "Gamma it's"


def test_the_worktree_child_keeps_its_pane_and_is_told_over_intercom() -> None:
    told = story("restored")
    [sent] = of(told, SendIntercom)
    [message] = of(told, TellLauncher)
    assert sent.session == DELTA_SESSION
    assert LAUNCHER in sent.text
    kept = message.text.split("Do not call subagent_resume")[1]
    for fact in (
        "w2:p1",
        "/home/user/.herdr/worktrees/proj/delta-branch",
        "delta-branch",
        "It was told to go on",
    ):
        assert fact in kept


def test_a_pi_that_is_still_starting_is_not_yet_a_plain_pi() -> None:
    told = story("still starting")
    summary = summarize(told)
    assert summary.closed == []
    assert (summary.continued, summary.resumed) == (
        [],
        [],
    )  # pi-intercom could not be asked at the look before
    once = dict.fromkeys((BETA, GAMMA, DELTA), "found once")
    assert summary.untouched == {**summary.untouched, **once}


@pytest.mark.parametrize("name", ["restored", "still starting"])
def test_without_the_registry_nothing_is_known_to_be_lost(name: str, tmp_path: Path) -> None:
    first, *others = [directory(moment) for moment in STORIES[name]]
    blind = []
    for number, moment in enumerate(others):
        copy = shutil.copytree(moment, tmp_path / str(number))
        (copy / "registry.json").write_text('{"readable": false}')
        blind.append(copy)
    told = tell([first, *blind])
    assert acts(told) == set()
    assert all(one.obstacle is None or one.obstacle.answer is not Answer.YES for one in told[-1].runs)
    assert {one.run for one in told[-1].runs if one.obstacle and one.obstacle.answer is Answer.UNKNOWN} >= {
        BETA,
        GAMMA,
        DELTA,
    }


def test_a_person_s_pi_in_the_old_pane_is_never_closed() -> None:
    summary = summarize(story("a person's pi"))
    assert (summary.nudged, summary.closed) == ([ZETA], [])
    assert "exit sidecar" in summary.untouched[ETA]


def test_the_same_terminal_is_a_person_s_pi_even_without_an_exit_sidecar(tmp_path: Path) -> None:
    copy = shutil.copytree(directory("byhand/1"), tmp_path / "byhand")
    [sidecar] = copy.glob(f"sessions/**/*{ETA}*.exit")
    sidecar.unlink()
    terminal = next(
        pane["terminal_id"]
        for pane in json.loads((copy / "pane-list.json").read_text())["result"]["panes"]
        if pane["pane_id"] == "w1:p7"
    )
    [transcript] = copy.glob(f"sessions/**/*_{LAUNCHER}.jsonl")
    entry = {"type": "custom", "customType": "straw-boss", "data": {"seen": ETA, "terminal": terminal}}
    with transcript.open("a") as file:
        file.write(
            json.dumps({**entry, "id": "ffffffff", "parentId": None, "timestamp": "2026-12-01T21:50:00Z"})
            + "\n"
        )
    summary = summarize(tell([copy] * 10))
    assert summary.closed == []
    assert "same terminal" in summary.untouched[ETA]


def without_its_pane_and_folder(moment: Path) -> None:
    """Delta's worktree went, and the folder of its session with it; its pane did not come back."""
    listed = json.loads((moment / "pane-list.json").read_text())
    panes = listed["result"]["panes"]
    listed["result"]["panes"] = [pane for pane in panes if pane["pane_id"] != "w2:p1"]
    (moment / "pane-list.json").write_text(json.dumps(listed))
    peers = json.loads((moment / "intercom.json").read_text())
    peers[1]["sessions"] = [peer for peer in peers[1]["sessions"] if peer["id"] != DELTA_SESSION]
    (moment / "intercom.json").write_text(json.dumps(peers))
    [folder] = moment.glob("sessions/*delta-branch--")
    shutil.rmtree(folder)


class OfAnEmptyMachine(Recording):
    """A recording holds no list of the machine's processes; this one says that there were no others."""

    __slots__ = ()

    def holders(self, _: str) -> Holders:
        return Holders()

    def identify(self, _: int) -> None:
        return None


def of_an_empty_machine(moments: list[Recording]) -> list[Recording]:
    return [OfAnEmptyMachine(one.directory, one.launcher, one.disk, one.resolve) for one in moments]


def opened(moment: Path) -> Recording:
    return open_recording(moment, None, "linux")


@pytest.fixture
def before_and_after(tmp_path: Path) -> list[Path]:
    return [shutil.copytree(directory(moment), tmp_path / moment) for moment in ("restart/1", "restart/3")]


@pytest.fixture
def not_recorded(before_and_after: list[Path]) -> list[Recording]:
    """Opened without the folder: what would be in it is looked for where nothing is, and not where no folder is."""
    before, after = before_and_after
    without_its_pane_and_folder(after)
    return [opened(before), *[opened(after)] * (LAST_MISS + 3)]


@pytest.fixture
def folder_gone(before_and_after: list[Path]) -> list[Recording]:
    """Opened while the folder was there: it is known where it would be."""
    before, after = map(opened, before_and_after)
    without_its_pane_and_folder(after.directory)
    return [before, *[after] * (LAST_MISS + 3)]


def test_n04_a_run_whose_session_file_is_gone_is_not_called_lost_while_the_processes_are_unknown(
    not_recorded: list[Recording],
) -> None:
    told, _ = play(not_recorded, Settings())
    assert ("lost", DELTA) not in acts(told)
    [delta] = [run for run in told[-1].runs if run.run == DELTA]
    assert "the machine's processes were not recorded" in str(delta.obstacle)


def test_n04_a_run_whose_session_file_is_gone_is_lost_with_one_warning(not_recorded: list[Recording]) -> None:
    told, _ = play(of_an_empty_machine(not_recorded), Settings())
    assert ("lost", DELTA) in acts(told)
    [warning] = [notice.text for notice in of(told, Notify) if f"run {DELTA}" in notice.text]
    assert "its session file cannot be read" in warning


def test_n04_a_run_whose_session_folder_is_gone_is_lost_with_one_warning(
    folder_gone: list[Recording],
) -> None:
    told, _ = play(of_an_empty_machine(folder_gone), Settings())
    assert ("lost", DELTA) in acts(told)
    [warning] = [notice.text for notice in of(told, Notify) if f"run {DELTA}" in notice.text]
    assert "its session file cannot be read" in warning


# -- the second restart of a day -------------------------------------------------------------------------------


@pytest.fixture
def stranded_again(tmp_path: Path) -> list[Path]:
    """As it was, but for the worktree run's key, which this version gives the terminal in which it told the run."""
    return [
        told_in_its_terminal(shutil.copytree(directory(moment), tmp_path / f"{number}" / "moment"))
        for number, moment in enumerate(STRANDED_AGAIN)
    ]


def told_in_its_terminal(moment: Path) -> Path:
    [transcript] = moment.glob("sessions/*/*_01a23836-*.jsonl")
    old = f'{{"resumed":"{DELTA_TWO}",'
    text = transcript.read_text()
    assert text.count(old) == 1
    transcript.write_text(text.replace(old, f'{old}"terminal":"term_661ac5594f1a36",'))
    return moment


def test_by_default_what_is_stranded_again_gets_one_warning_each_and_nothing_else_is_done(
    stranded_again: list[Path],
) -> None:
    told = tell(stranded_again)
    assert acts(told) == {("warned", ETA_AGAIN), ("warned", DELTA_TWO)}
    warnings = [notice.text for notice in of(told, Notify)]
    assert len(warnings) == 2
    for run in (ETA_AGAIN, DELTA_TWO):
        [warning] = [text for text in warnings if f"(run {run}," in text]
        assert "`resumed: recover`" in warning


def test_where_it_is_asked_for_they_are_recovered(stranded_again: list[Path]) -> None:
    told = tell(stranded_again, settings=Settings(resumed=Beyond.RECOVER))
    assert acts(told) == {
        ("closing", ETA_AGAIN),
        ("close", "w1:pD"),
        *((what, run) for what in ("tell", "resumed") for run in (ETA_AGAIN, DELTA_TWO)),
    }
    [message] = of(told, TellLauncher)
    [call] = arguments_in(message.text).values()
    assert call["name"] == "Eta"
    assert "253b1b19" in str(call["sessionPath"])
    assert "w2:p1" in message.text.split("Do not call subagent_resume")[1]
    assert of(told, Notify) == []


@pytest.mark.parametrize("resumed", [Beyond.WARN, Beyond.RECOVER])
def test_a_worktree_run_that_an_older_version_told_to_go_on_gets_one_warning_and_no_act(
    resumed: Beyond,
) -> None:
    """Its key names no terminal, so nobody knows whether it was stranded again since."""
    told = tell([directory(moment) for moment in STRANDED_AGAIN], settings=Settings(resumed=resumed))
    assert {act for act in acts(told) if act[1] == DELTA_TWO} == {("warned", DELTA_TWO)}
    [warning] = [notice.text for notice in of(told, Notify) if f"(run {DELTA_TWO}," in notice.text]
    assert "this may be that same stranding" in warning


def test_switched_off_it_is_left_alone_as_by_that_version() -> None:
    told = tell([directory(moment) for moment in STRANDED_AGAIN], settings=Settings(resumed=Beyond.OFF))
    assert acts(told) == set()


def test_on_windows_no_pane_is_taken_for_restored() -> None:
    told = tell([directory(moment) for moment in STORIES["restored"]], platform="win32")
    assert summarize(told) == Summary(untouched=summarize(told).untouched)
    assert acts(told) == set()


def test_the_same_looks_give_the_same_decisions() -> None:
    for name in STORIES:
        assert story(name) == story(name)


def test_every_recorded_moment_can_be_looked_at_alone() -> None:
    moments = [path for scene in RECORDED.iterdir() for path in scene.iterdir()]
    assert moments
    for moment in moments:
        assert acts(tell([moment])) == set()
