"""The extension is to stay small and to stand on nothing but pi and node."""

from __future__ import annotations

import json
import re

from strawboss.pi.installation import EXTENSION, EXTENSION_NAME
from strawboss.pi.protocol import PROTOCOL, SILENT_LOOKS
from strawboss.recovery.settings import LOOK_SECONDS

SOURCE = (EXTENSION / "index.ts").read_text()


def test_it_has_fewer_than_350_lines_beside_what_it_shows() -> None:
    assert len(SOURCE.splitlines()) < 350
    assert len((EXTENSION / "view.ts").read_text().splitlines()) < 50
    assert sorted(file.name for file in EXTENSION.glob("*.ts")) == ["index.ts", "view.ts"]


def test_it_needs_no_package_of_its_own() -> None:
    package = json.loads((EXTENSION / "package.json").read_text())
    assert package["name"] == EXTENSION_NAME
    assert not {name for name in package if "ependencies" in name}
    assert set(re.findall(r'from "([^"]+)"', SOURCE)) == {
        "node:child_process",
        "node:fs",
        "node:path",
        "@earendil-works/pi-coding-agent",
        "./view.ts",
    }


def test_it_speaks_the_protocol_of_this_process() -> None:
    assert f"const PROTOCOL = {PROTOCOL};" in SOURCE


def test_it_waits_as_many_looks_as_the_process_expects_it_to() -> None:
    assert f"const SILENT_LOOKS = {SILENT_LOOKS};" in SOURCE
    assert f"const LOOK_MS = {LOOK_SECONDS * 1000:_.0f};" in SOURCE
