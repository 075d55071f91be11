import pytest
from heartbeat.given import NOW, ago, content, in_use, put

from strawboss.heartbeat.silence import silent_at_once
from strawboss.heartbeat.sweep import sweep

FRESH, OLD = {"last_heartbeat_at": ago(10)}, {"last_heartbeat_at": ago(hours=2)}
DONE = OLD | {"phase": "terminal", "terminal_state": "CLEAN"}


@pytest.fixture
def look(tmp_path):
    """One sweep of agents a, b, … with these fields."""
    directory = in_use(tmp_path)

    def look(*agents):
        for name, fields in zip("abcdefghij", agents, strict=False):
            put(directory / f"{name}.json", content(name, **fields))
        return sweep([str(directory)], NOW)

    return look


@pytest.mark.parametrize(
    ("before", "now", "silent"),
    [
        ([FRESH] * 4, [OLD] * 4, "abcd"),
        ([FRESH] * 3, [OLD] * 3, "abc"),
        ([FRESH] * 5, [OLD] * 3 + [FRESH] * 2, "abc"),
        # two, or half of them, may well be dead
        ([FRESH] * 2, [OLD] * 2, ""),
        ([FRESH] * 6, [OLD] * 3 + [FRESH] * 3, ""),
        # who was silent before, or has finished, did not fall silent in this look
        ([OLD] * 3 + [FRESH], [OLD] * 4, ""),
        ([OLD] * 2 + [FRESH] * 3, [OLD] * 5, "cde"),
        ([FRESH] * 4, [DONE] * 4, ""),
        ([DONE] * 5 + [FRESH] * 3, [DONE] * 5 + [OLD] * 3, "fgh"),
        ([FRESH] * 4, [FRESH] * 4, ""),
    ],
)
def test_three_or_more_and_most_of_those_awake_in_one_look(look, before, now, silent):
    earlier = look(*before)
    assert "".join(silent_at_once(earlier, look(*now))) == silent


def beats(*minutes):
    return [{"last_heartbeat_at": ago(minutes=each)} for each in minutes]


@pytest.mark.parametrize(
    ("now", "silent"),
    [
        (beats(60, 61, 63), "abc"),
        (beats(60, 61, 64), ""),
        (beats(60, 61, 62, 1, 1), "abc"),
        (beats(60, 61, 62, 1, 1, 1), ""),
        (beats(60, 61, 62, 300, 300), "abc"),
        ([OLD] * 3 + [DONE] * 7, "abc"),
        ([OLD | {"last_heartbeat_at": "noon"}] * 4, ""),
        ([], ""),
    ],
)
def test_without_an_earlier_look_those_count_whose_last_beats_lie_within_one_cadence(look, now, silent):
    assert "".join(silent_at_once(None, look(*now))) == silent
