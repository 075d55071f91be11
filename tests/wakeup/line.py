"""Carries bytes between two sockets, `line.py LISTEN CONNECT`, until it is killed. Stopped, it is a network that is cut."""

from __future__ import annotations

import socket
import sys
import threading
from contextlib import suppress


def carry(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while chunk := source.recv(1 << 16):
            target.sendall(chunk)
    for end in (source, target):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


def main(here: str, there: str) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(here)
        listener.listen(64)
        sys.stdout.write("open\n")
        sys.stdout.flush()
        while True:
            near, _ = listener.accept()
            far = socket.socket(socket.AF_UNIX)
            try:
                far.connect(there)
            except OSError:
                near.close()
                continue
            for pair in ((near, far), (far, near)):
                threading.Thread(target=carry, args=pair, daemon=True).start()


if __name__ == "__main__":
    main(*sys.argv[1:])
