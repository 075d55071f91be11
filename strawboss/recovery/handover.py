"""What the launcher is to be told of a restored run, and how far the telling came."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WorktreeHandover:
    """`told`: the child got the text over intercom. `why_not`: why it did not; empty when its turn was not cut."""

    pane: str
    path: str = ""
    branch: str = ""
    told: bool = False
    why_not: str = ""


@dataclass(frozen=True, slots=True)
class Handover:
    """One restored run as the launcher's message tells it.

    `text`: the follow-up to pass on. `mid_turn`: its turn was cut. `worktree`: None for a run to be resumed. `lost`: its
    pane never came back.
    """

    run: str
    name: str
    session_file: str
    last_step: str
    text: str
    mid_turn: bool = False
    auto_exit: bool = True
    worktree: WorktreeHandover | None = None
    lost: bool = False


@dataclass(frozen=True, slots=True)
class LostRun:
    """One run that did not come back, as the warning tells it. `there`: what is there now. `worktree`: its path,
    empty where no manifest names it; None for a run in none.

    `settings`: what would have had it handed over, had it been in the config. `why_not`: why it was not, though asked for.
    """

    run: str
    name: str
    session_file: str
    there: str
    worktree: str | None = None
    settings: tuple[str, ...] = ()
    why_not: str = ""


@dataclass(frozen=True, slots=True)
class Handing:
    """`unreachable`: looks at which a worktree child was out of reach. `puts`: how often the message was put.

    `maybe_put`: a process that died may have put it, and it may still be queued; only a settled session shows that it
    is not.
    """

    handover: Handover | None = None
    unreachable: int = 0
    puts: int = 0
    maybe_put: bool = False
