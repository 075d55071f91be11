"""Where herdr and the broker of a session are found, and what stands there when they are not."""

from __future__ import annotations

import pytest

from strawboss.config import Config, Paths
from strawboss.herdr.address import Address
from strawboss.herdr.client import Herdr
from strawboss.intercom.address import EndpointFile, UnixSocket
from strawboss.intercom.client import Intercom
from strawboss.recovery.commands import Outcome
from strawboss.recovery.evidence import Launcher
from strawboss.recovery.verdict import Unknown
from strawboss.resident.connections import Absent, herdr_address, herdr_of, intercom_address, intercom_of

LAUNCHER = Launcher("abc", "", "/s/x.jsonl", "/w")
OVERRIDES = Config(paths=Paths(herdr_socket="/mine/h.sock", intercom_directory="/mine/intercom"))


def test_herdr_is_where_the_environment_says() -> None:
    assert herdr_address(Config(), {"HERDR_SOCKET_PATH": "/h.sock"}, "linux") == Address("/h.sock")
    assert isinstance(herdr_of(LAUNCHER, Config(), {"HERDR_SOCKET_PATH": "/h.sock"}), Herdr)


def test_the_config_overrides_it() -> None:
    address = herdr_address(OVERRIDES, {"HERDR_SOCKET_PATH": "/h.sock"}, "win32")
    assert address == Address("/mine/h.sock", "\\\\.\\pipe\\/mine/h.sock")


@pytest.mark.parametrize(
    ("platform", "address"),
    [
        ("linux", UnixSocket("/mine/intercom/broker.sock")),
        ("win32", EndpointFile("/mine/intercom/broker.port.json")),
    ],
)
def test_the_brokers_directory_can_be_configured(platform: str, address: object) -> None:
    assert intercom_address(OVERRIDES, {}, platform, "/w") == address


def test_the_broker_is_below_pis_own_directory() -> None:
    environment = {"PI_CODING_AGENT_DIR": "/agent"}
    assert intercom_address(Config(), environment, "linux", "/w") == UnixSocket("/agent/intercom/broker.sock")
    assert isinstance(intercom_of(LAUNCHER, Config(), environment), Intercom)


def test_where_neither_can_be_found_every_question_is_unknown_and_every_act_fails() -> None:
    herdr = herdr_of(LAUNCHER, Config(), {"HERDR_SESSION": "a/b", "HOME": "/home/user"})
    intercom = intercom_of(LAUNCHER, Config(), {})
    assert isinstance(herdr, Absent)
    assert isinstance(intercom, Absent)
    for answer in (herdr.panes(), herdr.process_info("w1:p1"), intercom.roster()):
        assert isinstance(answer, Unknown)
    assert herdr.close("w1:p1").outcome is Outcome.FAILED
    assert intercom.send("x", None, "text").outcome is Outcome.FAILED
