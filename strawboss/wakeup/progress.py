"""Whether a command is at work: a process that lives and does nothing must not look healthy because we beat for it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

# A tree of processes that waits still costs a little: less than this share of one CPU is waiting.
BUSY_SHARE = 0.01
# The kernel counts CPU time in ticks; one of them is no work yet.
TICK_SECONDS = 0.01


@dataclass(slots=True)
class Progress:
    """What a command shows of itself: output, beats of its own, CPU time. Moments on the monotonic clock."""

    last: float = field(default_factory=time.monotonic)
    _heard: int = 0
    _cpu: float = 0.0
    _measured: float = field(default_factory=time.monotonic)

    def see(self) -> None:
        """It has done something."""
        self.last = time.monotonic()

    def hear(self, size: int) -> None:
        """Its output so far, in bytes."""
        if size != self._heard:
            self._heard = size
            self.see()

    def measure(self, cpu: float) -> None:
        """CPU seconds its tree has used so far; less than before when a part of the tree has left it."""
        now = time.monotonic()
        if cpu - self._cpu > BUSY_SHARE * (now - self._measured) + TICK_SECONDS:
            self.see()
        self._cpu, self._measured = cpu, now

    @property
    def quiet(self) -> float:
        """Seconds since it last did something."""
        return time.monotonic() - self.last
