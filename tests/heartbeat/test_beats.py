import pytest
from heartbeat.given import ago, content, put

from strawboss.heartbeat.beats import next_beat
from strawboss.heartbeat.utc import format_utc, utc_now


@pytest.fixture
def before(tmp_path):
    def before(**changes):
        put(tmp_path / "leaf-7.json", content(**{"last_heartbeat_at": format_utc(utc_now())} | changes))
        return lambda **said: next_beat(tmp_path, "leaf-7", **said)

    return before


def test_the_first_beat_starts_and_needs_a_parent(tmp_path):
    assert next_beat(tmp_path, "leaf-7", parent_id="run-42").phase == "starting"
    with pytest.raises(ValueError, match="--parent-id"):
        next_beat(tmp_path, "leaf-7")


def test_what_is_not_said_stays_as_it_was_but_a_wait_ends(before):
    beat = before(pr_number=77, head_sha="abc", wait_kind="pr:watch", extra={"x": 1})(message="goes on")
    assert (beat.parent_id, beat.phase, beat.pr_number, beat.head_sha) == ("run-42", "polling", 77, "abc")
    assert (beat.message, beat.wait_kind, beat.extra) == ("goes on", None, {"x": 1})


def test_an_old_beat_is_still_continued(before):
    assert before(last_heartbeat_at=ago(hours=24))().phase == "polling"


def test_a_terminal_state_makes_the_phase_terminal(before):
    assert before()(terminal_state="CLEAN").phase == "terminal"


@pytest.mark.parametrize("end", [{"phase": "terminal", "terminal_state": "CLEAN"}, {"phase": "poling"}])
def test_an_ended_or_broken_life_is_not_continued(before, end):
    assert before(**end, pr_number=7)(parent_id="run-43").phase == "starting"
    assert before(**end, pr_number=7)(parent_id="run-43").pr_number is None


def test_phase_terminal_needs_a_state(before):
    with pytest.raises(ValueError, match="terminal state"):
        before()(phase="terminal")
