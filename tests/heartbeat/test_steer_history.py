import pytest
from heartbeat.given import NOW, put, tree

from strawboss.heartbeat import steer_history
from strawboss.heartbeat.steer_history import read_history


def test_nothing_was_used_before_anything_was_written(tmp_path):
    history = read_history(tmp_path, "leaf-7")
    assert not history.was_used("s-1")
    assert not history.was_read("s-1")


def test_a_steer_is_noted_as_written_read_and_acked_each_once(tmp_path):
    for what in ("written", "read", "acked"):
        read_history(tmp_path, "leaf-7").note("s-1", what, NOW)
    history = read_history(tmp_path, "leaf-7")
    assert set(history.steers["s-1"]) == {"written", "read", "acked"}
    assert history.was_read("s-1")
    assert not history.was_used("s-2")
    assert not read_history(tmp_path, "leaf-8").was_used("s-1")


def test_it_lies_under_a_name_that_no_sweep_takes_for_a_steer(tmp_path):
    read_history(tmp_path, "leaf-7").note("s-1", "written", NOW)
    (name,) = tree(tmp_path)
    assert not name.endswith(".json")


def test_the_oldest_are_forgotten_before_it_is_too_large_to_be_read(tmp_path, mocker):
    mocker.patch.object(steer_history, "MOST_STEERS", 2)
    for steer_id in ("s-1", "s-2", "s-3"):
        read_history(tmp_path, "leaf-7").note(steer_id, "written", NOW)
    assert list(read_history(tmp_path, "leaf-7").steers) == ["s-2", "s-3"]


@pytest.mark.parametrize("damage", [b"{half", b"", {}, {"steers": []}, {"steers": {"s-1": 7}}])
def test_a_damaged_one_is_said_and_left_as_it_is(tmp_path, damage):
    path = put(tmp_path / ".leaf-7.history", damage)
    before = path.read_bytes()
    with pytest.raises(OSError, match=r"leaf-7\.history is damaged"):
        read_history(tmp_path, "leaf-7")
    assert path.read_bytes() == before
