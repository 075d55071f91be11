import pytest
from heartbeat.given import NOW, ago, content

from strawboss.heartbeat.beats import Said, next_beat
from strawboss.heartbeat.record import PHASES, examine
from strawboss.heartbeat.writer import EndedError


def before(**changes):
    record = examine("leaf-7.json", "leaf-7", content(**changes), NOW, float("inf"))
    return lambda **said: next_beat("leaf-7", Said(**said), record)


def first(**said):
    return next_beat("leaf-7", Said(**said), None)


def test_the_first_beat_starts_and_needs_a_parent():
    assert first(parent_id="run-42").phase == "starting"
    with pytest.raises(ValueError, match="--parent-id"):
        first()


@pytest.mark.parametrize("phase", [phase for phase in PHASES if phase != "starting"])
def test_the_first_beat_says_nothing_else(phase):
    with pytest.raises(ValueError, match=f"says 'starting', not '{phase}'"):
        first(parent_id="run-42", phase=phase, terminal_state="CLEAN" if phase == "terminal" else None)


def test_what_is_not_said_stays_as_it_was_but_a_wait_ends():
    beat = before(pr_number=77, head_sha="abc", wait_kind="pr:watch", extra={"x": 1})(message="goes on")
    assert (beat.parent_id, beat.phase, beat.pr_number, beat.head_sha) == ("run-42", "polling", 77, "abc")
    assert (beat.message, beat.wait_kind, beat.extra) == ("goes on", None, {"x": 1})


def test_an_old_beat_is_still_continued():
    assert before(last_heartbeat_at=ago(hours=24))().phase == "polling"


def test_a_terminal_state_makes_the_phase_terminal():
    assert before()(terminal_state="CLEAN").phase == "terminal"


def test_a_broken_life_is_not_continued():
    beat = before(phase="poling", pr_number=7)(parent_id="run-43")
    assert (beat.phase, beat.pr_number) == ("starting", None)


ENDED = before(phase="terminal", terminal_state="CLEAN", pr_number=7)


@pytest.mark.parametrize("said", [{"phase": "starting"}, {"begins": True}])
def test_an_ended_life_is_not_continued_when_a_new_one_begins(said):
    beat = ENDED(parent_id="run-43", **said)
    assert (beat.phase, beat.pr_number) == ("starting", None)


@pytest.mark.parametrize(
    "said", [{}, {"message": "poll 5/20"}, {"phase": "polling"}, {"terminal_state": "CLEAN"}]
)
@pytest.mark.parametrize("parent", [{}, {"parent_id": "run-43"}])
def test_a_beat_that_comes_after_the_end_begins_none(said, parent):
    with pytest.raises(EndedError, match=r"leaf-7 has ended \(CLEAN\)"):
        ENDED(**said, **parent)


def test_phase_terminal_needs_a_state():
    with pytest.raises(ValueError, match="terminal state"):
        before()(phase="terminal")
