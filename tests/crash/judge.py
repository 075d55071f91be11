"""The judge of both searches: what really happened to each run, and the invariants I1 to I8 as named checks.

It keeps its own record of real effects. The core's keys are evidence here, never the measure: a run whose key says
`nudged` was asked only if a message left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from strawboss.recovery.commands import Command, Effect, Read
from strawboss.recovery.evidence import KeyEntry

Check = Callable[..., str | None]
RECORDS: Final = frozenset({"gaveUp", "lost", "nudged", "warned"})  # keys that stand before a warning
WITHOUT_A_KEY: Final = (
    # What is said once a session start: a close was taken back, nothing can be told of a run.
    "took that back",
    "that may hold a key of it cannot be read",
    "two processes named pi are in its foreground",
)


class BrokenInvariantError(AssertionError):
    """An invariant does not hold. `name`: which one."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"{name}: {why}")
        self.name = name


@dataclass(frozen=True, slots=True)
class Truth:
    """What the world knows of a run at the moment of an act, whatever it told the core.

    `occupant` of its pane: child | restored | person | shell | nobody | unknown. `doubts`: evidence that this look
    asked for and did not get, or never asked for. `at_work`: who says that somebody is at work on the child, whatever
    herdr's status says. `forked`: its session goes on in another file; `grown`: in its own. `stranding`: the terminal of
    its pane, where a new one is a new stranding. `again`: why a run that was recovered before is not to be recovered once
    more.
    """

    kind: str  # ordinary | worktree | persistent
    tracked: bool
    reported: bool
    occupant: str
    doubts: tuple[str, ...] = ()
    at_work: str = ""
    forked: bool = False
    grown: bool = False
    stranding: str = ""
    again: str = ""


@dataclass(frozen=True, slots=True)
class Record:
    """What really happened to one run. `keys`: those that are in the file. `queued`: messages on their way to the session.

    `warned`, `said`: warnings in this session start of a give-up, and which of those that no key records;
    `ever_warned`: of a give-up, in any. `asked_keys`: keys the look under way has asked for; `sure_keys`: those of them
    that it knows to be written; `key_warnings`: which unconfirmed keys were warned of in this session start.
    `continued_in`, `told_in`: the strandings in which that was done.
    """

    keys: tuple[KeyEntry, ...] = ()
    asked: int = 0
    closed: int = 0
    continued: int = 0
    queued: int = 0
    told: int = 0
    warned: int = 0
    said: frozenset[str] = frozenset()
    ever_warned: bool = False
    asked_keys: frozenset[str] = frozenset()
    sure_keys: frozenset[str] = frozenset()
    key_warnings: frozenset[str] = frozenset()
    continued_in: frozenset[str] = frozenset()
    told_in: frozenset[str] = frozenset()

    def has(self, key: str) -> bool:
        return any(entry.key == key for entry in self.keys)

    @property
    def closing(self) -> bool:
        """Whether the last word on the close is `closing`."""
        return self.last_of("closing", "unclosed") == "closing"

    @property
    def nudged(self) -> bool:
        """Whether the last word on the nudge is `nudged`."""
        return self.last_of("nudged", "unnudged") == "nudged"

    def last_of(self, *keys: str) -> str | None:
        return next((entry.key for entry in reversed(self.keys) if entry.key in keys), None)

    @property
    def continuing(self) -> bool:
        """Whether it is to be told to go on, and its launcher is not told of it yet."""
        return self.last_of("continued", "resumed") == "continued"

    @property
    def claimed(self) -> bool:
        """Whether it is noted as lost, to be handed over."""
        return any(entry.key == "lost" and "then" in entry.data for entry in self.keys)

    @property
    def ended(self) -> bool:
        handed = self.has("resumed") and not self.continuing
        return handed or self.has("gaveUp") or self.nudged

    @property
    def handed_in(self) -> frozenset[str]:
        """The strandings after which a key says that its launcher was told; "" where it names none."""
        return frozenset(str(key.data.get("terminal", "")) for key in self.keys if key.key == "resumed")

    @property
    def warned_back(self) -> bool:
        """Of a close that was taken back."""
        return WITHOUT_A_KEY[0] in self.said

    def at_session_start(self) -> Record:
        if not (self.warned or self.said or self.asked_keys or self.key_warnings):
            return self
        return replace(self, warned=0, said=frozenset(), key_warnings=frozenset()).at_look_start()

    def at_look_start(self) -> Record:
        return replace(self, asked_keys=frozenset(), sure_keys=frozenset()) if self.asked_keys else self


# -- the invariants: each is asked right before the act, with the record and the truth ---------------------------


def key_before_asking(record: Record, truth: Truth) -> str | None:
    return None if record.nudged else "the report request leaves before its nudged key is in the file"


def key_before_closing(record: Record, truth: Truth) -> str | None:
    return None if record.closing else "the pane is closed without a closing key in the file"


