"""The keys in the launcher's session: what was noted and done, folded in file order (docs/design.md#keys)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from strawboss.recovery.evidence import KeyEntry

SEEN = "seen"
NUDGED = "nudged"
UNNUDGED = "unnudged"
CLOSING = "closing"
UNCLOSED = "unclosed"
RESUMED = "resumed"
CONTINUED = "continued"
GAVE_UP = "gaveUp"
LOST = "lost"


@dataclass(frozen=True, slots=True)
class RunKeys:
    """All that the keys say of one run.

    `terminal`, `pane`: where it was last seen running its launch script; a `seen` key may name no pane. `closing`: the
    entry, until `unclosed` takes it back; `taken_back`: that has happened, so a later give-up is worth a warning.
    `gave_up`: why, once a step has failed.
    """

    terminal: str | None = None
    pane: str | None = None
    nudged: bool = False
    closing: KeyEntry | None = None
    taken_back: bool = False
    continued: bool = False
    resumed: bool = False
    gave_up: str | None = None
    lost: bool = False

    @property
    def acted(self) -> str | None:
        """The key that says Straw Boss is done with this run for good, if any."""
        if self.nudged:
            return NUDGED
        if self.resumed:
            return RESUMED
        return GAVE_UP if self.gave_up is not None else None


# What each key does to what is known. A key that is not here comes from a newer version: kept in the file, ignored.
FOLD: Mapping[str, Callable[[RunKeys, KeyEntry], RunKeys]] = {
    SEEN: lambda keys, entry: replace(keys, terminal=_text(entry, "terminal"), pane=_text(entry, "pane")),
    NUDGED: lambda keys, _: replace(keys, nudged=True),
    UNNUDGED: lambda keys, _: replace(keys, nudged=False),
    CLOSING: lambda keys, entry: replace(keys, closing=entry),
    UNCLOSED: lambda keys, _: replace(keys, closing=None, taken_back=True),
    CONTINUED: lambda keys, _: replace(keys, continued=True),
    RESUMED: lambda keys, _: replace(keys, resumed=True),
    GAVE_UP: lambda keys, entry: replace(keys, gave_up=_text(entry, "why") or ""),
    LOST: lambda keys, _: replace(keys, lost=True),
}

NOTHING = RunKeys()


def fold(entries: Iterable[KeyEntry]) -> dict[str, RunKeys]:
    """Every run's keys, from all entries of the file in order, whatever the branch (`/tree` must not make us forget)."""
    runs: dict[str, RunKeys] = {}
    for entry in entries:
        change = FOLD.get(entry.key)
        if change is not None:
            runs[entry.run] = change(runs.get(entry.run, NOTHING), entry)
    return runs


def _text(entry: KeyEntry, name: str) -> str | None:
    value = entry.data.get(name)
    return value if isinstance(value, str) else None
