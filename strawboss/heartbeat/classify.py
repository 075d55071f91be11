"""THE classifier: what a record, and what a worker, is. Monitor, liveness gate and pre-cancel all ask here.

Unknown is not dead: a broken record, an unreadable ledger and a worker within its startup grace never justify a
takeover (docs/heartbeat.md#death-and-takeover).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from strawboss.heartbeat.record import Record
from strawboss.system.json_files import Broken

STARTUP_GRACE_SECONDS = 180.0

# When the worker was dispatched: an instant, nothing said about it, or a source that cannot be read.
Dispatched = datetime | Broken | None


@dataclass(frozen=True, slots=True)
class Known:
    """What is on record about the dispatch of one agent that is asked about.

    `named`: an attempt or a child lease is in its name; `nameless`: an attempt in its worktree names nobody; `others`:
    whom the attempts there name instead; `elsewhere`: the worktree it was sent into, when that was not looked at.
    """

    started: Dispatched = None
    named: bool = False
    nameless: bool = False
    others: tuple[str, ...] = ()
    elsewhere: str = ""

    def doubt(self, agent_id: str, records: Iterable[Record], must_be_known: bool = False) -> str:
        """Why what is missing or old proves no death of this agent; empty when nothing speaks against it.

        An agent of which no record and no dispatch speaks is nobody's worker; `must_be_known` holds that against it also
        where no ledger is kept.
        """
        records = list(records)
        if self.elsewhere:
            return f"it was sent into {self.elsewhere}, which was not looked at"
        if self.named or any(record.claims(agent_id) for record in records):
            return ""
        if self.nameless:
            other = somebody_else(agent_id, records)
            return f"the attempt in its worktree names no worker, and {other} may be it" if other else ""
        if self.others:
            return f"nobody sent it: the attempt in its worktree is that of {', '.join(self.others)}"
        return self._unknown if must_be_known else ""

    @property
    def _unknown(self) -> str:
        if isinstance(self.started, Broken):
            return f"whether anybody sent it is not known: {self.started.reason}"
        return "nobody sent it: no record, no attempt and no child lease names it"


def somebody_else(agent_id: str, records: Iterable[Record]) -> str | None:
    """Another worker of that worktree that is not proven to have ended or died."""
    others = (record for record in records if not record.claims(agent_id))
    return next(
        (each.label for each in others if each.failures or not (each.has_ended or each.is_stale)), None
    )


class Status(Enum):
    """One record's status word, as the monitor prints it."""

    OK = "OK"
    TERMINAL = "TERMINAL"
    STALE = "STALE"
    MALFORMED = "MALFORMED"
    STALE_MALFORMED = "STALE+MALFORMED"


class Standing(Enum):
    """One worker's standing. STALE, MISSING_AFTER_GRACE and SILENT are proof of death."""

    ALIVE = "alive"
    STALE = "stale"
    # It beats and its host says that it runs, but nothing comes of it: no commit, no word on its pull request.
    SILENT = "no recent activity"
    MALFORMED = "malformed"
    WITHIN_GRACE = "within-grace"
    MISSING_AFTER_GRACE = "missing"
    # No record, and nobody said when the worker was dispatched: the grace is the caller's to keep.
    MISSING_GRACE_UNSAID = "missing, dispatch time not given"
    # No record, and the source of the dispatch time is damaged.
    MISSING_GRACE_UNKNOWN = "missing, dispatch time unreadable"
    # No record or an old one, but it is not known to be the worker that was sent here.
    DOUBTED = "not known to be this worker"


@dataclass(frozen=True, slots=True)
class Judgement:
    """`record` is the one that decided (the first found), `copies` all that claim to be this worker's."""

    agent_id: str
    standing: Standing
    record: Record | None
    copies: tuple[Record, ...]
    takeover: bool
    doubt: str = ""


def status(record: Record) -> Status:
    if record.failures:
        return Status.STALE_MALFORMED if record.is_stale else Status.MALFORMED
    if record.is_stale:
        return Status.STALE
    return Status.TERMINAL if record.is_terminal else Status.OK


def judge(
    agent_id: str, records: Iterable[Record], dispatched: Dispatched, now: datetime, doubt: str = ""
) -> Judgement:
    """What is known of one worker. Contradicting copies take nobody over: all of them must prove the death, and nobody
    a `doubt` speaks for (see `Known.doubt`)."""
    copies = tuple(record for record in records if record.claims(agent_id))
    standings = [_standing(copy, dispatched, now) for copy in copies] or [_missing(dispatched, now)]
    return Judgement(
        agent_id,
        Standing.DOUBTED if doubt and standings[0] in _PROVEN_DEAD else standings[0],
        copies[0] if copies else None,
        copies,
        takeover=not doubt and all(standing in _PROVEN_DEAD for standing in standings),
        doubt=doubt,
    )


# The gate of the contract has no dispatch time of its own: without one it must say the word at once, and the
# parent keeps the grace (docs/heartbeat.md#death-and-takeover).
_PROVEN_DEAD = frozenset({Standing.STALE, Standing.MISSING_AFTER_GRACE, Standing.MISSING_GRACE_UNSAID})


def duplicates(records: Iterable[Record]) -> list[str]:
    """Agent ids that more than one record claims."""
    claims = Counter(record.agent_id for record in records if record.agent_id)
    return sorted(agent_id for agent_id, count in claims.items() if count > 1)


def _standing(record: Record, dispatched: Dispatched, now: datetime) -> Standing:
    standing = _standing_of_sound(record, dispatched, now)
    # What is ill proves neither life nor death, however old it says it is.
    return Standing.MALFORMED if record.failures and standing is not Standing.WITHIN_GRACE else standing


def _standing_of_sound(record: Record, dispatched: Dispatched, now: datetime) -> Standing:
    if record.is_stale and not (
        _is_of_an_earlier_worker(record, dispatched) and _within_grace(dispatched, now)
    ):
        return Standing.STALE
    if record.is_stale or (record.is_terminal and _is_of_an_earlier_worker(record, dispatched)):
        return _missing(dispatched, now)
    return Standing.ALIVE


def _missing(dispatched: Dispatched, now: datetime) -> Standing:
    if dispatched is None:
        return Standing.MISSING_GRACE_UNSAID
    if isinstance(dispatched, Broken):
        return Standing.MISSING_GRACE_UNKNOWN
    return Standing.WITHIN_GRACE if _within_grace(dispatched, now) else Standing.MISSING_AFTER_GRACE


def _within_grace(dispatched: Dispatched, now: datetime) -> bool:
    # A dispatch in the future is a clock nobody can trust: still within grace.
    return isinstance(dispatched, datetime) and (now - dispatched).total_seconds() < STARTUP_GRACE_SECONDS


def _is_of_an_earlier_worker(record: Record, dispatched: Dispatched) -> bool:
    # Records carry whole seconds: a beat of the dispatch's own second is the new worker's.
    return (
        record.at is not None
        and isinstance(dispatched, datetime)
        and record.at < dispatched.replace(microsecond=0)
    )
