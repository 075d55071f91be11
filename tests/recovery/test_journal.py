"""A key is durable before anything follows; where it is not, one warning and another try at the next look."""

from __future__ import annotations

from recovery.desk import restored, stranded
from recovery.given import now

from strawboss.recovery import commands as c
from strawboss.recovery.commands import SendIntercom, WriteKey
from strawboss.recovery.wording import iso


def test_without_its_key_nothing_follows_and_one_warning_is_given() -> None:
    desk = stranded(broken_keys=frozenset({"nudged"}))
    desk.look_times(5)
    assert desk.did(SendIntercom) == []
    assert desk.keys() == ["nudged"] * 4
    assert len(desk.warnings()) == 1
    desk.broken_keys = frozenset()
    desk.look()
    assert desk.effects()[-3:] == ["nudged", "SendIntercom", "Notify"]


def test_a_failed_step_is_written_down_until_it_is_durable_and_never_tried_again() -> None:
    desk = restored(
        refuses={c.ClosePane: c.Result(c.Outcome.FAILED, "refused")}, broken_keys=frozenset({"gaveUp"})
    )
    desk.look_times(4)
    assert len(desk.did(c.ClosePane)) == 1
    assert desk.keys() == ["closing", "gaveUp", "gaveUp", "gaveUp"]
    desk.broken_keys = frozenset()
    desk.look_times(3)
    assert desk.keys()[4:] == ["gaveUp"]
    assert len(desk.did(c.ClosePane)) == 1
    assert len([text for text in desk.warnings() if "gave up on" in text]) == 1


def test_every_key_carries_the_time_of_its_look() -> None:
    desk = stranded()
    desk.look_times(2)
    assert desk.did(WriteKey)[0].data["at"] == iso(now(2).wall)
