import pytest

from strawboss.intercom.address import EndpointFile, NamedPipe, UnixSocket, find_address
from strawboss.recovery.verdict import Unknown


@pytest.mark.parametrize("platform", ["linux", "darwin"])
@pytest.mark.parametrize(
    ("environment", "path"),
    [
        ({"HOME": "/home/ann"}, "/home/ann/.pi/agent/intercom/broker.sock"),
        ({"HOME": "/home/ann/"}, "/home/ann/.pi/agent/intercom/broker.sock"),
        ({"HOME": "/home/ann", "PI_CODING_AGENT_DIR": " /opt/pi "}, "/opt/pi/intercom/broker.sock"),
        ({"PI_CODING_AGENT_DIR": "own/../agent"}, "/srv/work/agent/intercom/broker.sock"),
        ({"HOME": "/h", "PI_CODING_AGENT_DIR": "  "}, "/h/.pi/agent/intercom/broker.sock"),
        # The choice of TCP is Windows' alone.
        ({"HOME": "/h", "PI_INTERCOM_TRANSPORT": "tcp"}, "/h/.pi/agent/intercom/broker.sock"),
    ],
)
def test_off_windows_the_broker_is_a_socket_in_pis_directory(platform, environment, path):
    assert find_address(environment, platform, "/srv/work") == UnixSocket(path)


@pytest.mark.parametrize(
    ("environment", "name"),
    [
        ({"USERPROFILE": r"C:\Users\Ann B"}, "c-users-ann-b-pi-agent"),
        ({"PI_CODING_AGENT_DIR": r"D:\pi__Agent\ "}, "d-pi-agent"),
        ({"PI_CODING_AGENT_DIR": "/pi"}, "pi"),
        ({"PI_CODING_AGENT_DIR": r"..\agent"}, "c-agent"),
        ({"PI_CODING_AGENT_DIR": "\\\\"}, "default"),
        ({"USERPROFILE": r"C:\U", "PI_INTERCOM_TRANSPORT": "pipe", "PI_INTERCOM_TCP": "0"}, "c-u-pi-agent"),
    ],
)
def test_on_windows_the_broker_is_a_pipe_named_after_pis_directory(environment, name):
    assert find_address(environment, "win32", r"C:\work") == NamedPipe(rf"\\.\pipe\pi-intercom-{name}")


@pytest.mark.parametrize(
    "choice",
    [
        {"PI_INTERCOM_TRANSPORT": " TCP "},
        {"PI_INTERCOM_TCP": "1"},
        {"PI_INTERCOM_TCP": "True"},
        {"PI_INTERCOM_TRANSPORT": "pipe", "PI_INTERCOM_TCP": "1"},
    ],
)
def test_on_windows_by_choice_the_broker_is_at_the_port_its_file_names(choice):
    address = find_address({"USERPROFILE": r"C:\U", **choice}, "win32", r"C:\work")
    assert address == EndpointFile(r"C:\U\.pi\agent\intercom\broker.port.json")


def test_without_a_home_the_address_is_unknown():
    assert find_address({}, "linux", "/") == Unknown("HOME is not set")
    assert find_address({}, "win32", "C:\\") == Unknown("USERPROFILE is not set")
