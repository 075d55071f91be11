"""`strawboss status --watch`: the status on the whole terminal, looked at again and again, with keys. It acts on nothing."""

from __future__ import annotations

import base64
import curses
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from queue import Empty, SimpleQueue
from threading import Thread

import click

from strawboss.cli.explain import last_lines
from strawboss.config import Config, state_directory
from strawboss.herdr.client import Herdr
from strawboss.herdr.wire import Timeouts
from strawboss.overview.judge import Need, View
from strawboss.overview.layout import Colour, Line
from strawboss.overview.page import page
from strawboss.overview.screen import About, Row, Screen, about, back, explaining, frame, moved, refreshed
from strawboss.overview.seen import Seen
from strawboss.recovery.commands import Outcome, Result
from strawboss.recovery.verdict import Unknown
from strawboss.resident.connections import herdr_address
from strawboss.survey.acts import focus, reopen
from strawboss.tape.shelf import TAPES
from strawboss.tape.words import sentence

LONGEST_PAUSE = (
    5.0  # seconds between two surveys; a shorter interval of the launchers' own looks is taken instead
)
NEWS_SECONDS = 0.05  # how often a survey under way is asked for
ESCAPE_MILLISECONDS = 25  # in which the rest of a key that begins with Escape has come
FRONT = Timeouts(connect=0.5, total=2.0)
OPENING_SECONDS = 30.0  # in which a session that was opened is not opened again
PLUGIN_PANE = "HERDR_PLUGIN_ENTRYPOINT_ID"  # herdr's, in a pane of a plugin: it lies over what is shown

# Foreground colour and attribute, by what a line means.
STYLES: Mapping[Colour, tuple[int, int]] = {
    Colour.TITLE: (-1, curses.A_BOLD),
    Colour.NEEDS: (curses.COLOR_RED, curses.A_BOLD),
    Colour.DONE: (curses.COLOR_GREEN, 0),
    Colour.UNDER_WAY: (curses.COLOR_YELLOW, 0),
    Colour.QUIET: (-1, curses.A_DIM),
    Colour.COMMAND: (curses.COLOR_CYAN, 0),
}
STEPS: Mapping[int, Callable[[int], int]] = {  # rows of the screen → how far a key moves
    curses.KEY_UP: lambda _: -1,
    curses.KEY_DOWN: lambda _: 1,
    curses.KEY_PPAGE: lambda rows: -rows,
    curses.KEY_NPAGE: lambda rows: rows,
}
ENTER = frozenset({curses.KEY_ENTER, ord("\n"), ord("\r")})
ESCAPE = 27
NOTHING_CHOSEN = "there is nothing to choose"
NO_COMMAND = "there is no command with it"


def watch(config: Config, survey: Callable[[], list[View]]) -> list[View]:
    """Until `q`; what was shown last. `survey`: looks at every launcher, and may take a second."""
    try:
        watching = curses.wrapper(lambda window: Watching(window, config, survey).until_the_end())
    except curses.error as error:
        raise click.ClickException(
            f"this terminal cannot be drawn on ({error}); leave --watch out"
        ) from error
    return watching.views


class Surveyor:
    """Surveys beside the keys. A survey that fails fails the watch."""

    def __init__(self, survey: Callable[[], list[View]]) -> None:
        self._survey, self._found = survey, SimpleQueue[list[View] | Exception]()
        self.is_busy = False

    def begin(self) -> None:
        self.is_busy = True
        Thread(target=self._look, daemon=True).start()

    def news(self) -> list[View] | None:
        try:
            found = self._found.get_nowait()
        except Empty:
            return None
        self.is_busy = False
        if isinstance(found, Exception):
            raise found
        return found

    def _look(self) -> None:
        try:
            self._found.put(self._survey())
        except Exception as error:
            self._found.put(error)


