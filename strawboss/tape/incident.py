"""A part of a tape with stand-ins for all names, to be attached to a bug report: it is played before it is written.

What is written is the tape of that play: the core itself has run on the stand-ins, asked what it had asked, and decided
what it had decided, look for look.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from strawboss.recovery import commands as c
from strawboss.recovery.memory import RunReport
from strawboss.recovery.verdict import Unknown
from strawboss.tape.codec import plain, typed
from strawboss.tape.lines import ANSWERS, spoken
from strawboss.tape.memo import Memo
from strawboss.tape.play import Player, Told, play
from strawboss.tape.redact import Redactor, names_of_runs
from strawboss.tape.save import SavedTape
from strawboss.tape.taped_look import Segment, Spoken, TapedLook

COMMANDS = {one.__name__: one for one in (*c.Read.__args__, *c.Effect.__args__)}


class NotTheSameError(Exception):
    """Where the incident decides otherwise than the tape, in one line; it is not to be written."""


@dataclass(frozen=True, slots=True)
class Incident:
    content: bytes
    story: list[Told]


def since(looks: Iterable[TapedLook], wall: float) -> list[TapedLook]:
    """The looks that are not before that time; the first of them begins with what was remembered then."""
    player: Player | None = None
    later: list[TapedLook] = []
    for look in looks:
        if look.clock.wall < wall:
            player = player or Player(look, None, None)
            player.take(look)
        else:
            later.append(look)
    if player is not None and later and not later[0].is_first:
        first = later[0]
        later[0] = replace(first, is_first=True, segment=replace(first.segment, memory=player.memory))
    return later


def make_incident(looks: Sequence[TapedLook], key: bytes) -> Incident:
    """The tape of these looks, at least one, with stand-ins made with that key. Raises NotTheSameError."""
    redacted = list(redact(looks, key))
    saved = SavedTape()
    story, _ = play(redacted, record=saved.record)
    for told, look in zip(story, looks, strict=True):
        if told.differs:
            raise NotTheSameError(_what_differs(told, look, looks))
    return Incident(saved.content(), story)


def _what_differs(told: Told, look: TapedLook, looks: Sequence[TapedLook]) -> str:
    one = told.differs[0]
    how = f"look {told.number} ({look.label}) decides otherwise {{}}: then {one.then}, now {one.now}"
    if any(again.differs for again in play(looks)[0]):
        by = f"by this version than by strawboss {look.segment.strawboss}, which took the tape"
        return f"{how.format(by)}; `strawboss replay --diff` shows where"
    return how.format("in the incident")


def redact(looks: Sequence[TapedLook], key: bytes) -> Iterable[TapedLook]:
    typed_answers = Memo[Any]()
    runs = names_of_runs(value for look in looks for value in _values(look, typed_answers))
    redacting = Redacting(Redactor(key, runs, looks[0].clock), typed_answers)
    return map(redacting.look, looks)


def _values(look: TapedLook, answers: Memo[Any]) -> Iterable[Any]:
    """Each once: the memory, and what names runs among the answers."""
    if look.is_first:
        yield look.segment.memory
    for asked, answer in zip(look.asked, look.answers, strict=False):
        if asked[0] in {"ReadRuns", "ReadTranscript"} and not answers.has(answer, str(asked[0])):
            yield answers.of(answer, partial(_typed, asked), str(asked[0]))


class Redacting:
    """Looks, one after the other; what is the same object in two of them is redacted once."""

    def __init__(self, redactor: Redactor, answers: Memo[Any]) -> None:
        self._redactor, self._typed = redactor, answers
        self._made = Memo[Any]()

    def look(self, look: TapedLook) -> TapedLook:
        pairs = zip(look.asked, look.answers, strict=False)
        return replace(
            look,
            segment=self._made.of(look.segment, self._segment),
            clock=self._redactor.redact(look.clock),
            asked=tuple(self._made.of(one, self._asked) for one in look.asked),
            answers=tuple(
                self._made.of(answer, partial(self._answer, asked), str(asked[0])) for asked, answer in pairs
            ),
            before={},
            reports=self._made.of(look.reports, self._reports),
        )

    def _segment(self, segment: Segment) -> Segment:
        memory = segment.memory
        return replace(
            segment,
            launcher=self._redactor.redact(segment.launcher),
            settings=self._redactor.redact(segment.settings),
            memory=memory if isinstance(memory, Unknown) else self._redactor.redact(memory),
        )

    def _asked(self, one: Spoken) -> Spoken:
        """The same command with stand-ins; texts are not on a tape."""
        shape = COMMANDS[str(one[0])]
        members = dict(one[1]) if len(one) > 1 else {}
        without = {name: "" for name in ("text",) if name in shape.__dataclass_fields__}
        return spoken(self._redactor.redact(typed(members | without, shape)))

    def _answer(self, asked: Spoken, answer: Any) -> Any:
        return plain(self._redactor.redact(self._typed.of(answer, partial(_typed, asked), str(asked[0]))))

    def _reports(self, reports: Mapping[str, Any]) -> dict[str, Any]:
        return {run: self._made.of(one, self._report, "report") for run, one in reports.items()}

    def _report(self, written: Any) -> Any:
        return plain(self._redactor.redact(typed(written, RunReport)))


def _typed(asked: Spoken, answer: Any) -> Any:
    return typed(answer, ANSWERS[str(asked[0])])
