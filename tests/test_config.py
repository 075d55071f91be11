"""The config: what may be written, what a mistake is told, what overrides it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strawboss.config import EXPECTED, SIZE_LIMIT, Config, ConfigError, Paths, load_config, state_directory
from strawboss.recovery.settings import TURN_STARTING_TYPES, Settings

WHOLE = """
interval: 30
role: tower
nudge: off
restored: on
turn_starting_types: [my_wake, other]
paths:
  herdr_socket: /run/herdr.sock
  intercom_directory: /run/intercom
  state: /var/lib/strawboss
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config.yaml"


def complaint(file: Path, text: str | bytes, **environment: str) -> str:
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ConfigError) as raised:
        load_config(file, environment)
    assert "\n" not in str(raised.value)
    return str(raised.value)


def test_without_a_file_the_defaults_hold(file: Path) -> None:
    assert load_config(file, {}) == Config()
    assert Config().settings == Settings()


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n", "paths:\n  # state: /x\n"])
def test_an_empty_file_says_nothing(file: Path, text: str) -> None:
    file.write_text(text)
    assert load_config(file, {}) == Config()


def test_every_key_can_be_set(file: Path) -> None:
    file.write_text(WHOLE)
    paths = Paths("/run/herdr.sock", "/run/intercom", "/var/lib/strawboss")
    assert load_config(file, {}) == Config(
        30.0, "tower", nudge=False, turn_starting_types=frozenset({"my_wake", "other"}), paths=paths
    )


def test_turn_starting_types_come_beside_the_known_ones(file: Path) -> None:
    file.write_text("turn_starting_types: [my_wake]")
    assert load_config(file, {}).settings.turn_starting_types == TURN_STARTING_TYPES | {"my_wake"}


@pytest.mark.parametrize(
    ("variables", "config"),
    [
        ({"STRAWBOSS_INTERVAL": "0.5"}, Config(interval=0.5, role="tower")),
        ({"STRAWBOSS_ROLE": "launcher"}, Config(interval=30)),
        ({"STRAWBOSS_MODE": "observe"}, Config(interval=30, role="tower", mode="observe")),
        ({"STRAWBOSS_NUDGE": "off"}, Config(interval=30, role="tower", nudge=False)),
        ({"STRAWBOSS_NUDGE": "0"}, Config(interval=30, role="tower", nudge=False)),
        ({"STRAWBOSS_RESTORED": "false"}, Config(interval=30, role="tower", restored=False)),
        ({"STRAWBOSS_RESTORED": ""}, Config(interval=30, role="tower")),
    ],
)
def test_the_environment_overrides_the_file(file: Path, variables: dict[str, str], config: Config) -> None:
    file.write_text("interval: 30\nrole: tower\n")
    assert load_config(file, variables) == config


