import json

import pytest

from strawboss.heartbeat.auth import Wish, check, parse_remote, token_variables
from strawboss.heartbeat.gh import Answer
from strawboss.heartbeat.runtime import Facts, probe
from strawboss.system.json_files import encode

TOKEN = "ghp" + "_" + "a" * 36
USER = Answer(0, json.dumps({"login": "octo", "type": "User"}), "")
REPO = Answer(0, "{}", "")
LOCAL = probe(Facts({}))
SANDBOX = probe(Facts({"CURSOR_SANDBOX": "1"}))
CLOUD = probe(Facts({"CI": "1"}))


def checked(user=USER, access=REPO, environment=None, runtime=LOCAL, **wish):
    fields = {"mode": None, "repo": "o/r", "host": "github.com", "expected_login": None} | wish
    return check(
        Wish(**fields),
        environment or {},
        runtime,
        lambda arguments: user if arguments[-1] == "user" else access,
    )


def refused(text, code=1):
    return Answer(code, "", text)


def test_a_login_that_reads_the_repository_is_well():
    report = checked(expected_login="Octo")
    assert (report.ok, report.failure_kind, report.login, report.principal_kind) == (
        True,
        None,
        "octo",
        "User",
    )
    assert (report.github_auth_mode, report.credential_source) == ("host-gh", "gh")


def test_where_a_token_is_asked_for_gh_is_not_its_source():
    assert checked(mode="injected-token").credential_source == "none"


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ({"mode": "injected-token"}, "missing_injected_token"),
        ({"mode": "injected-token", "environment": {"GH_TOKEN": " "}}, "missing_injected_token"),
        ({"mode": "injected-token", "environment": {"GH_ENTERPRISE_TOKEN": TOKEN}}, "missing_injected_token"),
        ({"mode": "oauth"}, "invalid_auth_mode"),
        ({"repo": None}, "missing_target_repo"),
        ({"user": refused("HTTP 401: Bad credentials")}, "gh_auth_failed"),
        ({"user": refused("To get started, please run: gh auth login", 4)}, "gh_auth_failed"),
        ({"user": refused("something else")}, "gh_auth_failed"),
        ({"user": refused("dial tcp: lookup api.github.com: no such host")}, "api_unreachable"),
        ({"user": refused("gh is not installed", None)}, "api_unreachable"),
        ({"user": Answer(0, "[]", "")}, "api_unreachable"),
        ({"user": Answer(0, "not json", "")}, "api_unreachable"),
        ({"expected_login": "other"}, "principal_mismatch"),
        (
            {"user": refused("HTTP 403: Resource not accessible by integration"), "expected_login": "x"},
            "installation_identity_unverifiable",
        ),
    ],
)
def test_each_failure_has_its_kind_and_a_remedy(given, kind):
    report = checked(**given)
    assert (report.ok, report.failure_kind) == (False, kind)
    assert report.remediation


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("HTTP 404: Not Found", "repo_access_denied"),
        ("HTTP 502", "api_unreachable"),
        ("HTTP 401", "gh_auth_failed"),
    ],
)
def test_a_repository_that_cannot_be_read_has_its_kind(text, kind):
    assert checked(access=refused(text)).failure_kind == kind


def test_an_installation_without_an_expected_login_is_well():
    report = checked(user=refused("Resource not accessible by integration"))
    assert (report.ok, report.installation_authenticated, report.login) == (True, True, None)


@pytest.mark.parametrize(
    ("host", "variables"),
    [
        ("github.com", ("GH_TOKEN", "GITHUB_TOKEN")),
        ("acme.ghe.com", ("GH_TOKEN", "GITHUB_TOKEN")),
        ("github.acme.example", ("GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN")),
    ],
)
def test_the_token_must_fit_the_host(host, variables):
    assert token_variables(host) == variables
    report = checked(host=host, environment={variables[1]: TOKEN})
    assert (report.github_auth_mode, report.applicable_token_env) == ("injected-token", variables[1])


def test_the_three_operator_choices_are_offered_in_the_sandbox_but_not_for_a_missing_token():
    remedy = checked(user=refused("HTTP 401"), runtime=SANDBOX).remediation
    for choice in ("full-access execution", "allowlisting", "injected-token handoff"):
        assert choice in remedy
    assert "allowlisting" not in checked(mode="injected-token", runtime=SANDBOX).remediation
    assert "allowlisting" not in checked(user=refused("HTTP 401")).remediation


def test_a_cloud_worker_without_credentials_is_to_be_dispatched_again_with_them():
    remedy = checked(mode="injected-token", runtime=CLOUD).remediation
    assert "injected-token handoff" in remedy
    assert "cloud boundary" in remedy


@pytest.mark.parametrize("text", [f"HTTP 401 {TOKEN}", f"HTTP 404 Bearer {TOKEN}"])
def test_no_report_holds_a_token(text):
    for report in (
        checked(user=refused(text), environment={"GH_TOKEN": TOKEN}),
        checked(access=refused(text), environment={"GH_TOKEN": TOKEN}),
    ):
        assert TOKEN.encode() not in encode(report)


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("https://github.com/o/r.git", ("github.com", "o/r")),
        ("https://user:pw@github.com/o/r", ("github.com", "o/r")),
        ("git@github.com:o/r.git\n", ("github.com", "o/r")),
        ("ssh://git@GitHub.acme.example:22/o/r.x.git", ("github.acme.example", "o/r.x")),
        ("/srv/git/r.git", None),
        ("", None),
    ],
)
def test_a_remote_names_host_and_repository(url, found):
    assert parse_remote(url) == found
