import json
import os
import stat
from pathlib import Path

import msgspec
import pytest
from heartbeat.commands import run
from heartbeat.given import ago, beat, in_use, lease_comment

from strawboss.heartbeat import schemas
from strawboss.heartbeat.utc import utc_now

TOKEN = "ghp" + "_" + "a" * 36
MARKERS = ("GH_", "GITHUB_", "CURSOR_", "DEFT_", "OPENCLAW_", "CI", "BUILDKITE", "GROK_BUILD")

# A gh that answers from files: the last path segment asked for, or exit 1 with what is in `error`.
GH = """#!/bin/sh
for word in "$@"; do case "$word" in user|repos/*) asked=$(basename "$word");; esac; done
if [ -f "$GH_ANSWERS/$asked" ]; then cat "$GH_ANSWERS/$asked"; else cat "$GH_ANSWERS/error" >&2; exit 1; fi
"""


@pytest.fixture
def github(tmp_path, monkeypatch):
    """Sets what gh answers; nothing of the surroundings says where we run."""
    for name in os.environ:
        if name.startswith(MARKERS):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    answers, gh = tmp_path / "answers", tmp_path / "bin" / "gh"
    for directory in (answers, gh.parent):
        directory.mkdir()
    gh.write_text(GH)
    gh.chmod(gh.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{gh.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("GH_ANSWERS", str(answers))

    def github(error="HTTP 404: Not Found", **files):
        for name, text in ({"error": error} | files).items():
            (answers / name).write_text(text)

    github(user='{"login": "octo", "type": "User"}', r="{}")
    return github


def modes(*arguments):
    return run("github-auth-modes", "--repo", "o/r", *arguments)


def test_access_from_here_is_exit_0(github):
    ran = modes("--json")
    assert (ran.code, ran.json["ok"], ran.json["login"]) == (0, True, "octo")
    msgspec.json.decode(ran.out, type=schemas.AuthReport)
    assert modes().out.startswith("github_auth_mode=host-gh status=ok")


def test_no_access_is_exit_1_with_its_kind_and_remedy_on_stdout(github):
    github(error="HTTP 401: Bad credentials")
    Path("answers/user").unlink()
    ran = modes()
    assert (ran.code, ran.err) == (1, "")
    assert "status=gh_auth_failed" in ran.out
    assert "remediation:" in ran.out


def test_no_output_holds_a_token(github, monkeypatch):
    monkeypatch.setenv("GH_TOKEN", TOKEN)
    github(error=f"HTTP 401: bad {TOKEN}")
    Path("answers/user").unlink()
    for ran in (modes(), modes("--json")):
        assert ran.code == 1
        assert TOKEN not in ran.out + ran.err


def test_an_injected_token_that_is_not_there_fails_closed(github):
    assert (
        modes("--github-auth-mode", "injected-token", "--json").json["failure_kind"]
        == "missing_injected_token"
    )


def test_the_environment_chooses_the_mode_and_the_login(github, monkeypatch):
    monkeypatch.setenv("DEFT_GITHUB_AUTH_MODE", "oauth")
    assert modes("--json").json["failure_kind"] == "invalid_auth_mode"
    monkeypatch.setenv("DEFT_GITHUB_AUTH_MODE", "host-gh")
    monkeypatch.setenv("DEFT_EXPECTED_GITHUB_LOGIN", "other")
    assert modes("--json").json["failure_kind"] == "principal_mismatch"


@pytest.mark.parametrize(
    "arguments", [("--github-auth-mode", "oauth"), ("--app-id", "7"), ("--expected-login", " ")]
)
def test_wrong_use_is_one_line_and_exit_2(github, arguments):
    ran = modes(*arguments)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)


def watched(*arguments):
    return run("verify:review-monitor", "--pr", "77", "--repo", "o/r", *arguments)


def comment_line(**changes):
    now = utc_now()
    times = {"started_at": ago(60, now=now), "expires_at": ago(minutes=-29, now=now)}
    return json.dumps({"id": 1, "body": lease_comment(**times | changes)}) + "\n"


ARM = ("--merge-path-arm", "--live-wait")


def test_a_host_without_a_primitive_needs_no_github(github):
    github(error="no network")
    assert watched(*ARM).code == 0


def test_a_host_with_one_needs_the_lease_and_the_wait(github, monkeypatch, tmp_path):
    monkeypatch.setenv("GROK_BUILD", "1")
    github(comments="")
    red = watched(*ARM)
    assert (red.code, red.err) == (1, "")
    assert "unarmed stand-down" in red.out
    github(comments=comment_line())
    assert watched(*ARM, "--json").json["error"].endswith("swarm:pre-dispatch or swarm:launch")
    in_use(tmp_path)
    assert watched(*ARM).code == 1
    beat(tmp_path, pr_number=77, parent_id="monitor-1", last_heartbeat_at=ago(10, now=utc_now()))
    assert watched(*ARM).code == 0


def test_a_probe_that_stays_red_past_the_allowance_is_the_startup_halt(github, monkeypatch):
    monkeypatch.setenv("GROK_BUILD", "1")
    github(comments="")
    young = watched(*ARM, "--dispatch-started-at", ago(120, now=utc_now()))
    old = watched(*ARM, "--dispatch-started-at", ago(200, now=utc_now()))
    assert (young.code, "approach1-arm-startup" in young.out) == (1, False)
    assert (old.code, "approach1-arm-startup" in old.out) == (1, True)
    report = watched(*ARM, "--dispatch-started-at", ago(200, now=utc_now()), "--json")
    msgspec.json.decode(report.out, type=schemas.ReviewReport)
    assert report.json["approach1_arm_startup"]["halt_class"] == "approach1-arm-startup"


def test_a_github_that_cannot_be_asked_is_exit_2_and_not_a_missing_lease(github, monkeypatch):
    monkeypatch.setenv("GROK_BUILD", "1")
    monkeypatch.setenv("GH_TOKEN", TOKEN)
    github(error=f"dial tcp: no such host {TOKEN}")
    ran = watched(*ARM)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert "no such host" in ran.err
    assert TOKEN not in ran.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("--pr", "0"),
        ("--pr", "x"),
        ("--call-site", "y"),
        ("--project-root", "gone"),
        ("--dispatch-started-at", "noon"),
    ],
)
def test_wrong_use_of_the_review_monitor_is_one_line_and_exit_2(github, arguments):
    ran = watched(*arguments)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
