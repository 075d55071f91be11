"""The process of one launcher session: hears the extension, holds the lock, looks every so often, acts, ends.

One thread, one loop. It may be killed at any point: what matters is in the session file before anything is done.
"""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType
from typing import NoReturn

import msgspec

from strawboss.config import Config, ConfigError, load_config, state_directory
from strawboss.pi import protocol
from strawboss.pi.link import ExtensionGoneError, Link
from strawboss.pi.pipe import has_ended, reader, write_whole
from strawboss.pi.protocol import Message, Row, Started
from strawboss.recovery.memory import Look
from strawboss.resident.launcher import reason_to_stay_off
from strawboss.resident.log import Log
from strawboss.resident.session import ReplacedError, Session
from strawboss.resident.status import overview_rows, run_lines, status_line, status_rows
from strawboss.system import directories
from strawboss.system.directories import file_name
from strawboss.system.files import make_private_directory
from strawboss.system.lock import Lock

FOREVER = 3600.0  # seconds of one wait; the loop around it goes on
END_POLL_SECONDS = 0.2  # between two checks of a look that waits whether the extension is still there
HANDOVER_SECONDS = 2.0  # after a reload the process before this one needs a moment to end
HANDOVER_PAUSE = 0.1  # seconds between two tries at the lock meanwhile
LONGEST_LOOK_SECONDS = 20.0  # with slow neighbours; however short the interval, such a look is no hang
# A child that was just launched has not said anything yet: until one has, the looks come sooner.
SOON_SECONDS = 1.0  # between two looks then
SOON_LOOKS = 10  # that come so soon, at most
SOON_MISSES = 3  # looks that could not note a child; after them it is left to those that come in their time
Handler = signal.Handlers | Callable[[int, FrameType | None], None]
FIRST_LOOK = "strawboss: the first look has not been made yet"
STANDBY = "another pi works on this very session; strawboss stands by here until it ends"


def run(environment: Mapping[str, str], stdin: int, stdout: int) -> int:
    """Work for the extension at the other end of `stdin` and `stdout` until it goes. The exit code: 0, or 1 for a bug."""
    process = Process(environment, stdin, stdout)
    try:
        with interruptible(stdin):
            process.work()
    except ExtensionGoneError:
        process.leave()
    except Exception as error:
        process.log.failed("stopped")
        sys.stderr.write(f"strawboss stopped: {type(error).__name__}; see {process.log.file}\n")
        return 1
    return 0


class Process:
    def __init__(self, environment: Mapping[str, str], stdin: int, stdout: int) -> None:
        self._environment = environment
        self._link = Link(reader(stdin), lambda line: write_whole(stdout, line), self._hear, self._junk)
        self._next: Started | None = None
        self._session: Session | None = None
        self._end_watch = EndWatch()
        self._look: Look | None = None
        self._looked_at = 0.0
        self._note = FIRST_LOOK
        self._shown: str | None = ""  # unknown: the process before this one may have left something there
        self.log = Log(directories.state_directory() / "logs", "strawboss")

    def work(self) -> NoReturn:
        """Serve one session start after the other; only ExtensionGoneError ends it."""
        while True:
            self._link.wait(FOREVER, self._is_replaced)
            started, self._next = self._next, None
            if started is not None:
                self._serve(started)

    def leave(self) -> None:
        """After the last word. The lock is the system's: it goes with the process."""
        if self._look is not None:
            self.log.info("ended")

    # -- what the extension says -------------------------------------------------------------------------------

    def _hear(self, message: Message) -> None:
        """Also in the middle of a look. `session.settled` needs no answer: the looks see the session for themselves."""
        if message.method == "session.started":
            self._next = _started(message)
            self._session, self._look, self._note = None, None, FIRST_LOOK
        elif message.method == "session.ended":
            raise ExtensionGoneError
        elif message.method == "session.entry" and self._session is not None:
            self._session.taken.add(_entry_id(message))
        elif message.method == "status" and message.id is not None:
            self._link.send(protocol.answer(message.id, self._answer(_asked_run(message))))
        elif message.method == "view" and message.id is not None:
            self._link.send(protocol.answer(message.id, self._rows()))

    def _junk(self, why: str) -> None:
        self.log.warning("line ignored", why=why)

    def _is_replaced(self) -> bool:
        return self._next is not None

    def _answer(self, run: str) -> list[str]:
        if not run or self._look is None or self._session is None:
            return [row.text for row in self._rows()]
        return run_lines(self._look, run, self._session.explain)

    def _rows(self) -> list[Row]:
        if self._look is None or self._session is None:
            return [Row(self._note)]
        ago, now = time.monotonic() - self._looked_at, time.time()
        told = overview_rows(self._session.seen(self._look.runs, now - ago), now)
        return status_rows(self._look, ago, told)

    # -- one session start -------------------------------------------------------------------------------------

    def _serve(self, started: Started) -> None:
        """Until there is another one."""
        why = reason_to_stay_off(started)
        if why:
            return self._stay_off(why, warn=started.protocol != protocol.PROTOCOL)
        try:
            config = load_config(directories.config_file(), self._environment)
        except ConfigError as error:
            return self._stay_off(str(error), warn=True)
        state = state_directory(config, self._environment)
        self.log.close()
        self.log = Log(state / "logs", file_name(started.id))
        try:
            make_private_directory(state / "locks")
            with self._locked(state / "locks" / f"{file_name(started.id)}.lock", config.interval):
                self._watch(started, config)
        except OSError as error:
            self._stay_off(f"{state} cannot be used ({error.strerror}); run `strawboss doctor`", warn=True)

    def _stay_off(self, why: str, *, warn: bool) -> None:
        self._note = f"strawboss is off: {why}"
        self.log.warning("off", why=why)
        self._looks_every(0)
        if warn:
            self._warn(self._note)
        self._show(self._note)
        self._link.wait(FOREVER, self._is_replaced)

    @contextmanager
    def _locked(self, file: Path, interval: float) -> Iterator[None]:
        """With this session's lock, or with a newer session start."""
        lock = Lock(file)
        patience = time.monotonic() + HANDOVER_SECONDS
        standing_by = False
        while not (lock.take() or self._is_replaced()):
            if not standing_by and time.monotonic() > patience:
                standing_by, self._note = True, f"strawboss: {STANDBY}"
                self._looks_every(0)
                self._warn(self._note)
                self._show(self._note)
            self._link.wait(interval if standing_by else HANDOVER_PAUSE, self._is_replaced)
        try:
            yield
        finally:
            lock.release()

    def _watch(self, started: Started, config: Config) -> None:
        """A look at once, then one every interval on the monotonic clock."""
        self._looks_every(max(config.interval, LONGEST_LOOK_SECONDS / protocol.SILENT_LOOKS))
        soon = SOON_LOOKS
        with ExitStack() as begun:
            while not self._is_replaced():
                began = time.monotonic()
                self._session = self._session or self._try_to_begin(started, config, begun)
                if self._session is not None:
                    self._try_to_look(self._session)
                soon = max(soon - 1, 0) if self._look and _is_launching(self._look) else 0
                pause = min(SOON_SECONDS, config.interval) if soon else config.interval
                self._link.wait(max(began + pause - time.monotonic(), 0), self._is_replaced)

    def _looks_every(self, seconds: float) -> None:
        """What the extension is to expect, and to replace this process for when it does not come; 0: no looks."""
        self._link.send(protocol.notification("process.looks", {"every": seconds}))

    def _try_to_begin(self, started: Started, config: Config, begun: ExitStack) -> Session | None:
        """Nothing can be compared with a session file that cannot be looked for; it is tried again."""
        try:
            session = Session(
                started,
                config,
                self._environment,
                sys.platform,
                self._link,
                self.log,
                self._is_replaced,
                self._end_watch.start,
            )
        except OSError as error:
            self._note = (
                f"strawboss: its session file cannot be looked for ({error.strerror}); it tries again"
            )
            self.log.warning("not begun", why=error.strerror)
            return None
        begun.callback(session.close)
        return session

    def _try_to_look(self, session: Session) -> None:
        """A look that breaks counts as not made, and the user can see that; the next one comes."""
        try:
            look = session.look()
        except ReplacedError:
            return
        except Exception:
            self.log.failed("look failed")
            self._look, self._note = None, f"strawboss: the last look failed; see {self.log.file}"
            self._show(self._note)
            return
        finally:
            self._end_watch.stop()
        if not self._is_replaced():
            self._look, self._looked_at = look, time.monotonic()
            self._show(status_line(look))

    def _show(self, line: str | None) -> None:
        if line != self._shown:
            self._link.ask("ui.status", {"text": line}, bool)
            self._shown = line

    def _warn(self, text: str) -> None:
        self._link.ask("ui.notify", {"level": "warning", "text": text}, bool)


