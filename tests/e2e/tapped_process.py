"""The real `strawboss run`, with everything it asks of the extension written down: `tapped_process.py FILE [arguments]`.

One JSON object a line: `{at, pid, method, params}`. A look begins with `registry.read`, so looks can be counted.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

from strawboss import process


def main(file: Path) -> int:
    say = process.write_whole

    def written_down(descriptor: int, line: bytes) -> None:
        message = json.loads(line)
        told = {name: message[name] for name in ("method", "params") if name in message}
        with file.open("a") as tap:
            tap.write(json.dumps({"at": time.time(), "pid": os.getpid(), **told}) + "\n")
        say(descriptor, line)

    process.write_whole = written_down
    return process.run(os.environ, 0, os.dup(1))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
