"""The number that decides in the nudge, with what it counts; docs/state-machines.md#numbers has them all."""

from __future__ import annotations

LAST_MISS = 4  # looks without pane, script or intercom session; given up until the next session start
