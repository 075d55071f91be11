"""What was done, when, and how it ended: from the keys, and from what the tape knows of the acts behind them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from recovery.desk import KilledError, kill_at, restored, stranded
from recovery.given import LAUNCHER, RUN, now
from runs.written import entry, header, key, text
from tape.taping import Taped

from strawboss.recovery.commands import ClosePane, Outcome, Result, SendIntercom, TellLauncher
from strawboss.recovery.keys import FOLD, SEEN
from strawboss.recovery.wording import iso
from strawboss.tape.history import SAID, Event, history_of
from strawboss.tape.last import last_look


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path


def played(directory: Path, desk: Any, looks: int = 4) -> Taped:
    """A launcher whose session file lies there, if a test writes one."""
    desk.launcher = replace(LAUNCHER, file=str(directory / "boss.jsonl"))
    taped = Taped(directory / "tapes", desk)
    taped.looks(looks)
    return taped


def events(taped: Taped) -> list[Event]:
    last = last_look(taped.session)
    assert last is not None
    return history_of(last)


def told(taped: Taped) -> list[tuple[str, str]]:
    return [(event.what, event.outcome) for event in events(taped)]


def test_a_rescue_is_its_keys_with_how_each_act_ended(directory: Path) -> None:
    taped = played(directory, restored())
    assert told(taped) == [("closing", "done"), ("resumed", "done")]
    first = events(taped)[0]
    assert (first.run, first.name, first.session, iso(first.at)) == (RUN, "Zeta", "boss", iso(now(2).wall))
    assert first.sentence == "its restored pane was closed"


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (Outcome.DONE, ("nudged", "done")),
        (Outcome.FAILED, ("nudged", "failed")),
        (Outcome.UNKNOWN, ("nudged", "not known")),
    ],
)
def test_a_question_may_have_reached_it_or_not(
    directory: Path, outcome: Outcome, said: tuple[str, str]
) -> None:
    taped = played(directory, stranded(refuses={SendIntercom: Result(outcome, "lost")}))
    assert told(taped) == [said]


def test_a_step_that_failed_is_told_with_its_reason(directory: Path) -> None:
    taped = played(directory, restored(refuses={ClosePane: Result(Outcome.FAILED, "pane_busy")}))
    [closing, gave_up] = events(taped)
    assert (closing.what, closing.outcome, closing.why) == ("closing", "failed", "pane_busy")
    assert gave_up.sentence.startswith(
        "it was given up (its restored pane w1:p3 could not be closed: pane_busy)"
    )


def test_where_the_process_ended_meanwhile_the_outcome_is_not_known(directory: Path) -> None:
    taped = played(directory, restored(), looks=1)
    taped.desk.before = kill_at(ClosePane)
    with pytest.raises(KilledError):
        taped.look()
    [closing] = events(taped)
    assert (closing.outcome, closing.why) == ("not known", "the process ended meanwhile")


def test_a_key_that_only_the_session_file_has_is_told_too(directory: Path) -> None:
    taped = played(directory, stranded(), looks=1)
    own = [key(nudged=RUN, at="2026-01-02T03:04:05Z"), key(seen=RUN, terminal="t", pane="w1:p3")]
    (directory / "boss.jsonl").write_bytes(text(header("boss"), *own))
    [nudged] = events(taped)
    assert (nudged.what, nudged.outcome, iso(nudged.at)) == ("nudged", "not known", "2026-01-02T03:04:05Z")


def test_every_key_that_is_written_has_its_words() -> None:
    assert set(SAID) == FOLD.keys() - {SEEN}


def test_what_was_left_to_a_person_is_told_with_the_reason(directory: Path) -> None:
    taped = played(directory, stranded(), looks=1)
    warned = key(warned=RUN, at="2026-01-02T03:04:05Z", why="this task has been resumed three times")
    (directory / "boss.jsonl").write_bytes(text(header("boss"), warned))
    [event] = events(taped)
    assert event.sentence == (
        "it was stranded again and left to a person (this task has been resumed three times)"
    )


def test_a_result_that_came_since_is_told(directory: Path) -> None:
    taped = played(directory, restored())
    file = str(directory / f"2026-01-01T00-00-00-000Z_{RUN}-0a1b2c3d-4e5f6a7b-8c9d.jsonl")
    came = entry("custom_message", customType="subagent_result", content="x", details={"sessionFile": file})
    (directory / "boss.jsonl").write_bytes(text(header("boss"), came))
    assert {event.reported for event in events(taped)} == {True}
    assert events(taped)[0].sentence == "its restored pane was closed; its result has come since"


def test_nothing_done_is_nothing_told(directory: Path) -> None:
    assert told(played(directory, stranded(registry=frozenset({RUN})))) == []
    assert not restored().did(TellLauncher)
