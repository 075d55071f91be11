"""The real `strawboss run`, with everything it asks of the extension written down: `tapped_process.py FILE [arguments]`.

One JSON object a line: `{at, pane, method, params}`, where `pane` is the one its pi runs in. A look begins with
`registry.read`, so looks can be counted.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

from strawboss.resident import process


def main(file: Path) -> int:
    say = process.write_whole

    def written_down(descriptor: int, line: bytes) -> None:
        message = json.loads(line)
        if "method" in message:
            told = {"at": time.time(), "pane": os.environ.get("HERDR_PANE_ID"), **message}
            with file.open("a") as tap:
                tap.write(json.dumps(told) + "\n")
        say(descriptor, line)

    process.write_whole = written_down
    return process.run(os.environ, 0, os.dup(1))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