def key_before_continuing(record: Record, truth: Truth) -> str | None:
    return None if record.continuing else "the child is told to go on before its continued key is in the file"


def key_before_telling(record: Record, truth: Truth) -> str | None:
    if truth.kind == "worktree" or record.closing or record.claimed:
        return None
    return "the launcher is told to resume a run without a closing key in the file"


def message_before_resumed(record: Record, truth: Truth) -> str | None:
    return None if record.told else "the resumed key is written before the message is in the session"


def asked_once(record: Record, truth: Truth) -> str | None:
    return None if not record.asked else "the child is asked for its report a second time"


def closed_once(record: Record, truth: Truth) -> str | None:
    return None if not record.closed else "its pane is closed a second time"


def continued_once(record: Record, truth: Truth) -> str | None:
    return None if truth.stranding not in record.continued_in else "the child is told to go on a second time"


def told_once(record: Record, truth: Truth) -> str | None:
    again = record.queued or truth.stranding in record.told_in
    return None if not again else "a second message tells the launcher to resume it"


def evidence_is_whole(record: Record, truth: Truth) -> str | None:
    doubts = (
        *truth.doubts,
        *(["it is tracked"] if truth.tracked else []),
        *(["it has reported"] if truth.reported else []),
        *(["it is persistent"] if truth.kind == "persistent" else []),
    )
    return f"acts although {', '.join(doubts)}" if doubts else None


def nobody_is_at_work(record: Record, truth: Truth) -> str | None:
    return f"acts although {truth.at_work}" if truth.at_work else None


def not_forked(record: Record, truth: Truth) -> str | None:
    return "acts although its session goes on in another file" if truth.forked else None


def may_be_recovered_again(record: Record, truth: Truth) -> str | None:
    return f"acts although {truth.again}" if truth.again else None


def nobody_when_lost(record: Record, truth: Truth) -> str | None:
    if truth.occupant in {"nobody", "shell", "unknown"}:
        return None
    return f"says that it is lost while its pane holds: {truth.occupant}"


def not_said_before(record: Record, truth: Truth) -> str | None:
    """Since it was last handed over."""
    return None if record.last_of("lost", "resumed") != "lost" else "says a second time that it is lost"


def only_ordinary_panes(record: Record, truth: Truth) -> str | None:
    return None if truth.kind == "ordinary" else f"closes the pane of a {truth.kind} run"


def only_ordinary_claims(record: Record, truth: Truth) -> str | None:
    return None if truth.kind == "ordinary" else f"has a {truth.kind} run resumed"


def only_restored_panes(record: Record, truth: Truth) -> str | None:
    return None if truth.occupant == "restored" else f"closes a pane that holds: {truth.occupant}"


def only_the_child(record: Record, truth: Truth) -> str | None:
    return None if truth.occupant == "child" else f"asks for a report in a pane that holds: {truth.occupant}"


def only_the_restored(record: Record, truth: Truth) -> str | None:
    if truth.occupant == "restored":
        return None
    return f"tells a child to go on in a pane that holds: {truth.occupant}"


def pane_before_telling(record: Record, truth: Truth) -> str | None:
    if truth.kind == "worktree" or record.closed or truth.occupant in {"nobody", "shell", "unknown"}:
        return None
    return f"says that the pane is closed while it holds: {truth.occupant}"


def unreported_when_told(record: Record, truth: Truth) -> str | None:
    return "tells the launcher of a run that has reported" if truth.reported else None


def nothing_speaks_against_telling(record: Record, truth: Truth) -> str | None:
    """Of a run whose pane is closed, nobody else is asked."""
    return f"tells the launcher to resume it although {', '.join(truth.doubts)}" if truth.doubts else None


def left_alone_when_told(record: Record, truth: Truth) -> str | None:
    """Of a run whose pane is closed: a second pi must not come upon a session that somebody went on with. Of a worktree
    child that was not told to go on, its launcher is told that it waits.
    """
    if truth.kind != "worktree":
        return not_forked(record, truth) or ("acts although its files have grown" if truth.grown else None)
    return None if record.continuing else nobody_is_at_work(record, truth) or not_forked(record, truth)


def one_warning(record: Record, truth: Truth) -> str | None:
    return None if not record.warned else "a second warning for one run in one session start"


def no_warning_after_the_last(record: Record, truth: Truth) -> str | None:
    settled = record.ever_warned and (
        record.nudged or any(record.has(key) for key in ("gaveUp", "lost", "warned"))
    )
    if settled and not record.asked_keys & RECORDS:
        return "warns again of a give-up that was recorded"
    return None


def recorded_before_warned(record: Record, truth: Truth) -> str | None:
    return None if record.asked_keys & RECORDS else "warns of a give-up without recording it first"