def test_a_home_in_a_path_is_meant(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/user")
    file.write_text("paths:\n  state: ~/straw\n")
    assert load_config(file, {}).paths.state == "/home/user/straw"


def test_the_state_directory_is_of_the_environment_the_config_or_the_platform(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("STRAWBOSS_STATE_DIR", "/by/environment")
    configured = Config(paths=Paths(state="/by/config"))
    assert state_directory(configured, {}) == Path("/by/config")
    assert state_directory(configured, {"STRAWBOSS_STATE_DIR": "/by/environment"}) == Path("/by/environment")
    assert state_directory(Config(), {}) == Path("/by/environment")


def test_an_override_replaces_even_a_value_that_is_wrong(file: Path) -> None:
    file.write_text("interval: never\n")
    assert load_config(file, {"STRAWBOSS_INTERVAL": "3"}).interval == 3


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("interval: 0\n", ":1: interval: expected seconds between two looks"),
        (
            "\n\ninterval: soon\n",
            ":3: interval: expected seconds between two looks, a number from 0.1 to 3600",
        ),
        ("role: boss\n", ":1: role: expected launcher or tower, not 'boss'"),
        ("role: off\n", ":1: role: expected launcher or tower, not 'off'"),
        ("nudge: maybe\n", ":1: nudge: expected on or off, not 'maybe'"),
        ("restored: [on]\n", ":1: restored: expected on or off"),
        (
            "turn_starting_types: my_wake\n",
            ":1: turn_starting_types: expected a list of custom message types",
        ),
        ("turn_starting_types: [3]\n", ":1: turn_starting_types: expected a list"),
        ("paths: /tmp\n", ":1: paths: expected a mapping with herdr_socket"),
        (
            "paths:\n  state: [1]\n",
            ":2: paths.state: expected the absolute path of a directory for logs, locks and tapes",
        ),
        ("paths:\n  state: logs\n", ":2: paths.state: expected the absolute path"),
        ("paths:\n  herdr_socket:\n", ":2: paths.herdr_socket: expected the absolute path"),
        ("mode: watch\n", ":1: mode: expected act or observe, not 'watch'"),
        ("tape_mib: -1\n", ":1: tape_mib: expected how many MiB a session's tape may take"),
        ("tapes_mib: 0\n", ":1: tapes_mib: expected how many MiB all tapes together may take"),
        ("tape_days: never\n", ":1: tape_days: expected after how many days a tape is deleted"),
        ("interval: .nan\n", ":1: interval: expected seconds"),
        ("interval: null\n", ":1: interval: expected seconds"),
    ],
)
def test_a_wrong_value_is_told_with_file_line_and_what_to_write(file: Path, text: str, said: str) -> None:
    told = complaint(file, text)
    assert told.startswith(str(file))
    assert said in told


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("role: tower\nintervall: 3\n", ":2: unknown key 'intervall'; did you mean interval?"),
        (
            "paths:\n  herdr_sock: /x\n",
            ":2: unknown key 'paths.herdr_sock'; did you mean paths.herdr_socket?",
        ),
        ("zzz: 1\n", ":1: unknown key 'zzz'; there are interval, role, mode, nudge"),
        ("herdr_socket: /x\n", ":1: unknown key 'herdr_socket'"),
        ("nudge: on\nnudge: off\n", ":2: nudge is set twice"),
        ("3: x\n", ":1: unknown key '3'"),
        ("[a]: x\n", ":1: unknown key"),
    ],
)
def test_an_unknown_or_repeated_key_is_told_with_its_line(file: Path, text: str, said: str) -> None:
    assert said in complaint(file, text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("interval: [\n", "not valid YAML"),
        ("\tinterval: 1\n", ":1: not valid YAML"),
        (b"\xff\xfe\x00", "not valid YAML"),
        ("- interval\n", ":1: expected lines like `interval: 15`"),
        ("just words\n", ":1: expected lines like"),
        ("a: 1\n---\nb: 2\n", "not valid YAML"),
        ("x" * (SIZE_LIMIT + 1), "larger than"),
        ("[" * 5000, "not valid YAML"),
        ("interval: !!python/object/apply:os.system [echo]\n", ":1: interval: expected seconds"),
    ],
)
def test_what_is_no_config_at_all_is_told_in_one_line(file: Path, text: str | bytes, said: str) -> None:
    assert said in complaint(file, text)


def test_a_file_that_cannot_be_read_is_told(file: Path) -> None:
    file.mkdir()
    with pytest.raises(ConfigError, match="cannot be read"):
        load_config(file, {})


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("STRAWBOSS_INTERVAL", "soon"),
        ("STRAWBOSS_INTERVAL", "-1"),
        ("STRAWBOSS_ROLE", "boss"),
        ("STRAWBOSS_NUDGE", "maybe"),
        ("STRAWBOSS_RESTORED", "[["),
    ],
)
def test_a_wrong_override_is_told_by_its_own_name(file: Path, variable: str, value: str) -> None:
    assert complaint(file, "", **{variable: value}).startswith(f"{variable}: expected")


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_no_file_makes_it_raise_anything_but_its_one_line(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    file = tmp_path_factory.getbasetemp() / f"config-{os.getpid()}.yaml"
    file.write_bytes(content)
    try:
        load_config(file, {})
    except ConfigError as error:
        assert len(str(error).splitlines()) == 1  # noqa: PT017 - most contents are wrong, a few are not


def test_every_field_has_its_what_to_write() -> None:
    fields = [*Config.__struct_fields__, *(f"paths.{name}" for name in Paths.__struct_fields__)]
    assert sorted(EXPECTED) == sorted(fields)
