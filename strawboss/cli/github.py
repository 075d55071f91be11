"""`github-auth-modes` and `verify:review-monitor`: what only GitHub can tell, asked through gh."""

from __future__ import annotations

import os
import subprocess
from datetime import datetime
from pathlib import Path

import click

from strawboss.cli.heartbeat_params import (
    TEXT,
    UTC_TIME,
    WorkerCommand,
    json_option,
    project,
    project_option,
    say_json,
)
from strawboss.heartbeat import auth, review
from strawboss.heartbeat.gh import ask_in, redacted
from strawboss.heartbeat.review import Probe
from strawboss.heartbeat.reviewing import GitHubError, Looker
from strawboss.heartbeat.runtime import facts_of_this_process, probe
from strawboss.heartbeat.utc import utc_now
from strawboss.system.printable import printable

CALL_SITES = ("solo", "swarm-phase5-6", "swarm-phase6-cascade", "unspecified")
GIT_TIMEOUT_SECONDS = 5.0


@click.command("github-auth-modes", cls=WorkerCommand)
@click.option("--repo", type=TEXT, help="OWNER/NAME; the origin of the current clone if absent.")
@click.option("--github-auth-mode", "mode", type=click.Choice(auth.MODES), envvar=None)
@click.option("--expected-login", type=TEXT, envvar="DEFT_EXPECTED_GITHUB_LOGIN", show_envvar=True)
@json_option
def github_auth_modes(repo: str | None, mode: str | None, expected_login: str | None, as_json: bool) -> int:
    """Whether GitHub can be used from this very place. Exit 0: yes. 1: no, with the remedy."""
    origin = auth.parse_remote(_origin_url())
    wish = auth.Wish(
        mode or os.environ.get("DEFT_GITHUB_AUTH_MODE", "").strip() or None,
        repo or (origin[1] if origin else None),
        os.environ.get("GH_HOST", "").strip().lower() or (origin[0] if origin else "github.com"),
        expected_login,
    )
    report = auth.check(wish, os.environ, probe(facts_of_this_process()), ask_in(Path()))
    if as_json:
        say_json(report)
    else:
        status = "ok" if report.ok else report.failure_kind
        mode_line = f"github_auth_mode={printable(report.github_auth_mode)} status={status}"
        click.echo(f"{mode_line} runtime={report.runtime_mode} identity={report.identity_kind}")
        click.echo(f"detail={printable(report.detail)}")
        if report.remediation:
            click.echo(f"remediation: {report.remediation}")
    return int(not report.ok)


def _origin_url() -> str:
    try:
        return subprocess.run(
            ["git", "config", "--get", "remote.origin.url"],
            capture_output=True,
            text=True,
            timeout=GIT_TIMEOUT_SECONDS,
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return ""


@click.command("verify:review-monitor", cls=WorkerCommand)
@click.option("--pr", required=True, type=click.IntRange(min=1))
@click.option("--repo", type=TEXT, help="OWNER/NAME; the current clone's if absent.")
@click.option("--head-sha", type=TEXT, help="Head of the pull request; asked from GitHub when needed.")
@project_option
@click.option("--call-site", type=click.Choice(CALL_SITES), default=CALL_SITES[-1])
@click.option("--merge-path-arm", is_flag=True, help="The road to the merge must be armed as well.")
@click.option("--live-wait", is_flag=True, help="A live wait arms it.")
@click.option("--explicit-finish", is_flag=True, help="Armed because the finish was asked for.")
@click.option("--sticky-lease", is_flag=True, help="Demand the lease comment on hosts that need none, too.")
@click.option(
    "--dispatch-started-at", type=UTC_TIME, help="With --merge-path-arm: when the watcher was dispatched."
)
@json_option
def verify_review_monitor(
    pr: int,
    repo: str | None,
    head_sha: str | None,
    project_root: Path | None,
    call_site: str,
    merge_path_arm: bool,
    live_wait: bool,
    explicit_finish: bool,
    sticky_lease: bool,
    dispatch_started_at: datetime | None,
    as_json: bool,
) -> int:
    """Whether the review of a pull request is watched. Exit 0: yes. 1: no, or not armed. 2: GitHub cannot be asked."""
    host, now = review.host_of(os.environ), utc_now()
    asked = Probe(pr, merge_path_arm, live_wait, explicit_finish, sticky_lease, dispatch_started_at)
    root = project(project_root)
    looker = Looker(root, repo, ask_in(root))
    try:
        lease = looker.lease(pr, now) if host.tier == 1 or sticky_lease else None
        waiting = merge_path_arm and looker.waiting(asked, host, lease, head_sha, now)
    except GitHubError as error:
        raise click.ClickException(f"GitHub cannot be asked: {redacted(str(error), os.environ)}") from None
    report = review.report(asked, host, lease, waiting, call_site, now)
    if as_json:
        say_json(report)
    else:
        click.echo(printable(f"verify_review_monitor: PR #{pr}: {report.message}"))
    return report.exit_code
