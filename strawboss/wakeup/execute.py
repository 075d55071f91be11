"""Runs an agent's command to its end: output captured, watched all the while, ended with everything it started."""

from __future__ import annotations

import os
import re
import select
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from strawboss.system.directories import state_directory
from strawboss.system.files import FILE_MODE, make_private_directory, write_atomically
from strawboss.system.process_identity import ProcessIdentity, identify
from strawboss.wakeup import confine
from strawboss.wakeup.processes import CYCLE_VARIABLE, end_tree
from strawboss.wakeup.tokens import LONGEST_LINE, Listener

# The command is looked at that often at least, whether it says something or not.
LOOK_SECONDS = 0.1
# What a command may leave on disk; it runs on, the rest is read and dropped.
LARGEST_OUTPUT = 64 << 20
CHUNK = 1 << 20
REAP_SECONDS = 5.0
PLACEHOLDER = re.compile(r"\{(prompt|prompt_file|system_prompt|task|workspace)\}")
WINDOW = (40, 120)

# Called at every look; a text stops the command and says why.
Watch = Callable[[Listener], str | None]
Started = Callable[[ProcessIdentity], None]


class Ended(Enum):
    EXITED = "exited"
    TIME_LIMIT = "time limit"
    STOPPED = "stopped"
    NOT_STARTED = "not started"


@dataclass(frozen=True, slots=True)
class Order:
    """What to run. `texts` fills the placeholders of `argv`; without a prompt placeholder the prompt is stdin.

    `output` and, beside it, the prompt are written as private files; `seconds` is the time limit. With `read_only` the
    command cannot write to `directory`, where the system can see to that (`confine`).
    """

    argv: tuple[str, ...]
    texts: Mapping[str, str]
    directory: Path
    environment: Mapping[str, str]
    output: Path
    seconds: float
    cycle: str
    pty: bool = False
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class Execution:
    """How it went. `why` is empty for a command that exited with 0 and whose model had no error."""

    ended: Ended
    why: str
    answer: str
    tokens: int

    @property
    def succeeded(self) -> bool:
        return self.ended is Ended.EXITED and not self.why


def execute(order: Order, started: Started, watch: Watch) -> Execution:
    """Run the command to its end. Never raises for what the command is or does."""
    listener = Listener()
    try:
        prompt = _write_prompt(order)
        with _running(order, prompt) as (process, source):
            identity = identify(process.pid) or ProcessIdentity(process.pid, time.time())
            try:
                started(identity)
                ended, why = _attend(order, process, source, listener, watch)
            finally:
                end_tree([identity], order.cycle)
                code = _reap(process)
    except OSError as error:
        return Execution(Ended.NOT_STARTED, f"{order.argv[0]} cannot be run: {error.strerror}", "", 0)
    except subprocess.SubprocessError:  # what it had to do before its program
        why = f"{order.argv[0]} is not run: it cannot be given a terminal, or be kept from writing to its workspace"
        return Execution(Ended.NOT_STARTED, why, "", 0)
    if ended is Ended.EXITED:
        why = _complaint(code, listener, order.output)
    return Execution(ended, why, listener.answer, listener.tokens)


def _write_prompt(order: Order) -> Path:
    make_private_directory(order.output.parent)
    prompt = order.output.with_suffix(".prompt")
    write_atomically(prompt, order.texts["prompt"].encode())
    return prompt


def filled(order: Order, prompt: Path) -> list[str]:
    """The arguments with their placeholders replaced, once: a placeholder inside a text stays text."""
    texts = {**order.texts, "prompt_file": str(prompt), "workspace": str(order.directory)}
    return [PLACEHOLDER.sub(lambda match: texts[match[1]], part) for part in order.argv]


@contextmanager
def _running(order: Order, prompt: Path) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """The process, in a session of its own, and the descriptor its output comes from."""
    source, terminal = _terminal() if order.pty else _pipe()
    try:
        process = _start(order, prompt, terminal)
    except BaseException:
        os.close(source)
        raise
    finally:
        os.close(terminal)
    try:
        yield process, source
    finally:
        os.close(source)


def _start(order: Order, prompt: Path, terminal: int) -> subprocess.Popen[bytes]:
    environment = {**order.environment, CYCLE_VARIABLE: order.cycle}
    with prompt.open("rb") as words, _appended(order.output) as output, _prepared(order) as prepare:
        return subprocess.Popen(
            filled(order, prompt),
            cwd=order.directory,
            env=environment,
            stdin=terminal if order.pty else words,
            stdout=terminal,
            stderr=terminal if order.pty else output,
            start_new_session=True,
            preexec_fn=prepare,
        )


