from datetime import timedelta

import pytest
from heartbeat.given import NOW, put, steer, tree

from strawboss.heartbeat.firstseen import first_seen
from strawboss.heartbeat.steer import parse_steer
from strawboss.system.json_files import Broken

STEER = parse_steer(steer(), "leaf-7")
LATER = NOW + timedelta(minutes=5)


def seen(directory, what=STEER, canceller="run-42", now=NOW):
    return first_seen(directory, what, canceller, now)


def test_the_first_look_makes_the_stamp_and_later_looks_never_rewrite_it(tmp_path):
    assert seen(tmp_path) == NOW
    before = tree(tmp_path)
    assert seen(tmp_path, now=LATER) == NOW
    assert tree(tmp_path) == before
    assert list(before) == ["leaf-7.s-1.json"]


@pytest.mark.parametrize(
    "damage",
    [
        b"{not json",
        b"",
        b"[]",
        {"schema": "x"},
        {"agent_id": "leaf-8"},
        {"steer_id": "s-2"},
        {"canceller_id": "another"},
        {"first_seen_at": "noon"},
        {"first_seen_at": None},
    ],
)
def test_a_damaged_or_foreign_stamp_is_refused_and_left_as_it_is(tmp_path, damage):
    whole = {
        "schema": "deft.subagent.steer-firstseen.v1",
        "agent_id": "leaf-7",
        "steer_id": "s-1",
        "canceller_id": "run-42",
        "first_seen_at": "2026-10-03T11:00:00Z",
    }
    put(tmp_path / "leaf-7.s-1.json", damage if isinstance(damage, bytes) else whole | damage)
    before = tree(tmp_path)
    assert isinstance(seen(tmp_path, now=LATER), Broken)
    assert tree(tmp_path) == before


def test_two_steers_whose_stamps_share_a_file_do_not_share_a_clock(tmp_path):
    first, second = (
        parse_steer(steer("a", steer_id="b.c"), "a"),
        parse_steer(steer("a.b", steer_id="c"), "a.b"),
    )
    assert seen(tmp_path, first) == NOW
    assert isinstance(seen(tmp_path, second, now=LATER), Broken)


def test_any_steer_id_becomes_a_file_name(tmp_path):
    (tmp_path / "seen").mkdir()
    odd = parse_steer(steer(steer_id="../../x y/" + "z" * 300), "leaf-7")
    assert seen(tmp_path / "seen", odd) == NOW
    assert seen(tmp_path / "seen", odd, now=LATER) == NOW
    assert [path.parent.name for path in tmp_path.rglob("*.json")] == ["seen"]
