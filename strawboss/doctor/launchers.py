"""Whether the launchers are looked at."""

from __future__ import annotations

import time

from strawboss.doctor.finding import Finding, Health, Patient
from strawboss.overview.judge import WEEK_SECONDS, needs_of, view
from strawboss.overview.page import counted, subject
from strawboss.overview.seen import Watch
from strawboss.survey.find import Survey

NOT_YET = "a process starts with a session's first subagent; /strawboss in pi tells whether it is off"
SHOWN = 3


def launchers(patient: Patient) -> Finding:
    """A process that hangs or has stopped, and a pi whose process never started. Of runs, `strawboss status` tells."""
    now = time.time()
    found = Survey(patient.config, patient.environment, WEEK_SECONDS, now).launchers()
    views = [view(seen, now) for seen in found]
    left = [f"{subject(need)} {need.what}" for need in needs_of(views) if not need.run]
    if left:
        rest = [f"and {len(left) - SHOWN} more"] if len(left) > SHOWN else []
        return Finding("launchers", Health.FIX, "; ".join(left[:SHOWN] + rest), "type /reload in its pi")
    looked_at = sum(one.seen.watch is Watch.LOOKING for one in views)
    text = f"{counted(looked_at, 'session')} looked at now"
    return Finding("launchers", Health.OK, text if looked_at else f"{text} ({NOT_YET})")
