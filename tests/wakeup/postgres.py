"""Statements on the test server that no store would make itself; a server of one's own; a line to it that can be cut."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

LINE = Path(__file__).with_name("line.py")
SOCKET = ".s.PGSQL.5432"


def statement(address: str, sql: str) -> None:
    """Run one statement as the server's owner, outside any transaction."""
    with psycopg.connect(address.replace("+psycopg", ""), autocommit=True) as connection:
        connection.execute(sql.encode())


class Server:
    """A PostgreSQL that may be stopped in the middle of things; `address` as STRAWBOSS_STORE takes it."""

    def __init__(self, programs: Path, owner: str, directory: Path) -> None:
        self._programs, self._owner, self.directory = programs, owner, directory
        self.address = address(directory)

    def start(self) -> None:
        options = f"-k {self.directory} -c listen_addresses='' -c fsync=off -c max_connections=200"
        self._run("pg_ctl", "-D", "data", "-l", "log", "-w", "-t", "60", "-o", options, "start")

    def stop(self, mode: str) -> None:
        """`mode`: "fast" tells everybody, "immediate" is a crash."""
        self._run("pg_ctl", "-D", "data", "-m", mode, "-w", "stop")

    def create(self) -> None:
        self._run("initdb", "-D", "data", "-U", "strawboss", "-A", "trust", "-E", "UTF8", "--no-sync")

    def _run(self, program: str, *arguments: str) -> None:
        user = {"user": self._owner, "group": pwd.getpwnam(self._owner).pw_gid, "extra_groups": []}
        subprocess.run(
            [self._programs / program, *arguments],
            cwd=self.directory,
            env={**os.environ, "HOME": str(self.directory), "LC_ALL": "C"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=True,
            timeout=120,
            **(user if os.geteuid() == 0 else {}),  # type: ignore[arg-type]
        )


def address(directory: Path) -> str:
    return f"postgresql+psycopg://strawboss@/postgres?host={directory}"


@contextmanager
def own_server(like: str) -> Iterator[Server]:
    """One made of the same programs, by the same user, as the server at this address."""
    with psycopg.connect(like.replace("+psycopg", "")) as connection:
        asked = (
            "SELECT (SELECT setting FROM pg_config WHERE name = 'BINDIR'), current_setting('data_directory')"
        )
        programs, data = connection.execute(asked).fetchone() or ("", "")
    directory = Path(tempfile.mkdtemp(prefix="strawboss-pg.", dir="/tmp"))  # short: it will hold a socket
    owner = pwd.getpwuid(Path(data).stat().st_uid).pw_name
    shutil.chown(directory, owner)
    directory.chmod(0o755)
    server = Server(Path(programs), owner, directory)
    try:
        server.create()
        server.start()
        yield server
    finally:
        server.stop("immediate")
        shutil.rmtree(directory)


class Line:
    """A way to a server that can be cut: then nothing comes through, and nobody is told."""

    def __init__(self, directory: Path, server: Server) -> None:
        self.address = address(directory)
        self._directory, self._server = directory, server

    def __enter__(self) -> Line:
        command = [
            sys.executable,
            str(LINE),
            str(self._directory / SOCKET),
            str(self._server.directory / SOCKET),
        ]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert self._process.stdout is not None
        self._process.stdout.readline()
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def cut(self) -> None:
        self._process.send_signal(signal.SIGSTOP)

    def mend(self) -> None:
        self._process.send_signal(signal.SIGCONT)
