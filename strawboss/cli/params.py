"""Parameter types shared by the commands."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from datetime import time as clock

import click

UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0, "": 1.0}


class Duration(click.ParamType[float]):
    """`90s`, `3m`, `1.5h`, `7d`, `250ms`; a bare number is seconds. Converts to seconds."""

    name = "duration"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, (int, float)):
            return float(value)
        match = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|m|h|d|)", str(value).strip())
        if match is None or float(match[1]) == 0:
            self.fail(f"{value!r} is not a duration; write for example 90s, 3m or 1h", param, ctx)
        return float(match[1]) * UNITS[match[2]]


DURATION = Duration()


class PointInTime(click.ParamType[float]):
    """`03:15` (the last time it was that), an ISO time (local without a zone), or `10m`, so long ago. Epoch seconds."""

    name = "time"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, float):
            return value
        text, now = str(value).strip(), datetime.now().astimezone()
        if re.fullmatch(r"\d+(?:\.\d+)?(?:ms|s|m|h)", text):
            return now.timestamp() - DURATION.convert(text, param, ctx)
        try:
            return _point(text, now).timestamp()
        except (ValueError, OverflowError, OSError):
            self.fail(
                f"{value!r} is no time; write for example 03:15, 2026-12-02T03:15 or 10m (ago)", param, ctx
            )


def _point(text: str, now: datetime) -> datetime:
    if re.fullmatch(r"\d\d:\d\d(?::\d\d)?", text):
        today = datetime.combine(now.date(), clock.fromisoformat(text), now.tzinfo)
        return today if today <= now else today - timedelta(days=1)
    read = datetime.fromisoformat(text)
    return read if read.tzinfo else read.astimezone()


POINT_IN_TIME = PointInTime()
