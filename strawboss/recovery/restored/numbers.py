"""The numbers that decide in the restored case, each with what it counts; docs/state-machines.md#numbers has them all."""

from __future__ import annotations

LAST_MISS = 8  # looks without a restored pane; given up until the next session start
REACH_LOOKS = 4  # looks for a worktree child to become reachable over intercom
PUTS = 3  # times that the launcher's message is put: again only when the session dropped it
GONE_SECONDS = 5.0  # to wait for a closed pane to be gone
POLL_SECONDS = 0.25  # between two looks whether it is
