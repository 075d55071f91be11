"""The JSON answers that several commands share."""

from __future__ import annotations

import msgspec


class Complaint(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Any command's `--json` at wrong use, a refusal or an unusable place: nothing is known, nothing was changed."""

    ok: bool
    exit_code: int
    error: str


class Done(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`--json` of `agent:beat`, `subagent:ack`, `occupancy claim` and `release`. `replaced` is empty or says what went."""

    ok: bool
    exit_code: int
    message: str
    replaced: str
