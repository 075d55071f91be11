"""herdr and the intercom broker of this session, or what stands in their place when they cannot be found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from strawboss.config import Config
from strawboss.herdr.address import Address as HerdrAddress
from strawboss.herdr.address import find_address as find_herdr
from strawboss.herdr.client import Herdr
from strawboss.intercom.address import Address as IntercomAddress
from strawboss.intercom.address import EndpointFile, UnixSocket
from strawboss.intercom.address import find_address as find_intercom
from strawboss.intercom.client import Intercom
from strawboss.recovery.commands import Outcome, Result
from strawboss.recovery.evidence import Launcher, Pane, Peer, Process
from strawboss.recovery.verdict import Unknown
from strawboss.resident.effects import Panes, Peers
from strawboss.resident.launcher import resolver


@dataclass(frozen=True, slots=True)
class Absent:
    """A neighbour whose address is unknown: every question is Unknown, every act fails before it is tried."""

    why: Unknown

    def panes(self) -> tuple[Pane, ...] | Unknown:
        return self.why

    def process_info(self, _pane_id: str) -> tuple[Process, ...] | Unknown:
        return self.why

    def close(self, _pane_id: str) -> Result:
        return Result(Outcome.FAILED, self.why.why)

    def roster(self) -> tuple[Peer, ...] | Unknown:
        return self.why

    def send(self, _session_id: str, _epoch: str | None, _text: str) -> Result:
        return Result(Outcome.FAILED, self.why.why)


def herdr_of(launcher: Launcher, config: Config, environment: Mapping[str, str]) -> Panes:
    address = herdr_address(config, environment, launcher.platform)
    return Absent(address) if isinstance(address, Unknown) else Herdr(address, resolve=resolver(launcher.cwd))


def intercom_of(launcher: Launcher, config: Config, environment: Mapping[str, str]) -> Peers:
    address = intercom_address(config, environment, launcher.platform, launcher.cwd)
    if isinstance(address, Unknown):
        return Absent(address)
    scope = environment.get("PI_INTERCOM_SCOPE_ID", "").strip()
    return Intercom(address, launcher.cwd, scope=scope)


def herdr_address(config: Config, environment: Mapping[str, str], platform: str) -> HerdrAddress | Unknown:
    configured = {"HERDR_SOCKET_PATH": config.paths.herdr_socket} if config.paths.herdr_socket else {}
    return find_herdr({**environment, **configured}, platform)


def intercom_address(
    config: Config, environment: Mapping[str, str], platform: str, cwd: str
) -> IntercomAddress | Unknown:
    directory = config.paths.intercom_directory
    if not directory:
        return find_intercom(environment, platform, cwd)
    if platform == "win32":
        return EndpointFile(str(Path(directory, "broker.port.json")))
    return UnixSocket(str(Path(directory, "broker.sock")))
