"""What is on the screen while somebody watches: the page or an explanation, what is chosen, how far it is scrolled. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from strawboss.overview.judge import Need, Recovery
from strawboss.overview.layout import Colour, Line, columns, wrapped
from strawboss.overview.page import Block, Running

About = Need | Recovery | Running
KEYS = "arrows choose  Enter explain  f focus  o open  c copy  q quit"
KEYS_OF_EXPLANATION = "arrows scroll  Esc back  q quit"
LOOKING = (Block((Line("strawboss: looking …", Colour.TITLE),)),)


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a terminal, no wider than it. `chosen`: a key is about it."""

    text: str
    colour: Colour = Colour.PLAIN
    chosen: bool = False


@dataclass(frozen=True, slots=True)
class Screen:
    """`chosen`: counted among the blocks that tell of something. `told`: an explanation, shown in place of the page and
    scrolled down by so many rows. `note`: said in place of the keys until the next one is pressed."""

    blocks: Sequence[Block] = LOOKING
    chosen: int = 0
    told: Sequence[Line] | None = None
    scrolled: int = 0
    note: str = ""


def about(screen: Screen) -> About | None:
    """What a key is about."""
    choices = _choices(screen.blocks)
    return choices[screen.chosen] if choices else None


def refreshed(screen: Screen, blocks: Sequence[Block]) -> Screen:
    """With another page, and the same thing chosen where it is still there."""
    before, choices = about(screen), _choices(blocks)
    same = [number for number, one in enumerate(choices) if before and _key(one) == _key(before)]
    return replace(screen, blocks=blocks, chosen=(same or [min(screen.chosen, max(len(choices) - 1, 0))])[0])


def moved(screen: Screen, steps: int, width: int, height: int) -> Screen:
    """By so many choices, or rows of an explanation; not beyond its ends."""
    if screen.told is None:
        last = len(_choices(screen.blocks)) - 1
        return replace(screen, chosen=max(min(screen.chosen + steps, last), 0), note="")
    top = min(screen.scrolled, _deepest(screen.told, width, height))
    scrolled = max(min(top + steps, _deepest(screen.told, width, height)), 0)
    return replace(screen, scrolled=scrolled, note="")


def explaining(screen: Screen, told: Sequence[Line]) -> Screen:
    return replace(screen, told=told, scrolled=0, note="")


def back(screen: Screen) -> Screen:
    """To the page."""
    return replace(screen, told=None, note="")


def frame(screen: Screen, width: int, height: int) -> list[Row]:
    """As many rows as the terminal has at most, the last of them for the keys."""
    body = max(height - 1, 0)
    rows = _page(screen, width, body) if screen.told is None else _explanation(screen, width, body)
    keys = KEYS if screen.told is None else KEYS_OF_EXPLANATION
    footer = next(_rows(Line(screen.note or keys, Colour.QUIET), max(width - 1, 1)))
    return [*rows, *[Row("")] * (body - len(rows)), footer][:height]


# -- rows ------------------------------------------------------------------------------------------------------


def _page(screen: Screen, width: int, height: int) -> list[Row]:
    chosen = about(screen)
    parts = [
        (block.about is not None and block.about is chosen, list(_rows_of(block, width)))
        for block in screen.blocks
    ]
    rows = [replace(row, chosen=is_chosen) for is_chosen, part in parts for row in part]
    top = _top(
        [row.chosen for row in rows], height, is_last=screen.chosen == len(_choices(screen.blocks)) - 1
    )
    return rows[top : top + height]


def _top(chosen: Sequence[bool], height: int, *, is_last: bool) -> int:
    """The first row that is shown, so that what is chosen is; with the last choice also what comes after it."""
    if True not in chosen:
        return 0
    first, end = chosen.index(True), len(chosen) if is_last else len(chosen) - chosen[::-1].index(True)
    return min(max(end - height, 0), first)


def _explanation(screen: Screen, width: int, height: int) -> list[Row]:
    rows = list(_all_rows(screen.told or (), width))
    top = min(screen.scrolled, max(len(rows) - height, 0))
    return rows[top : top + height]


def _deepest(told: Sequence[Line], width: int, height: int) -> int:
    return max(len(list(_all_rows(told, width))) - max(height - 1, 0), 0)


def _rows_of(block: Block, width: int) -> Iterator[Row]:
    return _all_rows(block.lines, width)


def _all_rows(lines: Iterable[Line], width: int) -> Iterator[Row]:
    return (row for line in lines for row in _rows(line, width))


def _rows(line: Line, width: int) -> Iterator[Row]:
    """Words that are wider than the screen go on in the next row."""
    for text in wrapped(line.text, line.indent, width, line.joint):
        yield from (Row(piece, line.colour) for piece in _pieces(text, width))


def _pieces(text: str, width: int) -> Iterator[str]:
    if columns(text) <= width:
        yield text
        return
    piece = ""
    for char in text:
        if columns(piece + char) > width and piece:
            yield piece
            piece = ""
        piece += char
    yield piece


# -- choices ---------------------------------------------------------------------------------------------------


def _choices(blocks: Sequence[Block]) -> list[About]:
    return [block.about for block in blocks if block.about is not None]


def _key(one: About) -> tuple[type, str, str]:
    return type(one), one.launcher.id, one.run
