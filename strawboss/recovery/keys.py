"""The keys in the launcher's session: what was noted and done, folded in file order (docs/design.md#keys)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from strawboss.recovery.evidence import Identity, KeyEntry

SEEN = "seen"
NUDGED = "nudged"
UNNUDGED = "unnudged"
CLOSING = "closing"
UNCLOSED = "unclosed"
RESUMED = "resumed"
CONTINUED = "continued"
GAVE_UP = "gaveUp"
LOST = "lost"
WARNED = "warned"
LEFT = frozenset({GAVE_UP, LOST, WARNED})  # leave a run to a person
CLAIM = "resume"  # what a `lost` key says beside, when the run is handed to its launcher; a `warned` one to a person


@dataclass(frozen=True, slots=True)
class RunKeys:
    """All that the keys say of one run.

    `terminal`, `pane`: where it was last seen running its launch script; a `seen` key may name no pane. `closing`:
    the entry, until `unclosed` takes it back; `taken_back`: that has happened, so a later give-up is worth a warning.
    `went_on`: it was told to go on, before any restart. `gave_up`: why, once a step has failed. `pi`: the pi that was
    seen running it. `lost`: since it was last handed over; `claimed`: it is lost, and to be handed over. `handed_in`,
    `warned_in`: the terminals in which it was found stranded when it was handed to its launcher, and when a person
    was warned; "" where the key names none (an older version's). A key that is there twice, because the first one
    turned up late, says one thing.
    """

    terminal: str | None = None
    pane: str | None = None
    nudged: bool = False
    closing: KeyEntry | None = None
    taken_back: bool = False
    continued: bool = False
    went_on: bool = False
    gave_up: str | None = None
    lost: bool = False
    claimed: bool = False
    pi: Identity | None = None
    handed_in: frozenset[str] = frozenset()
    warned_in: frozenset[str] = frozenset()

    @property
    def resumed(self) -> bool:
        return bool(self.handed_in)

    @property
    def dealt_with(self) -> frozenset[str]:
        return (self.handed_in | self.warned_in) - {""}

    @property
    def tells_strandings_apart(self) -> bool:
        """Whether a further restart can be known: each key that handed it over names its terminal."""
        return bool(self.dealt_with) and "" not in self.handed_in


# What each key does to what is known. A key that is not here comes from a newer version: kept in the file, ignored.
FOLD: Mapping[str, Callable[[RunKeys, KeyEntry], RunKeys]] = {
    SEEN: lambda keys, entry: replace(
        keys, terminal=_text(entry, "terminal"), pane=_text(entry, "pane"), pi=_identity(entry)
    ),
    NUDGED: lambda keys, _: replace(keys, nudged=True),
    UNNUDGED: lambda keys, _: replace(keys, nudged=False),
    CLOSING: lambda keys, entry: replace(keys, closing=entry),
    UNCLOSED: lambda keys, _: replace(keys, closing=None, taken_back=True),
    CONTINUED: lambda keys, _: replace(keys, continued=True, went_on=True),
    RESUMED: lambda keys, entry: replace(
        keys,
        continued=False,
        lost=False,
        claimed=False,
        handed_in=keys.handed_in | {_text(entry, "terminal") or ""},
    ),
    GAVE_UP: lambda keys, entry: replace(keys, gave_up=_text(entry, "why") or ""),
    LOST: lambda keys, entry: replace(keys, lost=True, claimed=entry.data.get("then") == CLAIM),
    WARNED: lambda keys, entry: replace(keys, warned_in=keys.warned_in | {_text(entry, "terminal") or ""}),
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


def _identity(entry: KeyEntry) -> Identity | None:
    """A key of an older version, or one that noted no pi, says nothing of it."""
    pid, started, boot = (_text(entry, name) for name in ("pid", "started", "boot"))
    try:
        return Identity(int(pid or ""), float(started or ""), boot or "")
    except ValueError:
        return None
