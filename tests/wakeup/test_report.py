from __future__ import annotations

from dataclasses import replace

import pytest

from strawboss.cli.tables import markdown_table
from strawboss.system.process_identity import Liveness
from strawboss.wakeup import report
from strawboss.wakeup.agents import Agent
from strawboss.wakeup.cycle import Row
from strawboss.wakeup.health import Beat, Finding, Health, Witnesses
from strawboss.wakeup.inspection import Inspection
from strawboss.wakeup.monitor import MonitorLook
from strawboss.wakeup.responses import OnStall, Response
from strawboss.wakeup.store.events import Event


def inspection(name: str, health: Health, age: float, task: str | None, used: int, budget: int) -> Inspection:
    seen = Beat(0.0, age, age, "writing to processed/report.md", ended=False)
    evidence = Witnesses(seen, Liveness.SAME, 5000, task, locked=task is not None)
    why = "exceeded 180s timeout" if health is Health.STALLED else "it beats"
    return Inspection(Agent(name, budget=budget), evidence, Finding(health, why, certain=True), None, used)


TEAM = (
    inspection("researcher", Health.HEALTHY, 12.4, "task-d4e5", 23_400, 50_000),
    inspection("writer", Health.HEALTHY, 8, "task-f6g7", 11_200, 30_000),
    inspection("analyst", Health.STALLED, 252.9, "task-h8i9", 45_100, 50_000),
    inspection("coder", Health.IDLE, 3, None, 0, 100_000),
)
WARN = Response(OnStall.WARN, "warn")


def test_the_health_table_has_these_columns_and_words() -> None:
    table = markdown_table(report.HEALTH_COLUMNS, map(report.health_row, TEAM)).splitlines()
    assert report.HEALTH_HEADING == "## Agent Health — All Agents"
    assert table[0] == "| Agent | Status | Last Heartbeat | Current Task | Budget Used |"
    assert table[2:] == [
        "| researcher | healthy | 12s ago | task-d4e5 | 23,400/50,000 |",
        "| writer | healthy | 8s ago | task-f6g7 | 11,200/30,000 |",
        "| analyst | stalled | 4m 12s ago | task-h8i9 | 45,100/50,000 |",
        "| coder | idle | 3s ago | — | 0/100,000 |",
    ]


def test_the_alert_is_these_lines() -> None:
    assert report.alert(TEAM[2], WARN) == (
        "- analyst: STALLED (exceeded 180s timeout). Last activity: writing to processed/report.md. Action: warn."
    )


def test_the_cycle_table_has_these_columns_and_words() -> None:
    rows = [
        Row("1. Identity", "done", "researcher / Market Analyst / scope: read-only"),
        Row("4. Select work", "done", 'task-d4e5: "Analyze competitor pricing" (priority: high)'),
        Row("7. Execute", "running", "..."),
    ]
    table = markdown_table(report.CYCLE_COLUMNS, map(report.cycle_row, rows)).splitlines()
    assert report.cycle_heading("researcher", "agent-a1b2") == "## Heartbeat — researcher (agent-a1b2)"
    assert table[0] == "| Step | Status | Detail |"
    assert table[2:] == [
        "| 1. Identity | done | researcher / Market Analyst / scope: read-only |",
        '| 4. Select work | done | task-d4e5: "Analyze competitor pricing" (priority: high) |',
        "| 7. Execute | running | ... |",
    ]


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-5, "0s"),
        (0, "0s"),
        (59.9, "59s"),
        (60, "1m 0s"),
        (252, "4m 12s"),
        (11_100, "3h 5m"),
        (18 * 86400.0, "18d 0h"),
    ],
)
def test_an_age_has_its_two_largest_units(seconds: float, words: str) -> None:
    assert report.age(seconds) == words


def test_an_agent_without_a_record_or_limit_says_so() -> None:
    stranger = replace(TEAM[3], evidence=Witnesses(None, None), agent=Agent("coder"))
    assert report.health_row(stranger) == ("coder", "idle", "never", "—", "0/unlimited")
    assert "Last activity: none seen. Action" in report.alert(stranger, WARN)


def test_a_look_as_json_has_the_evidence_beside_the_verdict() -> None:
    found = report.look_json(MonitorLook(TEAM, {"analyst": WARN}))
    analyst = found["agents"][2]
    assert found["well"] is False
    assert (analyst["status"], analyst["process"], analyst["certain"]) == ("stalled", "alive", True)
    assert (analyst["task"], analyst["locked"], analyst["action"]) == ("task-h8i9", True, "warn")
    assert found["agents"][0]["action"] is None


def test_an_event_is_shown_with_its_time_in_utc() -> None:
    event = Event(1, 1_700_000_000.0, "writer", "cycle-1", "cycle began", None, "pid 7")
    assert report.history_row(event) == ("2023-11-14 22:13:20Z", "writer", "cycle began", "—", "pid 7")
    assert report.event_json(event)["at"] == "2023-11-14T22:13:20Z"


def test_what_needs_a_person_has_a_colour_of_its_own() -> None:
    assert len({report.colour(health) for health in (Health.HEALTHY, Health.STALLED, Health.UNKNOWN)}) == 3
    assert report.colour(Health.DEAD) == report.colour(Health.STALLED)
