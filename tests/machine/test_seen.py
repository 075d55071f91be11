from __future__ import annotations

import pytest

from strawboss.machine.seen import SESSION_VARIABLE, Seen, holders, is_pi
from strawboss.recovery.evidence import Holders, Process

FILE, SCRIPT = "/s/a_b.jsonl", "/a/subagent-scripts/beta-a213437c.sh"
PI = Seen(7, "pi", True, ("pi",), {})
SAYS_OTHER = {SESSION_VARIABLE: "/s/other.jsonl"}


@pytest.mark.parametrize(
    ("argv", "names"),
    [
        (("bash", SCRIPT), True),
        (("bash", "-c", f"bash '{SCRIPT}'; exit"), True),
        (("node", "/usr/bin/pi", "--session", FILE), True),
        (("tail", "-f", "a_b.jsonl"), True),
        (("bash", "/a/subagent-scripts/other.sh"), False),
        (("bash",), False),
        ((), False),
        (None, False),
    ],
    ids=str,
)
def test_a_process_holds_what_its_arguments_name(argv: tuple[str, ...] | None, names: bool) -> None:
    for mine in (True, False):
        found = holders([Seen(7, "x", mine, argv)], FILE, SCRIPT)
        assert found == Holders((Process(7, "x"),) if names else ())


def test_a_pi_holds_the_session_its_environment_names() -> None:
    found = holders([Seen(7, "pi", True, ("pi",), {SESSION_VARIABLE: FILE})], FILE, SCRIPT)
    assert found == Holders((Process(7, "pi"),))


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        (PI, Holders(silent=(7,))),
        (Seen(7, "pi", True, ("pi",), SAYS_OTHER), Holders()),
        (Seen(7, "node", True, ("node", "/b/pi", "--session", "/s/x.jsonl"), {}), Holders()),
        (Seen(7, "pi", True, ("pi",), None), Holders(unreadable=(7,))),
        (Seen(7, "pi", True, None, {}), Holders(unreadable=(7,))),
        (Seen(7, "pi", False, ("pi",), {}), Holders()),
        (Seen(7, "bash", True, None, {}), Holders()),
    ],
    ids=["silent", "another's", "argument", "environment", "arguments", "somebody else's", "no pi"],
)
def test_a_pi_that_does_not_tell_its_session_is_counted_and_one_that_does_is_not(
    seen: Seen, expected: Holders
) -> None:
    assert holders([seen], FILE, SCRIPT) == expected


def test_without_a_script_only_the_session_file_is_looked_for() -> None:
    assert holders([Seen(7, "x", True, ("x", ""))], FILE, "") == Holders()


@pytest.mark.parametrize(
    ("name", "argv", "expected"),
    [
        ("pi", ("pi",), True),
        ("node", ("pi",), True),
        ("node", ("/usr/bin/node", "--no-warnings", "/usr/local/bin/pi"), True),
        ("node", ("node", "/lib/node_modules/@x/pi-coding-agent/dist/cli.js"), True),
        ("pi.exe", None, True),
        ("node", ("node", "server.js", "pi"), False),
        ("vim", ("vim", "/home/x/pi"), False),
        ("pip", ("pip",), False),
        ("bash", None, False),
    ],
    ids=str,
)
def test_what_is_a_pi(name: str, argv: tuple[str, ...] | None, expected: bool) -> None:
    assert is_pi(name, argv) is expected
