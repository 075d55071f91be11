"""Histories that the searches found to break an invariant, kept."""

from copy import deepcopy

from crash import evidence
from crash.simulator import World


def world_with_a_run():
    """One ordinary run, noted as running in its pane."""
    world = World()
    world.start_run("ordinary")
    look(world)
    [child] = world.children.values()
    [spot] = world.spots
    assert child.noted == spot.terminal
    return world, child, spot


def look(world, **how):
    world.pass_time(evidence.SETTINGS.interval)
    world.look(**how)


def look_killed_after_the_closing_key(world):
    """The look that would close the pane, killed as soon as its key is in the file."""
    for commands in range(100):
        trial = deepcopy(world)
        look(trial, kill_after=commands)
        if any(child.record.closing for child in trial.children.values()):
            return look(world, kill_after=commands)
    raise AssertionError("no look writes a closing key")


def test_a_terminal_that_a_child_was_seen_in_is_no_restored_one_even_where_that_could_not_be_noted():
    world, child, spot = world_with_a_run()
    world.hand_over_live()
    world.restart_launcher()
    world.outcomes = ["failed"]
    look(world)
    assert child.noted != spot.terminal
    spot.occupant, spot.status = "person", "idle"
    for _ in range(3):
        look(world)
    assert not child.record.closed


def test_a_close_taken_back_stays_taken_back_when_the_reply_to_that_is_lost():
    world, child, spot = world_with_a_run()
    world.restart_herdr()
    look(world)
    look_killed_after_the_closing_key(world)
    world.outcomes = ["done, reply lost"]
    look(world)
    assert child.record.has("unclosed")
    world.spots.remove(spot)
    for _ in range(3):
        look(world)
    assert not child.record.told


def test_a_pane_that_was_moved_and_lost_its_session_is_not_a_closed_one():
    world, child, spot = world_with_a_run()
    world.restart_herdr()
    look(world)
    look_killed_after_the_closing_key(world)
    spot.id, spot.registered = "w2:p1", False
    look(world)
    assert not child.record.told
    assert child.record.has("unclosed")
