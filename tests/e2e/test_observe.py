"""`mode: observe` in the real process: nothing is done, and whoever is asked says what would have been, once."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from e2e.command import strawboss
from e2e.stranded import DONE, RESTORED, World
from runs.written import RUN


@pytest.fixture
def directory() -> Iterator[Path]:
    """Short, for sockets lie in it."""
    with tempfile.TemporaryDirectory(prefix="sb-", dir="/tmp") as made:
        yield Path(made)


@pytest.mark.parametrize(
    ("kind", "act"),
    [
        (DONE, "be asked for its report"),
        (RESTORED, "have its restored pane closed and be handed to its launcher"),
    ],
)
def test_nothing_is_done_and_notice_command_status_and_explain_say_what_would_have_been(
    directory: Path, kind: str, act: str
) -> None:
    (directory / "config.yaml").write_text("mode: observe\n")
    state = directory / "state"
    with World(directory, kind) as world, world.pi() as pi:
        pi.starts().looks(6)
        assert world.is_untouched()
        assert pi.notices() == [f'Straw Boss only observes: "Beta" (run {RUN}) would now {act}.']
        why = f"mode: observe; it would {act}"
        assert pi.status("")[1].endswith(f"strawboss may act: no ({why})")
        assert pi.status(RUN)[:2] == [
            f'{RUN} "Beta": nothing is done for it: {why}.',
            f"  strawboss may act: no ({why})",
        ]
        code, out = strawboss(state, "explain", RUN, COLUMNS="200")
        assert (code, f"\n  strawboss may act: no ({why})\n" in out) == (0, True), out
        assert f'{RUN} "Beta": nothing is done for it: {why}.\n' in out
        run = json.loads(strawboss(state, "explain", RUN, "--json")[1])["run"]
        assert (run["condition"], run["answer"], run["why"]) == ("strawboss may act", "no", why)
        assert f"found once; {why}" in strawboss(state, "status", COLUMNS="200")[1]
        assert strawboss(state, "history") == (
            0,
            "nothing was done in that time for the runs of 1 launcher\n",
        )
