"""In the place of `strawboss run`: writes down what the extension says, and says what a test wants.

`scripted_process.py DIRECTORY`: each line it hears goes to `heard.jsonl`, each line that appears in `say.jsonl` is
said, its pid is a line of `pids`. With a file `hang` there it only waits; with `crash` it ends at once with code 3 and
the words in that file on stderr; with `stubborn` it outlives the end of its stdin.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from pathlib import Path


def main(directory: Path) -> None:
    with (directory / "pids").open("a") as pids:
        pids.write(f"{os.getpid()}\n")
    if (directory / "crash").exists():
        sys.stderr.write((directory / "crash").read_text())
        sys.exit(3)
    if (directory / "hang").exists():
        time.sleep(600)
    signal.signal(
        signal.SIGTERM, signal.SIG_IGN
    )  # the end of stdin comes with it, and all of that is to be heard
    talk(directory)


def talk(directory: Path) -> None:
    said = 0
    with (directory / "heard.jsonl").open("ab") as heard:
        while True:
            lines = (directory / "say.jsonl").read_bytes().splitlines(keepends=True)
            for line in lines[said:]:
                os.write(1, line)
            said = len(lines)
            if select.select([0], [], [], 0.02)[0]:
                words = os.read(0, 65536)
                heard.write(words)
                heard.flush()
                if not words and not (directory / "stubborn").exists():
                    return
                if not words:
                    time.sleep(0.02)


main(Path(sys.argv[1]))
