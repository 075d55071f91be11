"""`github-auth-modes`: whether GitHub can be used from here, and what to do if not.

To be run in the worker's worktree: the parent's shell proves nothing about the worker's.

Source: docs/heartbeat.md#github-from-the-worker.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from strawboss.heartbeat.gh import Answer, Ask, redacted
from strawboss.heartbeat.runtime import Runtime

MODES = ("host-gh", "injected-token")
SANDBOX_REMEDY = (
    "choose one: full-access execution (run GitHub steps with full filesystem and network access, so that the worker "
    "shares the host's gh credentials); trusted gh command allowlisting (allow the gh path in the worker's sandbox); "
    "injected-token handoff (bind credentials at the invocation, never in a prompt or a heartbeat)"
)
CLOUD_REMEDY = (
    "re-dispatch with injected-token handoff, or switch to a local interactive runtime; "
    "host gh state is not visible across the cloud boundary"
)
REMEDIES = {
    "missing_injected_token": "bind {variables} at the invocation, or choose --github-auth-mode host-gh",
    "invalid_auth_mode": "set DEFT_GITHUB_AUTH_MODE to host-gh or injected-token",
    "missing_target_repo": "give --repo OWNER/NAME, or run in a clone with an origin",
    "gh_auth_failed": "run 'gh auth login' where the worker runs, or hand it a token",
    "api_unreachable": "check gh, network and proxy where the worker runs",
    "principal_mismatch": "log in as the expected user, or change --expected-login",
    "repo_access_denied": "grant this login access to the repository",
    "installation_identity_unverifiable": "drop --expected-login: an app installation has no login",
}


@dataclass(frozen=True, slots=True)
class Wish:
    """What the caller asks for; `mode` and `expected_login` may come from the environment, see `wish_from`."""

    mode: str | None
    repo: str | None
    host: str
    expected_login: str | None


class AuthReport(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`github-auth-modes --json`. Never holds a token, only the name of the variable that has one."""

    ok: bool
    github_auth_mode: str
    runtime_mode: str
    runtime_mode_reason: str
    identity_kind: str
    sandbox_uid_remap: bool
    failure_kind: str | None
    detail: str
    remediation: str
    login: str | None
    principal_kind: str | None
    validation_repo: str | None
    github_host: str
    credential_source: str
    applicable_token_env: str | None
    installation_authenticated: bool


class _Failure(Exception):  # noqa: N818 - a verdict on its way out, not a programming error
    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(kind)
        self.kind, self.detail = kind, detail


@dataclass(frozen=True, slots=True)
class _Principal:
    login: str | None = None
    kind: str | None = None
    installation: bool = False


def token_variables(host: str) -> tuple[str, ...]:
    """The variables gh reads for a host."""
    if host == "github.com" or host.endswith(".ghe.com"):
        return ("GH_TOKEN", "GITHUB_TOKEN")
    return ("GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN")


def parse_remote(url: str) -> tuple[str, str] | None:
    """Host and OWNER/NAME of a git remote; None when it has no such form."""
    match = re.fullmatch(
        r"(?:(?:https?|ssh|git)://(?:[^/@\s]+@)?|[^/@\s]+@)([A-Za-z0-9.-]+)(?::[0-9]+)?[:/]+([\w.-]+/[\w.-]+?)(?:\.git)?/?",
        url.strip(),
    )
    return (match[1].lower(), match[2]) if match else None


def check(wish: Wish, environment: Mapping[str, str], runtime: Runtime, ask: Ask) -> AuthReport:
    """Token, target, identity, access, in this order; stops at the first that fails."""
    variable = next((name for name in token_variables(wish.host) if environment.get(name, "").strip()), None)
    mode = wish.mode or ("injected-token" if variable else "host-gh")
    principal, failure = _Principal(), None
    try:
        _check_wish(wish, mode, variable)
        principal = _principal(wish, environment, ask)
        _check_login(wish.expected_login, principal)
        _check_access(wish, environment, ask)
    except _Failure as found:
        failure = found
    return _report(wish, runtime, mode, variable, principal, failure)


