"""A part of a tape with stand-ins for all names, to be attached to a bug report: it is played before it is written.

What is written is the tape of that play: the core itself has run on the stand-ins, asked what it had asked, and decided
what it had decided, look for look.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from strawboss.recovery import commands as c
from strawboss.recovery.memory import Memory
from strawboss.recovery.verdict import Unknown
from strawboss.tape.codec import plain, typed
from strawboss.tape.lines import ANSWERS, spoken
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
            one = told.differs[0]
            raise NotTheSameError(
                f"look {told.number} ({look.label}) decides otherwise in the incident: then {one.then}, now {one.now}"
            )
    return Incident(saved.content(), story)


def redact(looks: Sequence[TapedLook], key: bytes) -> Iterable[TapedLook]:
    runs = names_of_runs(value for look in looks for value in _values(look))
    redactor = Redactor(key, runs, looks[0].clock)
    segments: dict[int, Segment] = {}
    for look in looks:
        if id(look.segment) not in segments:
            segments[id(look.segment)] = _segment(redactor, look.segment)
        yield _look(redactor, look, segments[id(look.segment)])


def _values(look: TapedLook) -> Iterable[Any]:
    if look.is_first:
        yield look.segment.memory
    for asked, answer in zip(look.asked, look.answers, strict=False):
        if asked[0] in {"ReadRuns", "ReadTranscript"}:
            yield _typed(asked, answer)


def _segment(redactor: Redactor, segment: Segment) -> Segment:
    memory = segment.memory
    return replace(
        segment,
        launcher=redactor.redact(segment.launcher),
        settings=redactor.redact(segment.settings),
        memory=memory if isinstance(memory, Unknown) else _memory(redactor, memory),
    )


def _memory(redactor: Redactor, memory: Memory) -> Memory:
    redacted: Memory = redactor.redact(memory)
    return redacted


def _look(redactor: Redactor, look: TapedLook, segment: Segment) -> TapedLook:
    pairs = zip(look.asked, look.answers, strict=False)
    return replace(
        look,
        segment=segment,
        clock=redactor.redact(look.clock),
        asked=tuple(_asked(redactor, one) for one in look.asked),
        answers=tuple(plain(redactor.redact(_typed(asked, answer))) for asked, answer in pairs),
        before={},
        reports={report.run: plain(redactor.redact(report)) for report in look.reported},
    )


def _typed(asked: Spoken, answer: Any) -> Any:
    return typed(answer, ANSWERS[str(asked[0])])


def _asked(redactor: Redactor, one: Spoken) -> Spoken:
    """The same command with stand-ins; texts are not on a tape."""
    shape = COMMANDS[str(one[0])]
    members = dict(one[1]) if len(one) > 1 else {}
    without = {name: "" for name in ("text",) if name in shape.__dataclass_fields__}
    return spoken(redactor.redact(typed(members | without, shape)))