class Watching:
    def __init__(self, window: curses.window, config: Config, survey: Callable[[], list[View]]) -> None:
        self._window, self._config = window, config
        self._surveyor = Surveyor(survey)
        self._pause = min(config.interval, LONGEST_PAUSE)
        self._next = 0.0
        self._screen = Screen()
        self._styles = styles(in_colour=not os.environ.get("NO_COLOR"))
        self._opened: dict[str, float] = {}
        self.views: list[View] = []

    def until_the_end(self) -> Watching:
        curses.set_escdelay(ESCAPE_MILLISECONDS)
        hide_cursor()
        while True:
            self._survey()
            self._draw()
            key = self._window.getch()
            if key == ord("q") or (key >= 0 and self._press(key)):
                return self

    def _survey(self) -> None:
        """Take what a survey has found, and begin the next in time; a key is waited for as long as nothing comes."""
        views = self._surveyor.news()
        if views is not None:
            self.views, self._next = views, time.monotonic() + self._pause
            self._screen = refreshed(self._screen, page(views, time.time()))
        left = self._next - time.monotonic()
        if not self._surveyor.is_busy and left <= 0:
            self._surveyor.begin()
        self._window.timeout(int(1000 * (NEWS_SECONDS if self._surveyor.is_busy else left)) + 1)

    # -- keys --------------------------------------------------------------------------------------------------

    def _press(self, key: int) -> bool:
        """Whether it is over."""
        height, width = self._window.getmaxyx()
        if key in STEPS:
            self._screen = moved(self._screen, STEPS[key](height - 1), width, height)
        elif key == ESCAPE:
            self._screen = back(self._screen)
        elif self._screen.told is None:
            return self._ask(key)
        return False

    def _ask(self, key: int) -> bool:
        one = about(self._screen)
        act = {ord("f"): self._focus, ord("o"): self._open, ord("c"): self._copy}.get(key)
        if one is None:
            self._say(NOTHING_CHOSEN if act or key in ENTER else "")
        elif key in ENTER:
            self._screen = explaining(self._screen, self._explanation(one))
        elif act is not None:
            return act(one)
        return False

    def _say(self, note: str) -> None:
        self._screen = replace(self._screen, note=note)

    def _explanation(self, one: About) -> Sequence[Line]:
        block = next(block for block in self._screen.blocks if block.about is one)
        shelf = state_directory(self._config, os.environ) / TAPES
        told = last_lines(shelf, one.run, one.launcher.id) if one.run else []
        outside = [run for run in self._seen(one).runs if run.run == one.run]
        return [*block.lines, Line(""), *(told or [Line(sentence(run)) for run in outside])]

    def _copy(self, one: About) -> bool:
        """Through the terminal (OSC 52): it may be another machine's clipboard that is meant."""
        if not isinstance(one, Need):
            self._say(NO_COMMAND)
            return False
        content = base64.b64encode(one.command.encode()).decode()
        sys.stdout.write(f"\x1b]52;c;{content}\x07")
        sys.stdout.flush()
        self._say("copied, where this terminal lets a program do so")
        return False

    def _focus(self, one: About) -> bool:
        return self._shown(self._with_herdr(lambda herdr: focus(one.launcher, herdr)), "its pane is in front")

    def _open(self, one: About) -> bool:
        session, now = one.launcher.id, time.monotonic()
        if now - self._opened.get(session, -OPENING_SECONDS) < OPENING_SECONDS:
            self._say("it is being opened")
            return False
        done = self._with_herdr(lambda herdr: reopen(self._seen(one), herdr, os.environ))
        if done.outcome is not Outcome.FAILED:
            self._opened[session] = now
        return self._shown(done, "it is opened in a new tab")

    def _with_herdr(self, act: Callable[[Herdr], Result]) -> Result:
        address = herdr_address(self._config, os.environ, sys.platform)
        if isinstance(address, Unknown):
            return Result(Outcome.FAILED, address.why)
        return act(Herdr(address, timeouts=FRONT))

    def _shown(self, done: Result, what: str) -> bool:
        """A pane of the plugin ends, so that what it lies over is seen."""
        if done.outcome is Outcome.DONE and PLUGIN_PANE in os.environ:
            return True
        self._say(what if done.outcome is Outcome.DONE else done.why)
        return False

    def _seen(self, one: About) -> Seen:
        return next(view.seen for view in self.views if view.seen.launcher.id == one.launcher.id)

    # -- drawing -----------------------------------------------------------------------------------------------

    def _draw(self) -> None:
        """curses sends what differs from what is there."""
        height, width = self._window.getmaxyx()
        self._window.erase()
        for number, row in enumerate(frame(self._screen, width, height)):
            self._put(number, row)
        self._window.refresh()

    def _put(self, number: int, row: Row) -> None:
        style = self._styles[row.colour] | (curses.A_REVERSE if row.chosen else 0)
        encoding = self._window.encoding
        self._window.addstr(number, 0, row.text.encode(encoding, "replace").decode(encoding), style)


def styles(*, in_colour: bool) -> Mapping[Colour, int]:
    if not curses.has_colors():
        return dict.fromkeys(Colour, 0)
    curses.use_default_colors()  # also without colour: curses would set its own
    if not in_colour:
        return dict.fromkeys(Colour, 0)
    made = {Colour.PLAIN: 0}
    for number, (colour, (foreground, attribute)) in enumerate(STYLES.items(), 1):
        curses.init_pair(number, foreground, -1)
        made[colour] = curses.color_pair(number) | attribute
    return made


def hide_cursor() -> None:
    try:
        curses.curs_set(0)
    except curses.error:
        return  # this terminal cannot
