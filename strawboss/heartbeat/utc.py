"""UTC timestamps as the contract writes them, and ages as people read them."""

from __future__ import annotations

import re
from datetime import UTC, datetime

_FORMAT = re.compile(
    r"\s*([0-9]{4}-[0-9]{2}-[0-9]{2}T(?:[01][0-9]|2[0-3]):[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})?)(?:Z|\+00:00)\s*"
)


def utc_now() -> datetime:
    return datetime.now(UTC)


def parse_utc(text: str) -> datetime | None:
    """The instant of `YYYY-MM-DDTHH:MM:SS[.f]` with `Z` or `+00:00`; None for local times and impossible dates."""
    match = _FORMAT.fullmatch(text)
    if match is None:
        return None
    try:
        return datetime.fromisoformat(match[1]).replace(tzinfo=UTC)
    except ValueError:
        return None


def parse_contract_utc(text: object) -> datetime | None:
    """The instant of a contract's own timestamp, which is a string that ends in `Z`; None for anything else."""
    return parse_utc(text) if isinstance(text, str) and text.endswith("Z") and not text[0].isspace() else None


def format_utc(moment: datetime) -> str:
    """`2026-05-28T18:47:50Z`: whole seconds, as every writer of the contract does."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def age_text(seconds: float | None) -> str:
    """`45s`, `12.5m`, `3.0h`; a negative age is in the future and keeps its sign."""
    if seconds is None:
        return "<unknown>"
    size = abs(seconds)
    if size < 60:
        return f"{seconds:.0f}s"
    return f"{seconds / 60:.1f}m" if size < 3600 else f"{seconds / 3600:.1f}h"
