"""What holds for all tests.

Property tests draw the same examples every time: a failure is a fault of the change at hand, never of chance.
"""

from __future__ import annotations

import signal

from hypothesis import HealthCheck, settings

settings.register_profile(
    "strawboss",
    deadline=None,  # how long an example takes says how busy the machine is
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("strawboss")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Started in the background of a shell; what a test starts and interrupts must not inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
