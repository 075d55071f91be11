"""Approvals: a task waits until somebody has said yes or no; the next cycle settles what was said."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from enum import StrEnum

from sqlalchemy import Connection, insert, select, update

from strawboss.wakeup.store import inbox
from strawboss.wakeup.store import tasks as store
from strawboss.wakeup.store.changes import announce
from strawboss.wakeup.store.errors import RefusedError
from strawboss.wakeup.store.schema import approvals, tasks
from strawboss.wakeup.store.tasks import UNLOCKED, Status


class Decision(StrEnum):
    APPROVED = "approved"
    DENIED = "denied"


@dataclass(frozen=True, slots=True)
class Approval:
    id: str
    task: str
    question: str
    asked_by: str
    asked_at: float
    decision: Decision | None
    note: str | None
    decided_by: str | None
    decided_at: float | None
    settled_at: float | None


DECIDED = select(approvals).where(approvals.c.decision.is_not(None), approvals.c.settled_at.is_(None))


def ask(connection: Connection, task: str, question: str, asked_by: str, now: float) -> str:
    """Ask for a yes to a task; returns the request's id. Raises RefusedError when the task is unknown or has ended."""
    if store.find(connection, task).status in (Status.COMPLETE, Status.BLOCKED):
        raise RefusedError(f"{task} has ended, there is nothing left to approve")
    request = f"approval-{secrets.token_hex(4)}"
    asked = {"question": question, "asked_by": asked_by, "asked_at": now}
    connection.execute(insert(approvals).values(id=request, task=task, **asked))
    connection.execute(
        update(tasks).where(tasks.c.id == task, tasks.c.status == Status.OPEN).values(status=Status.WAITING)
    )
    return request


def decide(
    connection: Connection, request: str, decision: Decision, decided_by: str, note: str, now: float
) -> Approval:
    """Say yes or no, once. Raises RefusedError when there is no such request or it was decided before."""
    said = {"decision": decision, "note": note, "decided_by": decided_by, "decided_at": now}
    undecided = update(approvals).where(approvals.c.id == request, approvals.c.decision.is_(None))
    changed = connection.execute(undecided.values(**said)).rowcount
    found = connection.execute(select(approvals).where(approvals.c.id == request)).mappings().first()
    if found is None:
        raise RefusedError(f"there is no approval request {request!r}; `strawboss approve` lists them")
    if not changed:
        raise RefusedError(f"{request} was {found['decision']} by {found['decided_by']} before")
    announce(connection, None)
    return Approval(**found)


def pending(connection: Connection, task: str | None = None) -> list[Approval]:
    """The requests nobody has decided yet, oldest first, of all tasks or of one."""
    chosen = (
        select(approvals).where(approvals.c.decision.is_(None)).order_by(approvals.c.asked_at, approvals.c.id)
    )
    if task is not None:
        chosen = chosen.where(approvals.c.task == task)
    return [Approval(**row) for row in connection.execute(chosen).mappings()]


def concerns(connection: Connection, approval: Approval, agent: str) -> bool:
    """Whether it is this agent's: it asked, or the task is meant for it."""
    return approval.asked_by == agent or store.find(connection, approval.task).assignee == agent


def decided(connection: Connection) -> list[Approval]:
    """The decisions nobody has acted on yet."""
    return [Approval(**row) for row in connection.execute(DECIDED).mappings()]


def settle(connection: Connection, now: float) -> list[Approval]:
    """Act on every decision not acted on yet: yes opens the task, no blocks it; whoever asked is told.

    A task with another request still undecided goes on waiting.
    """
    rows = connection.execute(DECIDED.with_for_update(skip_locked=True)).mappings()
    found = [Approval(**row) for row in rows]
    for approval in found:
        connection.execute(update(approvals).where(approvals.c.id == approval.id).values(settled_at=now))
        _apply(connection, approval, now)
    return found


def _apply(connection: Connection, approval: Approval, now: float) -> None:
    by = approval.decided_by or "strawboss"
    said = f"{approval.decision} by {by}" + (f": {approval.note}" if approval.note else "")
    if approval.decision == Decision.DENIED:
        store.end(connection, approval.task, Status.BLOCKED, said, by=by, now=now)
    elif not pending(connection, approval.task):
        waiting = update(tasks).where(tasks.c.id == approval.task, tasks.c.status == Status.WAITING)
        connection.execute(waiting.values(status=Status.OPEN, **UNLOCKED))
        announce(connection, None)
    inbox.send(connection, approval.asked_by, by, f"{approval.question}: {said}", now, approval.task)


def wait(connection: Connection, task: str, token: str) -> bool:
    """Give a locked task back until its requests are decided; no attempt is counted. False: the lock is not ours."""
    ours = update(tasks).where(tasks.c.id == task, tasks.c.lock_token == token)
    return (
        connection.execute(
            ours.values(status=Status.WAITING, attempts=tasks.c.attempts - 1, **UNLOCKED)
        ).rowcount
        == 1
    )
