import pytest

from strawboss.heartbeat.runtime import Facts, UidRange, facts_of_this_process, parse_uid_map, probe

REMAP = (UidRange(0, 1000, 1),)


def mode(**environment):
    found = probe(Facts(environment, 1000))
    return found.mode, found.reason


CI = ("cloud-headless", "ci-marker")
SANDBOX = ("cursor-native-sandbox", "cursor-sandbox-marker")
LOCAL = ("local-unsandboxed", "no-runtime-marker")


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, LOCAL),
        ({"DEFT_AGENT_RUNTIME": "cloud"}, CI),
        ({"DEFT_AGENT_RUNTIME": "Headless"}, CI),
        ({"DEFT_AGENT_RUNTIME": "1"}, LOCAL),
        ({"GITHUB_ACTIONS": "true"}, CI),
        ({"BUILDKITE": "1"}, CI),
        ({"CI": "YES"}, CI),
        ({"CI": "0"}, LOCAL),
        ({"CI": "true", "CURSOR_COMPOSER": "1"}, LOCAL),
        ({"CURSOR_SANDBOX": "on"}, SANDBOX),
        ({"CURSOR_SANDBOX": "off"}, LOCAL),
        ({"CURSOR_SANDBOX_LANDLOCK_STATUS": "anything"}, SANDBOX),
        ({"CI": "1", "CURSOR_SANDBOX": "1"}, CI),
        ({"CURSOR_AGENT": "1"}, ("cloud-headless", "cursor-marker-runtime-ambiguous")),
        (
            {"CURSOR_AGENT": "1", "DEFT_GITHUB_AUTH_MODE": "host-gh"},
            ("local-unsandboxed", "explicit-host-gh-selection"),
        ),
        ({"CURSOR_AGENT": "1", "CURSOR_SANDBOX": "1"}, SANDBOX),
        ({"GROK_BUILD": "1"}, LOCAL),
    ],
)
def test_the_environment_says_where_a_worker_runs(environment, expected):
    assert mode(**environment) == expected


@pytest.mark.parametrize(
    ("uid", "orig", "uid_map", "remap", "kind"),
    [
        (0, "1000", REMAP, True, "sandbox-remapped-local-user"),
        (0, "1001", REMAP, False, "real-root"),
        (0, None, REMAP, False, "real-root"),
        (0, "x", REMAP, False, "real-root"),
        (0, "1000", (), False, "real-root"),
        (1000, "1000", REMAP, False, "local-user"),
        (None, "1000", REMAP, False, "unknown"),
    ],
)
def test_root_in_a_sandbox_that_maps_it_is_the_local_user_and_not_root(uid, orig, uid_map, remap, kind):
    found = probe(Facts({"CURSOR_ORIG_UID": orig} if orig else {}, uid, uid_map=uid_map))
    assert (found.sandbox_uid_remap, found.identity_kind) == (remap, kind)
    assert (found.mode == "cursor-native-sandbox") is remap


def test_a_uid_map_is_lines_of_three_numbers():
    assert parse_uid_map("         0       1000          1\nx y z\n1 2\n") == (UidRange(0, 1000, 1),)


def test_this_process_can_be_probed():
    assert probe(facts_of_this_process()).mode in (
        "local-unsandboxed",
        "cursor-native-sandbox",
        "cloud-headless",
    )
