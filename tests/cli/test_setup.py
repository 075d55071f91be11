"""`strawboss install`, `uninstall` and `doctor` as they are typed, with the real pi."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from e2e.pi_install import pi_binary
from standins.herdr import HerdrServer

from strawboss.pi.installation import EXTENSION, EXTENSIONS, HEARTBEAT

pytestmark = pytest.mark.slow


class Home:
    def __init__(self, directory: Path) -> None:
        self.directory, self.agent = directory, directory / ".pi" / "agent"
        self.path = f"{pi_binary().parent}{os.pathsep}{os.environ['PATH']}"

    def strawboss(self, *words: str, path: str | None = None) -> subprocess.CompletedProcess[str]:
        foreign = ("PI_", "HERDR_", "STRAWBOSS_", "XDG_")
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
        environment = inherited | {"HOME": str(self.directory), "PATH": path or self.path, "PI_OFFLINE": "1"}
        command = [sys.executable, "-m", "strawboss", *words]
        return subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=120, check=False
        )

    def packages(self) -> list[Path]:
        settings = json.loads((self.agent / "settings.json").read_text())
        return [Path(os.path.normpath(self.agent / source)) for source in settings["packages"]]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def test_install_registers_the_extension_and_its_python_says_so_and_uninstall_undoes_it(home: Home) -> None:
    done = home.strawboss("install")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        f"registered {EXTENSION} with pi",
        f"registered {HEARTBEAT} with pi",
        f"they start {sys.executable} (written to {home.agent}/strawboss.json)",
        "herdr is not on PATH, so no plugin was linked there",
        "start pi in herdr, or /reload where it runs; /strawboss there shows what is seen",
    ]
    assert home.packages() == list(EXTENSIONS)
    assert json.loads((home.agent / "strawboss.json").read_text()) == {"python": sys.executable}

    assert home.strawboss("install").returncode == 0
    assert home.packages() == list(EXTENSIONS)

    undone = home.strawboss("uninstall")
    assert undone.returncode == 0
    assert home.packages() == []
    assert not (home.agent / "strawboss.json").exists()
    assert home.strawboss("uninstall").stdout == "strawboss was not installed in pi\n"


def test_where_herdr_is_the_plugin_is_linked_the_doctor_knows_it_and_uninstall_takes_it_out(
    home: Home, tmp_path: Path
) -> None:
    herdr = HerdrServer(tmp_path / "h", {"PATH": home.path, "HOME": str(tmp_path)})
    path = f"{herdr.bin}{os.pathsep}{home.path}"
    assert "linked" not in home.strawboss("install", "--no-herdr", path=path).stdout
    assert "note  herdr's strawboss plugin: not linked" in home.strawboss("doctor", path=path).stdout
    [linked] = [line for line in home.strawboss("install", path=path).stdout.splitlines() if "linked" in line]
    assert linked.endswith("herdr-plugin with herdr 0.8.0")
    assert "ok    herdr's strawboss plugin: linked" in home.strawboss("doctor", path=path).stdout
    assert "took the plugin out of herdr" in home.strawboss("uninstall", path=path).stdout
    assert "note  herdr's strawboss plugin: not linked" in home.strawboss("doctor", path=path).stdout


def test_install_takes_the_place_of_another_installation(home: Home) -> None:
    old = home.directory / "old" / "strawboss" / "pi" / "extension"
    shutil.copytree(EXTENSION, old)
    environment = {**os.environ, "HOME": str(home.directory), "PATH": home.path, "PI_OFFLINE": "1"}
    environment.pop("PI_CODING_AGENT_DIR", None)
    subprocess.run([pi_binary(), "install", old], env=environment, check=True, capture_output=True)
    shutil.rmtree(home.directory / "old")
    done = home.strawboss("install")
    assert "(another strawboss)" in done.stdout
    assert home.packages() == list(EXTENSIONS)


def test_where_pi_is_gone_the_plugin_is_still_taken_out_of_herdr(home: Home, tmp_path: Path) -> None:
    herdr = HerdrServer(tmp_path / "h", {"PATH": home.path, "HOME": str(tmp_path)})
    home.strawboss("install", path=f"{herdr.bin}{os.pathsep}{home.path}")
    undone = home.strawboss("uninstall", path=str(herdr.bin))
    assert "took the plugin out of herdr" in undone.stdout
    assert (undone.returncode, undone.stderr.count("\n")) == (2, 1)
    assert undone.stderr.startswith("strawboss uninstall: pi is not on PATH")


@pytest.mark.parametrize("command", ["install", "uninstall"])
def test_without_pi_there_is_one_line_and_exit_2(home: Home, command: str) -> None:
    done = home.strawboss(command, path="/nonexistent")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"strawboss {command}: pi is not on PATH; install it (npm install -g @earendil-works/pi-coding-agent)\n"
    )


def test_the_doctor_says_one_line_each_with_the_fix_and_exits_1_while_something_is_to_be_fixed(
    home: Home,
) -> None:
    home.strawboss("install")
    done = home.strawboss("doctor")
    lines = done.stdout.splitlines()
    assert (done.returncode, done.stderr) == (1, "")
    assert len(lines) == 13
    assert all(line.startswith(("ok    ", "note  ", "fix   ")) for line in lines)
    assert all((" -> " in line) == line.startswith("fix") for line in lines)
    assert f"ok    extension: pi loads {EXTENSION}" in lines
    assert "ok    pi: pi 1.6.0" in lines
    assert any(line.startswith("fix   herdr: ") for line in lines)
