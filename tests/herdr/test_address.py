import pytest

from strawboss.herdr.address import Address, find_address
from strawboss.recovery.verdict import Unknown


@pytest.mark.parametrize(
    ("environment", "platform", "path"),
    [
        ({"HERDR_SOCKET_PATH": "/run/h.sock", "HERDR_SESSION": "work", "HOME": "/h"}, "linux", "/run/h.sock"),
        ({"HERDR_SOCKET_PATH": "relative.sock"}, "linux", "relative.sock"),
        ({"HOME": "/home/ann"}, "linux", "/home/ann/.config/herdr/herdr.sock"),
        ({"HOME": "/Users/ann"}, "darwin", "/Users/ann/.config/herdr/herdr.sock"),
        ({"HOME": "/home/ann", "XDG_CONFIG_HOME": "/c"}, "linux", "/c/herdr/herdr.sock"),
        ({"HOME": "/Users/ann", "XDG_CONFIG_HOME": "/c"}, "darwin", "/c/herdr/herdr.sock"),
        ({"HOME": "/h", "XDG_RUNTIME_DIR": "/run/user/1"}, "linux", "/h/.config/herdr/herdr.sock"),
        ({"HOME": "/h", "HERDR_SESSION": "work"}, "linux", "/h/.config/herdr/sessions/work/herdr.sock"),
        ({"HOME": "/h", "HERDR_SESSION": "default"}, "linux", "/h/.config/herdr/herdr.sock"),
        ({"HOME": "/h", "HERDR_SESSION": "..."}, "linux", "/h/.config/herdr/sessions/.../herdr.sock"),
        ({"TMPDIR": "/var/tmp"}, "darwin", "/var/tmp/herdr/herdr.sock"),
        ({}, "linux", "/tmp/herdr/herdr.sock"),
    ],
)
def test_the_socket_lies_where_the_environment_puts_it(environment, platform, path):
    assert find_address(environment, platform) == Address(path)


@pytest.mark.parametrize(
    ("environment", "path"),
    [
        ({"HERDR_SOCKET_PATH": "D:\\x\\h.sock"}, "D:\\x\\h.sock"),
        ({"APPDATA": "C:\\U\\ann\\Roaming"}, "C:\\U\\ann\\Roaming\\herdr\\herdr.sock"),
        ({"USERPROFILE": "C:\\U\\ann"}, "C:\\U\\ann\\AppData\\Roaming\\herdr\\herdr.sock"),
        ({"APPDATA": "C:\\A", "XDG_CONFIG_HOME": "C:\\X"}, "C:\\X\\herdr\\herdr.sock"),
        ({"APPDATA": "C:\\A", "HERDR_SESSION": "w"}, "C:\\A\\herdr\\sessions\\w\\herdr.sock"),
        ({"HOME": "/h", "TEMP": "C:\\T"}, "C:\\T\\herdr\\herdr.sock"),
        ({}, "C:\\Windows\\Temp\\herdr\\herdr.sock"),
    ],
)
def test_on_windows_the_pipe_is_named_after_the_full_path(environment, path):
    assert find_address(environment, "win32") == Address(path, "\\\\.\\pipe\\" + path)


@pytest.mark.parametrize("name", [".", "..", "a/b", "../x", "a b", "x" * 65, "é", "a\n"])
def test_a_session_name_herdr_would_refuse_is_unknown(name):
    assert find_address({"HOME": "/h", "HERDR_SESSION": name}, "linux") == Unknown(
        "HERDR_SESSION is no session name: herdr takes 1 to 64 of letters, digits, '.', '_' and '-'"
    )


@pytest.mark.parametrize("name", ["HERDR_SOCKET_PATH", "HERDR_SESSION", "XDG_CONFIG_HOME"])
def test_a_variable_that_is_set_to_nothing_counts_as_not_set(name):
    assert find_address({"HOME": "/h", name: ""}, "linux") == Address("/h/.config/herdr/herdr.sock")


def test_an_address_reads_as_what_is_opened():
    assert str(Address("/s")) == "/s"
    assert str(Address("C:\\s", "\\\\.\\pipe\\C:\\s")) == "\\\\.\\pipe\\C:\\s"
