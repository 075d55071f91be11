"""Parameter types shared by the commands."""

from __future__ import annotations

import re

import click

UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "": 1.0}


class Duration(click.ParamType[float]):
    """`90s`, `3m`, `1.5h`, `250ms`; a bare number is seconds. Converts to seconds."""

    name = "duration"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, (int, float)):
            return float(value)
        match = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|m|h|)", str(value).strip())
        if match is None or float(match[1]) == 0:
            self.fail(f"{value!r} is not a duration; write for example 90s, 3m or 1h", param, ctx)
        return float(match[1]) * UNITS[match[2]]


DURATION = Duration()
