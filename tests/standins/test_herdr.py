"""The stand-in herdr, where no recording and no real herdr can speak for it (tests/contract/test_herdr.py does)."""

from __future__ import annotations

import json
import os
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from standins.herdr import HerdrError, HerdrServer
from standins.herdr.layout import encode
from standins.herdr.listener import Listener, answering, silent
from standins.herdr.server import REQUEST_LIMIT

from strawboss.herdr.address import Address
from strawboss.herdr.client import Herdr
from strawboss.herdr.wire import Timeouts
from strawboss.recovery.commands import Outcome
from strawboss.recovery.verdict import Unknown


@pytest.fixture
def root() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="sb-", dir="/tmp") as directory:
        yield Path(directory)


@pytest.fixture
def herdr(root: Path) -> Iterator[HerdrServer]:
    env = {"HOME": str(root), "PATH": os.environ["PATH"], "HERDR_STANDIN_SAVE_SECONDS": "0.1"}
    with HerdrServer(root, env) as server:
        yield server


def client(herdr: HerdrServer) -> Herdr:
    return Herdr(Address(str(herdr.socket)), timeouts=Timeouts(total=0.3))


@pytest.mark.parametrize(
    ("number", "digits"),
    [(1, "1"), (9, "9"), (10, "A"), (31, "Z"), (32, "0"), (33, "11"), (64, "10"), (65, "21")],
)
def test_ids_count_in_bijective_base_32(number, digits):
    assert encode(number) == digits


def test_the_log_has_every_request_with_who_asked(herdr):
    pane = herdr.workspace(herdr.root)
    client(herdr).close(pane)
    herdr.command("pane", "list")
    (close,) = herdr.requests("pane.close", pane_id=pane)
    assert close["id"].startswith("strawboss:")
    assert [one["id"] for one in herdr.requests("pane.list")] == ["cli:pane:list"]
    assert herdr.requests("pane.close", pane_id="w9:p9") == []


def test_the_log_outlives_a_restart_and_a_refusal(herdr):
    with pytest.raises(HerdrError):
        herdr.request("pane.close", pane_id="w9:p9")
    herdr.restart()
    assert len(herdr.requests("pane.close")) == 1


def test_a_paused_server_takes_the_request_and_says_nothing(herdr):
    pane = herdr.workspace(herdr.root)
    herdr.pause()
    assert client(herdr).panes() == Unknown("the connection to herdr was lost: it did not answer in time")
    assert client(herdr).close(pane).outcome is Outcome.UNKNOWN
    herdr.proceed()
    herdr.wait_for(lambda: pane not in herdr.panes(), what="the close that nobody waited for")


def test_a_change_is_saved_once_it_has_come_to_rest(herdr):
    pane = herdr.workspace(herdr.root)
    saved = herdr.root / "config" / "herdr" / "session.json"
    herdr.wait_for(saved.exists)
    herdr.kill()
    herdr.start()
    assert list(herdr.panes()) == [pane]


def test_splits_survive_a_restart_in_their_order(herdr):
    pane = herdr.workspace(herdr.root)
    others = [
        herdr.request("pane.split", target_pane_id=pane, direction="right")["pane"]["pane_id"]
        for _ in range(2)
    ]
    herdr.restart()
    assert list(herdr.panes()) == [pane, *others]
    (saved,) = json.loads((herdr.root / "config/herdr/session.json").read_text())["workspaces"]
    assert saved["next_public_pane_number"] == 4


def test_nothing_that_was_started_in_a_pane_outlives_the_server(root):
    env = {"HOME": str(root), "PATH": os.environ["PATH"]}
    with HerdrServer(root, env) as herdr:
        pane = herdr.workspace(root)
        herdr.run(pane, "setsid sleep 1000 & trap '' HUP; sleep 1001")
        herdr.wait_for(lambda: len(herdr.leftovers()) == 3)
    assert herdr.leftovers() == []


def test_a_pane_whose_shell_exits_is_gone(herdr):
    pane = herdr.workspace(herdr.root)
    herdr.run(pane, "setsid -f sleep 1000; exit")
    herdr.wait_for(lambda: pane not in herdr.panes())


def test_what_a_program_writes_is_on_the_screen_without_its_colours(herdr):
    pane = herdr.workspace(herdr.root)
    herdr.run(pane, "printf '\\033[1;31mred%s\\033[0m\\n' dish")
    herdr.wait_for(lambda: "reddish" in herdr.screen(pane).splitlines())


def test_a_wait_that_is_in_vain_shows_what_the_panes_show(herdr):
    pane = herdr.workspace(herdr.root)
    herdr.run(pane, "echo the $((1+1))nd line")
    herdr.wait_for(lambda: "the 2nd line" in herdr.screen(pane))
    with pytest.raises(AssertionError, match=r"waited 0 s for a miracle\n(.|\n)*the 2nd line"):
        herdr.wait_for(lambda: False, timeout=0, what="a miracle")


def test_a_request_that_is_too_long_or_no_text_is_dropped_without_a_word(herdr):
    for line in (b"x" * (REQUEST_LIMIT + 2), b"\xff\n"):
        assert spoken_to(herdr, line) == b""


def spoken_to(herdr: HerdrServer, line: bytes) -> bytes:
    with socket.socket(socket.AF_UNIX) as peer:
        peer.settimeout(10)
        peer.connect(str(herdr.socket))
        try:
            peer.sendall(line)
            return peer.recv(100)
        except ConnectionError:
            return b""


def test_a_listener_misbehaves_as_told(root):
    garbage, hanging = Listener(root / "a", answering(b"gar", b"bage\n")), Listener(root / "b", silent)
    told = [
        Herdr(Address(str(one.path)), timeouts=Timeouts(total=0.1)).panes().why for one in (garbage, hanging)
    ]
    assert "malformed" in told[0]
    assert "did not answer in time" in told[1]
    garbage.stop()
    hanging.stop()
