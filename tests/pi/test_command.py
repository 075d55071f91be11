"""The `pi` command, as found on PATH: a stand-in that says what a test wants; the real one is in `tests/cli`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from strawboss.pi.command import Pi, PiError, agent_directory, extension_packages, version_numbers
from strawboss.recovery.verdict import Unknown


def pi_that(directory: Path, script: str) -> Pi:
    command = directory / "pi"
    command.write_text(f"#!/bin/sh\n{script}\n")
    command.chmod(0o755)
    path = f"{directory}{os.pathsep}{os.environ['PATH']}"
    return Pi({"PATH": path, "PI_CODING_AGENT_DIR": str(directory / "agent")})


LIST = """cat <<'END'
User packages:
  npm:pi-intercom
    {home}/npm/pi-intercom
  ../gone
  ../x
    {home}/x

Project packages:
  ./local
    {home}/local
END"""


def test_without_pi_s_own_directory_there_are_none_and_pi_is_not_asked_since_it_would_make_it(
    tmp_path: Path,
) -> None:
    assert pi_that(tmp_path, 'touch "$PI_CODING_AGENT_DIR"').packages() == ()
    assert not (tmp_path / "agent").exists()


def test_packages_are_read_as_pi_lists_them(tmp_path: Path) -> None:
    (tmp_path / "agent").mkdir()
    for name in ("npm/pi-intercom", "local"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "package.json").write_text('{"name": "pi-intercom", "version": "0.11.0"}')
    packages = pi_that(tmp_path, LIST.format(home=tmp_path)).packages()
    assert [(one.source, one.name, one.version) for one in packages] == [
        ("npm:pi-intercom", "pi-intercom", "0.11.0"),
        ("../gone", "", ""),
        ("../x", "", ""),
    ]
    assert packages[0].path == tmp_path / "npm" / "pi-intercom"


def test_no_packages_are_none(tmp_path: Path) -> None:
    assert pi_that(tmp_path, 'echo "No packages installed."').packages() == ()


def test_without_pi_on_path_there_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(PiError, match="pi is not on PATH; install it"):
        Pi({"PATH": str(tmp_path)})


def test_a_pi_that_fails_is_quoted_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(PiError, match=r"`pi install /x` failed: Error: no  such path") as raised:
        pi_that(tmp_path, "printf 'Error: no\n such path\n' >&2; exit 1").install(Path("/x"))
    assert "\n" not in str(raised.value)


def test_a_pi_that_fails_without_a_word_is_quoted_by_its_code(tmp_path: Path) -> None:
    with pytest.raises(PiError, match="exit code 3"):
        pi_that(tmp_path, "exit 3").version()


def test_extensions_from_pis_settings_and_folder_are_packages_too(tmp_path: Path) -> None:
    listed, found = tmp_path / "listed", tmp_path / "agent" / "extensions" / "found"
    for package in (listed, found):
        (package / "src").mkdir(parents=True)
        (package / "package.json").write_text(f'{{"name": "{package.name}"}}')
    (tmp_path / "agent" / "settings.json").write_text(
        '{"extensions": ["../listed/src/index.ts", "!x", 3, "/gone"]}'
    )
    packages = extension_packages({"PI_CODING_AGENT_DIR": str(tmp_path / "agent")})
    assert sorted(package.name for package in packages if package.name) == ["found", "listed"]


@pytest.mark.parametrize("settings", ["", "[]", "nonsense", '{"extensions": 3}'])
def test_settings_that_make_no_sense_list_nothing(tmp_path: Path, settings: str) -> None:
    (tmp_path / "settings.json").write_text(settings)
    assert extension_packages({"PI_CODING_AGENT_DIR": str(tmp_path)}) == ()


def test_pis_own_directory_is_configured_or_in_the_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/user")
    assert agent_directory({}) == Path("/home/user/.pi/agent")
    assert agent_directory({"PI_CODING_AGENT_DIR": " "}) == Path("/home/user/.pi/agent")
    assert agent_directory({"PI_CODING_AGENT_DIR": "~/x"}) == Path("/home/user/x")


@pytest.mark.parametrize(
    ("text", "numbers"), [("1.6.0\n", (1, 6, 0)), ("v1.10", (1, 10)), ("2.0.0-beta.1", (2, 0, 0))]
)
def test_versions_are_numbers(text: str, numbers: tuple[int, ...]) -> None:
    assert version_numbers(text) == numbers


@pytest.mark.parametrize("text", ["", "next", "1.x"])
def test_what_is_no_version_is_unknown(text: str) -> None:
    assert isinstance(version_numbers(text), Unknown)