def _check_wish(wish: Wish, mode: str, variable: str | None) -> None:
    if mode not in MODES:
        raise _Failure("invalid_auth_mode", f"{mode!r} is no auth mode")
    if mode == "injected-token" and variable is None:
        raise _Failure("missing_injected_token", f"none of {', '.join(token_variables(wish.host))} is set")
    if wish.repo is None:
        raise _Failure("missing_target_repo", "no repository to check against")


def _report(
    wish: Wish,
    runtime: Runtime,
    mode: str,
    variable: str | None,
    principal: _Principal,
    failure: _Failure | None,
) -> AuthReport:
    return AuthReport(
        ok=failure is None,
        github_auth_mode=mode,
        runtime_mode=runtime.mode,
        runtime_mode_reason=runtime.reason,
        identity_kind=runtime.identity_kind,
        sandbox_uid_remap=runtime.sandbox_uid_remap,
        failure_kind=failure.kind if failure else None,
        detail=failure.detail if failure else f"{principal.login or 'an installation'} can read {wish.repo}",
        remediation=_remedy(failure.kind, wish.host, runtime) if failure else "",
        login=principal.login,
        principal_kind=principal.kind,
        validation_repo=wish.repo,
        github_host=wish.host,
        credential_source=variable or ("gh" if mode == "host-gh" else "none"),
        applicable_token_env=variable,
        installation_authenticated=principal.installation,
    )


def _principal(wish: Wish, environment: Mapping[str, str], ask: Ask) -> _Principal:
    answer = ask(["api", "--hostname", wish.host, "user"])
    if answer.code == 0:
        user = _object(answer.output)
        if not isinstance(user.get("login"), str):
            raise _Failure("api_unreachable", "gh api user gave no login")
        return _Principal(user["login"], str(user.get("type") or "User"))
    if "not accessible by integration" in answer.error.lower():
        return _Principal(None, "Installation", installation=True)
    raise _failed(answer, environment, "gh_auth_failed")


def _check_login(expected: str | None, principal: _Principal) -> None:
    if expected is None:
        return
    if principal.installation:
        raise _Failure(
            "installation_identity_unverifiable", "the token is an app installation's and has no login"
        )
    if (principal.login or "").lower() != expected.lower():
        raise _Failure("principal_mismatch", f"logged in as {principal.login}, expected {expected}")


def _check_access(wish: Wish, environment: Mapping[str, str], ask: Ask) -> None:
    answer = ask(["api", "--hostname", wish.host, f"repos/{wish.repo}"])
    if answer.code != 0:
        raise _failed(answer, environment, "repo_access_denied")


def _failed(answer: Answer, environment: Mapping[str, str], otherwise: str) -> _Failure:
    said = redacted(answer.error or answer.output, environment)
    low = said.lower()
    if answer.code is None or re.search(
        r"dial tcp|could not resolve|no such host|timeout|connect|proxy|http 5", low
    ):
        return _Failure("api_unreachable", said)
    if re.search(r"http 401|bad credentials|gh auth login|not logged", low):
        return _Failure("gh_auth_failed", said)
    return _Failure(otherwise, said or f"gh ended with {answer.code}")


def _remedy(kind: str, host: str, runtime: Runtime) -> str:
    remedy = REMEDIES[kind].format(variables=" or ".join(token_variables(host)))
    if runtime.mode == "cursor-native-sandbox" and kind in (
        "gh_auth_failed",
        "api_unreachable",
        "repo_access_denied",
    ):
        return SANDBOX_REMEDY
    if runtime.mode == "cloud-headless" and kind in ("missing_injected_token", "gh_auth_failed"):
        return CLOUD_REMEDY
    return remedy


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
