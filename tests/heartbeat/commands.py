"""Runs a strawboss command in this process and keeps what it said."""

from __future__ import annotations

import io
import json
import sys
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from strawboss.cli.main import main


@dataclass(frozen=True, slots=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def run(*arguments: object) -> Ran:
    """Exit code, stdout and stderr of `strawboss …`; an exception that is no exit fails the test."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    with patch.object(sys, "stdout", out), patch.object(sys, "stderr", err):
        code = _exit_code([str(argument) for argument in arguments])
    return Ran(code, *(stream.buffer.getvalue().decode() for stream in (out, err)))


def _exit_code(arguments: list[str]) -> int:
    try:
        main(arguments)
    except SystemExit as end:
        return int(end.code or 0)
    raise AssertionError("main always exits")
