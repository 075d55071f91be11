"""herdr is asked once for all, and never waited for longer than a second in all."""

from __future__ import annotations

import os
import time
from pathlib import Path

from standins.herdr.listener import Listener, silent
from standins.short_directory import short_directory

from strawboss.herdr.address import Address
from strawboss.recovery.verdict import Unknown
from strawboss.survey.terminals import TOO_SLOW, SharedTerminals


def test_without_herdr_nothing_is_known() -> None:
    assert SharedTerminals(Unknown("x"), os.path.realpath).panes() == Unknown("x")


def test_a_herdr_that_is_not_there_is_unknown_at_once(tmp_path: Path) -> None:
    terminals = SharedTerminals(Address(str(tmp_path / "none")), os.path.realpath)
    assert isinstance(terminals.panes(), Unknown)
    assert isinstance(terminals.process_info("w1:p1"), Unknown)


def test_a_herdr_that_hangs_is_given_up_on_within_a_second() -> None:
    with short_directory() as directory:
        listener = Listener(directory / "h.sock", silent)
        terminals = SharedTerminals(Address(str(listener.path)), os.path.realpath)
        began = time.monotonic()
        answers = [terminals.panes(), *(terminals.process_info(f"w1:p{number}") for number in range(50))]
        assert time.monotonic() - began < 1.5  # a second, and what a busy machine adds
        listener.stop()
    assert all(isinstance(answer, Unknown) for answer in answers)
    assert answers[-1] == TOO_SLOW


def test_the_list_is_asked_for_once() -> None:
    with short_directory() as directory:
        asked: list[bytes] = []
        listener = Listener(directory / "h.sock", lambda connection: asked.append(connection.recv(4096)))
        terminals = SharedTerminals(Address(str(listener.path)), os.path.realpath)
        assert terminals.panes() == terminals.panes()
        listener.stop()
    assert len(asked) == 1
