from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from strawboss.system.process_identity import Liveness
from strawboss.wakeup.health import Beat, Broken, Finding, Health, Host, Witnesses, classify

TIMEOUT = 180.0


def beat(age: float, file_age: float | None = None, *, ended: bool = False) -> Beat:
    return Beat(0.0, age, age if file_age is None else file_age, "writing", ended)


def verdict(evidence: Witnesses) -> Health:
    return classify(evidence, TIMEOUT).health


FRESH, OLD, ENDED, SKEWED = beat(12), beat(252), beat(5000, ended=True), beat(2400, 10)
QUIET = replace(beat(12), quiet=240.0)
BEATS = [None, Broken("malformed JSON"), FRESH, OLD, beat(180), beat(181), ENDED, SKEWED, QUIET, beat(20000)]
PROCESSES = [None, *Liveness]
EVERYTHING = [
    Witnesses(seen, process, awake, task, locked, host)
    for seen, process, awake, (task, locked), host in itertools.product(
        BEATS, PROCESSES, [0.0, 5000.0], [(None, False), ("task-1", True), ("task-1", False)], Host
    )
]


@pytest.mark.parametrize("evidence", EVERYTHING, ids=range(len(EVERYTHING)))
def test_no_evidence_leads_to_a_guess(evidence: Witnesses) -> None:
    found = classify(evidence, TIMEOUT)
    assert found.why
    # Dead is only who is proven gone, or silent on a host that is gone; certain is only what rests on a known process.
    gone = evidence.process in (Liveness.GONE, Liveness.OTHER)
    assert found.health is Health.DEAD if gone else found.health is not Health.DEAD or evidence.is_lost
    if found.certain:
        assert evidence.process in (Liveness.SAME, Liveness.GONE, Liveness.OTHER)
    if found.health is Health.STALLED:
        assert found.certain == (evidence.process is Liveness.SAME)
        assert not isinstance(evidence.beat, Broken)
        assert (
            evidence.process is not Liveness.UNKNOWN
            or evidence.host is Host.WATCHED
            or evidence.beat == QUIET
        )
        assert evidence.process is None or evidence.awake > TIMEOUT or evidence.beat == QUIET
    if isinstance(evidence.beat, Beat) and evidence.beat.idle_for <= TIMEOUT:
        assert found.health is not Health.STALLED
    if evidence.beat is None:
        assert not found.certain or gone


@pytest.mark.parametrize("process", [None, Liveness.SAME, Liveness.UNKNOWN])
def test_who_beats_is_healthy_with_a_task_and_idle_without(process: Liveness | None) -> None:
    assert verdict(Witnesses(FRESH, process, 5000, "task-1", locked=True)) is Health.HEALTHY
    assert verdict(Witnesses(FRESH, process, 5000)) is Health.IDLE


def test_exactly_the_timeout_is_still_fresh() -> None:
    assert verdict(Witnesses(beat(180), Liveness.SAME, 5000)) is Health.IDLE
    assert verdict(Witnesses(beat(180.5), Liveness.SAME, 5000)) is Health.STALLED


def test_a_silent_process_that_lives_is_stalled_for_certain() -> None:
    assert classify(Witnesses(OLD, Liveness.SAME, 5000, "task-1", locked=True), TIMEOUT) == Finding(
        Health.STALLED, "exceeded 180s timeout", certain=True
    )


def test_a_process_that_is_gone_is_dead_however_fresh_its_beat() -> None:
    for process in (Liveness.GONE, Liveness.OTHER):
        assert classify(Witnesses(beat(1), process, 5000), TIMEOUT) == Finding(
            Health.DEAD, "its process is gone", certain=True
        )


def test_a_silent_process_that_cannot_be_asked_is_unknown() -> None:
    found = classify(Witnesses(OLD, Liveness.UNKNOWN, 5000), TIMEOUT)
    assert found.health is Health.UNKNOWN
    assert "cannot be told" in found.why


def test_an_agent_that_beats_while_its_command_shows_nothing_is_stalled() -> None:
    why = "exceeded 180s timeout: its wake-up beats, its command has shown nothing for 252s"
    for process, certain in ((Liveness.SAME, True), (Liveness.UNKNOWN, False)):
        found = classify(Witnesses(QUIET, process, 5000, "task-1", locked=True), TIMEOUT)
        assert found == Finding(Health.STALLED, why, certain)
    assert verdict(Witnesses(replace(FRESH, quiet=168.0), Liveness.SAME, 5000)) is Health.IDLE


def test_out_of_sight_the_monitor_of_its_host_tells_a_stall_from_a_host_that_is_gone() -> None:
    for host, health in (
        (Host.WATCHED, Health.STALLED),
        (Host.GONE, Health.DEAD),
        (Host.UNWATCHED, Health.UNKNOWN),
    ):
        assert verdict(Witnesses(OLD, Liveness.UNKNOWN, 5000, host=host)) is health
        assert verdict(Witnesses(FRESH, Liveness.UNKNOWN, 5000, host=host)) is Health.IDLE


def test_a_silence_without_any_known_process_is_stalled_and_not_certain() -> None:
    assert classify(Witnesses(OLD, None), TIMEOUT) == Finding(Health.STALLED, "exceeded 180s timeout")


def test_a_record_that_cannot_be_used_is_unknown_with_its_reason() -> None:
    assert "malformed JSON" in classify(Witnesses(Broken("malformed JSON"), Liveness.SAME), TIMEOUT).why
    assert verdict(Witnesses(Broken("malformed JSON"), Liveness.SAME)) is Health.UNKNOWN


def test_an_agent_that_never_woke_is_idle_and_one_that_ended_in_order_too() -> None:
    assert verdict(Witnesses(None, None)) is Health.IDLE
    assert verdict(Witnesses(ENDED, None)) is Health.IDLE


def test_an_agent_is_starting_until_the_timeout_and_unknown_when_it_never_beats() -> None:
    assert verdict(Witnesses(None, Liveness.SAME, 180)) is Health.HEALTHY
    assert verdict(Witnesses(None, Liveness.SAME, 181)) is Health.UNKNOWN
    assert (
        verdict(Witnesses(ENDED, Liveness.SAME, 10)) is Health.HEALTHY
    )  # the record is still that of its last life


def test_a_task_checked_out_by_nobody_we_know_is_unknown() -> None:
    assert verdict(Witnesses(None, None, task="task-1", locked=True)) is Health.UNKNOWN
    assert verdict(Witnesses(None, None, task="task-1", locked=False)) is Health.IDLE


def test_a_record_whose_content_and_file_time_disagree_is_unknown() -> None:
    found = classify(Witnesses(SKEWED, Liveness.SAME, 5000), TIMEOUT)
    assert found.health is Health.UNKNOWN
    assert "clocks disagree" in found.why


def test_an_absurd_silence_is_marked_as_a_suspect_source() -> None:
    assert "suspect source" in classify(Witnesses(beat(1801), Liveness.SAME, 5000), TIMEOUT).why
    assert "suspect source" not in classify(Witnesses(beat(1800), Liveness.SAME, 5000), TIMEOUT).why
