"""The numbers that decide in the lost case, each with what it counts; docs/state-machines.md#numbers has them all."""

from __future__ import annotations

LAST_MISS = 4  # looks at which it cannot be proven, after the restored case gave up; then until the next session start
SAME_START_SECONDS = 0.05  # two readings of one process's start agree to well under a clock tick
