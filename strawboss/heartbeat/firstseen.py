"""When a canceller first saw its own unread steer: a stamp outside the inbox that is written once and never again.

The observed window starts here and not at the steer's own time, so a back-dated steer cannot shorten it. A stamp
that is damaged or belongs to another steer is refused; replacing it would start the clock anew.

Source: docs/heartbeat.md#query-before-cancel.
"""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path

from strawboss.heartbeat.places import make_scratch
from strawboss.heartbeat.steer import Steer
from strawboss.heartbeat.utc import format_utc, parse_contract_utc
from strawboss.system.json_files import Broken, create_json, read_object

SCHEMA = "deft.subagent.steer-firstseen.v1"


def first_seen(directory: Path, steer: Steer, canceller_id: str, now: datetime) -> datetime | Broken:
    """The instant of the stamp, made now if there is none; raises OSError when it cannot be written."""
    path = make_scratch(directory) / f"{steer.agent_id}.{_segment(steer.steer_id)}.json"
    ids = {"agent_id": steer.agent_id, "steer_id": steer.steer_id, "canceller_id": canceller_id}
    created = create_json(path, {"schema": SCHEMA, **ids, "first_seen_at": format_utc(now)})
    return now.replace(microsecond=0) if created else _read(path, ids)


def _read(path: Path, ids: dict[str, str]) -> datetime | Broken:
    stamp = read_object(path)
    if not isinstance(stamp, dict):
        return Broken(f"first-seen stamp {path}: {stamp.reason if stamp else 'vanished'}")
    if foreign := set(stamp) - {"schema", *ids, "first_seen_at"}:
        return Broken(f"first-seen stamp {path}: unknown keys {', '.join(sorted(map(repr, foreign)))}")
    for name, value in {"schema": SCHEMA, **ids}.items():
        if stamp.get(name) != value:
            return Broken(f"first-seen stamp {path}: {name} is another one's")
    seen = parse_contract_utc(stamp.get("first_seen_at"))
    return seen or Broken(f"first-seen stamp {path}: first_seen_at is not ISO-8601 UTC")


def _segment(steer_id: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]", "_", steer_id)[:128] or "_empty"
