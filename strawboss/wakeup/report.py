"""The tables and lines that are printed, as plain functions of what was found."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from strawboss.wakeup.cycle import Row
from strawboss.wakeup.health import Health
from strawboss.wakeup.inspection import Inspection
from strawboss.wakeup.monitor import MonitorLook
from strawboss.wakeup.responses import Response
from strawboss.wakeup.store.events import Event

CYCLE_COLUMNS = ("Step", "Status", "Detail")
HEALTH_COLUMNS = ("Agent", "Status", "Last Heartbeat", "Current Task", "Budget Used")
HISTORY_COLUMNS = ("Time", "Agent", "Event", "Task", "Detail")
HEALTH_HEADING = "## Agent Health — All Agents"
NOTHING = "—"


def cycle_heading(name: str, slug: str) -> str:
    return f"## Heartbeat — {name} ({slug})"


def cycle_row(row: Row) -> tuple[str, str, str]:
    return row.step, row.status, row.detail


def health_row(inspection: Inspection) -> tuple[str, str, str, str, str]:
    """One agent's line."""
    beat = inspection.beat
    return (
        inspection.agent.name,
        inspection.finding.health.value,
        f"{age(beat.age)} ago" if beat else "never",
        inspection.evidence.task or NOTHING,
        budget(inspection.used, inspection.agent.budget),
    )


def alert(inspection: Inspection, response: Response) -> str:
    """`- analyst: STALLED (exceeded 180s timeout). Last activity: …. Action: warn.`"""
    doing = (inspection.beat.message if inspection.beat else "").strip().rstrip(".") or "none seen"
    name, health = inspection.agent.name, inspection.finding.health.upper()
    return f"- {name}: {health} ({inspection.finding.why}). Last activity: {doing}. Action: {response.words}."


def history_row(event: Event) -> tuple[str, str, str, str, str]:
    at = datetime.fromtimestamp(event.at, UTC).strftime("%Y-%m-%d %H:%M:%SZ")
    return at, event.agent, event.event, event.task or NOTHING, event.detail


def age(seconds: float) -> str:
    """`12s`, `4m 12s`, `3h 5m`, `18d 2h`: the two largest units."""
    whole = max(0, int(seconds))
    units = [(whole // 86400, "d"), (whole // 3600 % 24, "h"), (whole // 60 % 60, "m"), (whole % 60, "s")]
    first = next((index for index, (count, _) in enumerate(units) if count), len(units) - 1)
    return " ".join(f"{count}{unit}" for count, unit in units[first : first + 2])


def budget(used: int, limit: int | None) -> str:
    return f"{used:,}/{'unlimited' if limit is None else f'{limit:,}'}"


def look_json(look: MonitorLook) -> dict[str, Any]:
    """One look as JSON: the verdicts beside the evidence they rest on."""
    return {
        "agents": [
            _inspection_json(inspection, look.responses.get(inspection.agent.name))
            for inspection in look.inspections
        ],
        "well": look.is_well,
        "note": look.note,
        "trouble": look.trouble,
    }


def blind_json(why: str) -> dict[str, Any]:
    """A look that could see nothing, in the shape of one that could."""
    return {"agents": [], "well": False, "note": "", "trouble": why}


def refusal_json(why: str) -> dict[str, Any]:
    """A cycle that did not run, in the shape of every complaint under `--json`."""
    return {"ok": False, "exit_code": 1, "error": why}


def _inspection_json(inspection: Inspection, response: Response | None) -> dict[str, Any]:
    beat, evidence = inspection.beat, inspection.evidence
    return {
        "agent": inspection.agent.name,
        "id": inspection.agent.slug,
        "status": inspection.finding.health.value,
        "why": inspection.finding.why,
        "certain": inspection.finding.certain,
        "last_heartbeat_seconds": round(beat.age, 1) if beat else None,
        "last_activity": beat.message if beat else None,
        "no_progress_seconds": round(beat.quiet, 1) if beat else None,
        "host": inspection.cycle.host if inspection.cycle else None,
        "process": evidence.process.value if evidence.process else None,
        "pid": inspection.cycle.process.pid if inspection.cycle else None,
        "task": evidence.task,
        "locked": evidence.locked,
        "tokens_used": inspection.used,
        "budget": inspection.agent.budget,
        "action": response.words if response else None,
    }


def cycle_json(name: str, slug: str, rows: Sequence[Row]) -> dict[str, Any]:
    steps = [{"step": row.step, "status": row.status, "detail": row.detail} for row in rows]
    return {"agent": name, "id": slug, "steps": steps}


def event_json(event: Event) -> dict[str, Any]:
    return {
        "at": datetime.fromtimestamp(event.at, UTC).isoformat().replace("+00:00", "Z"),
        "agent": event.agent,
        "cycle": event.cycle,
        "event": event.event,
        "task": event.task,
        "detail": event.detail,
    }


def colour(health: Health) -> str:
    """What needs a person is seen first."""
    return {Health.HEALTHY: "green", Health.IDLE: "dim", Health.UNKNOWN: "yellow"}.get(health, "bold red")