# No act, and no word `lost`, on evidence that contradicts itself.
UNDISPUTED: tuple[tuple[str, Check], ...] = (
    ("I5", evidence_is_whole),
    ("I5", nobody_is_at_work),
    ("I5", not_forked),
    ("I5", may_be_recovered_again),
)
# Which checks each act must pass. I3 (same evidence, same decision) and I4 (it converges) are about whole looks and
# histories: `search.py` and `simulator.py` check them. I8 is `is_no_typing`.
INVARIANTS: Mapping[str, tuple[tuple[str, Check], ...]] = {
    "ask": (
        ("I1", key_before_asking),
        ("I2", asked_once),
        *UNDISPUTED,
        ("I5", only_the_child),
    ),
    "close": (
        ("I1", key_before_closing),
        ("I2", closed_once),
        *UNDISPUTED,
        ("I5", only_ordinary_panes),
        ("I6", only_restored_panes),
    ),
    "continue": (
        ("I1", key_before_continuing),
        ("I2", continued_once),
        *UNDISPUTED,
        ("I5", only_the_restored),
    ),
    "tell": (
        ("I1", key_before_telling),
        ("I2", told_once),
        ("I5", unreported_when_told),
        ("I5", nothing_speaks_against_telling),
        ("I5", left_alone_when_told),
        ("I5", may_be_recovered_again),
        ("I5", pane_before_telling),
    ),
    "resumed": (("I1", message_before_resumed),),
    "lost": (
        ("I5", evidence_is_whole),
        ("I5", not_forked),
        ("I5", nobody_when_lost),
        ("I7", not_said_before),
    ),
    "claim": (*UNDISPUTED, ("I5", nobody_when_lost), ("I5", only_ordinary_claims), ("I7", not_said_before)),
    "give up": (("I7", one_warning), ("I7", no_warning_after_the_last), ("I7", recorded_before_warned)),
}


def judge(act: str, record: Record, truth: Truth) -> None:
    """Raise the first invariant that the act would break."""
    for name, check in INVARIANTS[act]:
        why = check(record, truth)
        if why is not None:
            raise BrokenInvariantError(name, why)


def is_no_typing(command: Command) -> None:
    """I8: there is no command that types; one that is not known may be one."""
    if not isinstance(command, Read | Effect):
        raise BrokenInvariantError("I8", f"{type(command).__name__} is no command of the core")


def sent(record: Record, act: str, stranding: str) -> Record:
    """The record after a message to the child."""
    if act == "ask":
        return replace(record, asked=record.asked + 1)
    return replace(record, continued=record.continued + 1, continued_in=record.continued_in | {stranding})


def taken(record: Record, stranding: str) -> Record:
    """The record after the session has taken the message about it."""
    return replace(record, told=record.told + 1, told_in=record.told_in | {stranding})


def undone(record: Record) -> None:
    """I4, after a look that lived to its end: a nudge whose key it wrote has left or is taken back."""
    if "nudged" in record.sure_keys and not record.asked and "unnudged" not in record.asked_keys:
        raise BrokenInvariantError("I4", "its nudged key is written, and it is neither asked nor left free")


def has_converged(record: Record, truth: Truth) -> None:
    """I4, after the fair continuation: done, given up or untouched, and nothing half done."""
    if truth.tracked or truth.reported:
        return
    if truth.kind == "worktree" and record.told > len(record.handed_in):
        raise BrokenInvariantError("I4", "the launcher was told once more and no key says so")
    if record.ended:
        return
    if record.closing:
        raise BrokenInvariantError("I4", "its closing key is neither followed up nor taken back")
    if record.closed and truth.occupant in {"nobody", "shell"} and not record.warned_back:
        raise BrokenInvariantError("I4", "its pane is closed and nobody was told")
    if record.claimed and not record.told and not truth.doubts and truth.occupant in {"nobody", "shell"}:
        raise BrokenInvariantError("I4", "it is noted as lost and to be resumed, and nobody was told")
    if record.told or record.queued:
        raise BrokenInvariantError("I4", "the launcher was told and no key says so")
    if record.continued or record.has("continued"):
        raise BrokenInvariantError("I4", "the child was told to go on and the launcher does not know")


@dataclass(slots=True)
class Warnings:
    """Which warning is about which run, by the run id or session file it names."""

    runs: Mapping[str, str] = field(default_factory=dict)  # run id -> session file

    def of(self, text: str) -> Iterator[str]:
        return (run for run, file in self.runs.items() if run in text or file in text)


def warned(record: Record, truth: Truth, text: str) -> Record:
    """The record after that warning about the run, if it may be said."""
    if "could not confirm its" in text:
        key = text.partition("could not confirm its ")[2].partition(" key")[0]
        if key in record.key_warnings:
            raise BrokenInvariantError("I7", f"a second warning about the {key} key in one session start")
        return replace(record, key_warnings=record.key_warnings | {key})
    for words in WITHOUT_A_KEY:
        if words in text:
            if words in record.said:
                raise BrokenInvariantError("I7", f"says a second time in one session start: {words}")
            return replace(record, said=record.said | {words})
    judge("give up", record, truth)
    return replace(record, warned=record.warned + 1, ever_warned=True)
