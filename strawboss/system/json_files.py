"""JSON files other programs write: read whole or refused with a reason, written whole or not at all."""

from __future__ import annotations

import json
import os
import stat
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import msgspec

from strawboss.system.files import make_private_directory, write_atomically

# The largest honest record is a few kB. A bigger file is a mistake or an attack and is not worth its memory.
LARGEST_FILE = 1 << 20
_OPEN_FLAGS = (
    os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
)


@dataclass(frozen=True, slots=True)
class Broken:
    """Why a file cannot be used. Broken is not missing: it never counts as a No."""

    reason: str


def read_object(path: str | Path) -> dict[str, Any] | Broken | None:
    """The JSON object in a file; None when there is no such file. Never raises for what a file may hold or be."""
    try:
        return decode_object(_read(path))
    except FileNotFoundError:
        return None
    except OSError as error:
        return Broken(f"unreadable: {error.strerror or error}")
    except ValueError as error:
        return Broken(str(error))


def decode_object(raw: bytes) -> dict[str, Any] | Broken:
    """The object in `raw`. Duplicate keys keep the last; NaN, a byte order mark and deep nesting are refused."""
    try:
        value = msgspec.json.decode(raw)
    except RecursionError:
        return Broken("malformed JSON: nested too deeply")
    except msgspec.DecodeError:
        value = _decode_leniently(raw)
    return value if isinstance(value, (dict, Broken)) else Broken("not a JSON object at the root")


def encode(value: object) -> bytes:
    """Indented JSON with a final newline, as the other tools write it."""
    try:
        raw = msgspec.json.encode(value)
    except UnicodeEncodeError:
        # File names and arguments may hold bytes that are no UTF-8.
        raw = json.dumps(msgspec.to_builtins(value), ensure_ascii=False).encode("utf-8", "replace")
    return msgspec.json.format(raw, indent=2) + b"\n"


def write_json(path: Path, value: object) -> None:
    """Replace a file by `value` as JSON, making its directory; raises OSError and leaves the old content then."""
    make_private_directory(path.parent)
    write_atomically(path, encode(value))


def create_json(path: Path, value: object) -> bool:
    """Write a file that does not exist yet; False when it does. Its first content is whole and is never replaced."""
    make_private_directory(path.parent)
    staged = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}.tmp")
    try:
        write_atomically(staged, encode(value))
        os.link(staged, path)
    except FileExistsError:
        return False
    finally:
        with suppress(OSError):
            staged.unlink()
    return True


def _read(path: str | Path) -> bytes:
    # Opened without waiting: a named pipe in the directory must not hang the sweep.
    descriptor = os.open(path, _OPEN_FLAGS)
    try:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode):
            raise ValueError("unreadable: not a regular file")
        if facts.st_size > LARGEST_FILE:
            raise ValueError(f"unreadable: larger than {LARGEST_FILE >> 20} MiB")
        return os.read(descriptor, facts.st_size + 1)
    finally:
        os.close(descriptor)


def _decode_leniently(raw: bytes) -> Any:
    # JavaScript writers cut text in the middle of a surrogate pair or a UTF-8 sequence. That is one bad letter in a
    # message, not a broken record: it becomes a replacement, as in the other tools.
    try:
        value = json.loads(raw.decode("utf-8", "replace"), parse_constant=_refuse_constant)
        return msgspec.json.decode(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        return Broken(
            "malformed JSON: " + (str(error) if isinstance(error, ValueError) else "nested too deeply")
        )


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