def _is_launching(look: Look) -> bool:
    """Whether a child has said nothing yet, or is tracked and its pane comes in a moment, so that it can be noted."""
    notings = (look.memory.runs[run.run].noting for run in look.runs if run.state == "tracked")
    return not look.runs or any(not noting.noted and noting.misses < SOON_MISSES for noting in notings)


def _started(message: Message) -> Started:
    """One that cannot be understood is at least of some protocol, which is what the user is told."""
    try:
        return msgspec.json.decode(message.params, type=Started)
    except msgspec.DecodeError:
        pass
    try:
        return Started(msgspec.json.decode(message.params, type=protocol.ProtocolOnly).protocol, id="")
    except msgspec.DecodeError:
        return Started(protocol=0, id="")


def _asked_run(message: Message) -> str:
    """The run that `/strawboss RUN` asks about, or nothing."""
    try:
        return msgspec.json.decode(message.params, type=protocol.Asked).run.strip()
    except msgspec.DecodeError:
        return ""


def _entry_id(message: Message) -> str:
    try:
        return msgspec.json.decode(message.params, type=protocol.Entry).id
    except msgspec.DecodeError:
        return ""


@contextmanager
def interruptible(stdin: int) -> Iterator[None]:
    """Within, signals to end are the extension's end, and a timer notices it in the middle of any wait. SIGINT is pi's."""

    def ended(_signal: int, _frame: FrameType | None) -> None:
        raise ExtensionGoneError

    def beat(_signal: int, _frame: FrameType | None) -> None:
        if has_ended(stdin):
            raise ExtensionGoneError

    handlers: Mapping[str, Handler] = {
        "SIGINT": signal.SIG_IGN,
        "SIGTERM": ended,
        "SIGHUP": ended,
        "SIGALRM": beat,
    }
    before = {
        number: signal.signal(number, handlers[number.name])
        for number in signal.Signals
        if number.name in handlers
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class EndWatch:
    """A look may wait seconds for herdr or the broker; the process must still end within one. Windows: see `pi/pipe.py`."""

    def __init__(self) -> None:
        self._watching = False

    def start(self) -> None:
        if not self._watching and hasattr(signal, "setitimer"):
            self._watching = True
            signal.setitimer(signal.ITIMER_REAL, END_POLL_SECONDS, END_POLL_SECONDS)

    def stop(self) -> None:
        if self._watching:
            self._watching = False
            signal.setitimer(signal.ITIMER_REAL, 0)