@contextmanager
def _prepared(order: Order) -> Iterator[Callable[[], None] | None]:
    """What the process has to do before its program."""
    duties: list[Callable[[], None]] = [_take_terminal] if order.pty else []
    ruleset = None
    if order.read_only and confine.enforceable():
        ruleset, restrict = confine.read_only(order.directory, state_directory())
        duties.append(restrict)
    try:
        yield (lambda: _do(duties)) if duties else None
    finally:
        if ruleset is not None:
            os.close(ruleset)


def _do(duties: list[Callable[[], None]]) -> None:
    for duty in duties:
        duty()


def _pipe() -> tuple[int, int]:
    """A pipe with as much room as this system gives: a command that says much is not woken for every 64 kB."""
    import fcntl

    source, target = os.pipe()
    if hasattr(fcntl, "F_SETPIPE_SZ"):
        with suppress(OSError):
            fcntl.fcntl(source, fcntl.F_SETPIPE_SZ, CHUNK)
    return source, target


def _terminal() -> tuple[int, int]:
    import fcntl
    import pty
    import struct
    import termios

    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", *WINDOW, 0, 0))
    return master, slave


def _take_terminal() -> None:
    # A session leader without a terminal gets the first one it opens.
    os.close(os.open(os.ttyname(0), os.O_RDWR))


@contextmanager
def _appended(path: Path) -> Iterator[int]:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, FILE_MODE)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _attend(
    order: Order, process: subprocess.Popen[bytes], source: int, listener: Listener, watch: Watch
) -> tuple[Ended, str]:
    limit = time.monotonic() + order.seconds
    with _appended(order.output) as output:
        reader = _Reader(source, output, listener)
        while process.poll() is None:
            reader.read(LOOK_SECONDS)
            # What it says on stderr goes to the file without passing here.
            listener.heard = reader.heard + os.fstat(output).st_size
            if why := watch(listener):
                return Ended.STOPPED, why
            if time.monotonic() > limit:
                return Ended.TIME_LIMIT, f"it took longer than its time limit of {order.seconds:.0f}s"
        while reader.read(0):
            pass
        reader.finish()
        watch(listener)  # counts what came last; there is nothing left to stop
    return Ended.EXITED, ""


class _Reader:
    """Moves output to its file and, in whole lines, to the listener."""

    def __init__(self, source: int, output: int, listener: Listener) -> None:
        self._sources, self._output, self._listener = [source], output, listener
        self._parts: list[bytes] = []  # of a line that has not ended yet
        self._part_size = 0
        self._overlong = False
        self._room = LARGEST_OUTPUT
        self.heard = 0

    def read(self, seconds: float) -> bool:
        """Take what comes within `seconds`. False: nothing did; a command may close its output and work on."""
        readable, _, _ = select.select(self._sources, [], [], seconds)
        chunk = self._chunk(readable[0]) if readable else b""
        self.heard += len(chunk)
        self._keep(chunk)
        self._listen(chunk)
        return bool(chunk)

    def _listen(self, chunk: bytes) -> None:
        if self._overlong:
            _, ends, chunk = chunk.partition(b"\n")
            self._overlong = not ends
        end = chunk.rfind(b"\n")
        if end >= 0:
            self._listener.hear_lines(b"".join([*self._parts, chunk[:end]]))
            self._parts, self._part_size, chunk = [], 0, chunk[end + 1 :]
        self._part_size += len(chunk)
        self._parts.append(chunk)
        if self._part_size > LONGEST_LINE:
            self._parts, self._part_size, self._overlong = [], 0, True

    def finish(self) -> None:
        self._listener.hear_lines(b"".join(self._parts))

    def _chunk(self, source: int) -> bytes:
        try:
            chunk = os.read(source, CHUNK)
        except OSError:  # how a terminal says that nobody is on the other side
            chunk = b""
        if not chunk:
            self._sources.clear()
        return chunk

    def _keep(self, chunk: bytes) -> None:
        kept = chunk[: self._room]
        self._room -= len(kept)
        with suppress(OSError):  # a full disk must not end the command; its answer goes to the store
            os.write(self._output, kept)


def _reap(process: subprocess.Popen[bytes]) -> int:
    try:
        return process.wait(REAP_SECONDS)
    except subprocess.TimeoutExpired:  # stuck in the kernel; nothing more can be done to it
        return -9


def _complaint(code: int, listener: Listener, output: Path) -> str:
    if code == 0:
        return f"the model failed: {listener.failure}" if listener.failure else ""
    last = _last_line(output)
    how = f"ended by signal {-code}" if code < 0 else f"exited with {code}"
    return f"{how}: {last}" if last else how


def _last_line(output: Path) -> str:
    with suppress(OSError), output.open("rb") as file:
        file.seek(max(0, output.stat().st_size - 4096))
        lines = file.read().decode("utf-8", "replace").split("\n")
        return next((line.strip()[:300] for line in reversed(lines) if line.strip()), "")
    return ""
