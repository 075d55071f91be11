"""Property tests draw the same examples every time: a failure is a fault of the change at hand, never of chance."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile(
    "strawboss",
    deadline=None,  # how long an example takes says how busy the machine is
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("strawboss")
