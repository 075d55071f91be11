import json

import pytest
from heartbeat.given import NOW, beat, lease_comment, put

from strawboss.heartbeat.gh import Answer
from strawboss.heartbeat.review import Host, Lease, Probe
from strawboss.heartbeat.reviewing import GitHubError, Looker

SPAWN, NONE = Host(1, "spawn_subagent"), Host(3, "none")
LEASE = Lease("monitor-1", "spawn_subagent")
PROBE = Probe(77, merge_path_arm=True, live_wait=True)


@pytest.fixture
def looker(tmp_path):
    """Looks at a pull request with these comments and this head; keeps what gh was asked."""

    def looker(*bodies, head="abc", code=0, repo="o/r"):
        def ask(arguments):
            asked.append(arguments)
            if "/pulls/" in arguments[1]:
                return Answer(code, f"{head}\n", "boom")
            lines = [json.dumps({"id": number, "body": body}) for number, body in enumerate(bodies)]
            return Answer(code, "\n".join(lines), "boom")

        asked = []
        made = Looker(tmp_path, repo, ask)
        return made, asked

    return looker


def test_the_lease_is_read_from_the_comments_of_the_pull_request(looker):
    look, asked = looker("hello", lease_comment())
    assert look.lease(77, NOW).monitor_agent_id == "monitor-1"
    assert "repos/o/r/issues/77/comments" in asked[0]


def test_without_a_repository_gh_takes_that_of_the_clone(looker):
    look, asked = looker(repo=None)
    assert look.lease(77, NOW) is None
    assert "repos/{owner}/{repo}/issues/77/comments" in asked[0]


def test_a_gh_that_fails_is_no_missing_lease(looker):
    look, _ = looker(code=1)
    with pytest.raises(GitHubError, match="boom"):
        look.lease(77, NOW)
    with pytest.raises(GitHubError, match="boom"):
        look.head(77)


@pytest.mark.parametrize("body", ["[]", '{"body": 3}', "{half", '{"id": "x", "body": "y"}'])
def test_odd_answers_are_no_comments(looker, tmp_path, body):
    look = Looker(tmp_path, "o/r", lambda _arguments: Answer(0, body, ""))
    assert look.lease(77, NOW) is None


def test_a_live_wait_below_the_project_counts(looker, tmp_path):
    look, asked = looker()
    assert not look.waiting(PROBE, NONE, None, None, NOW)
    beat(tmp_path, pr_number=77)
    assert look.waiting(PROBE, NONE, None, None, NOW)
    assert asked == []


def test_the_merge_wait_counts_on_the_clean_head_only_which_github_is_asked_for(looker, tmp_path):
    beat(tmp_path, pr_number=77, parent_id="pr-wait-mergeable")
    clean = tmp_path / ".deft-scratch" / "merge-path-arm" / "pr-77.clean.json"
    look, asked = looker(head="abc")
    assert not look.waiting(PROBE, SPAWN, LEASE, None, NOW)
    assert asked == []
    put(clean, {"pr_number": 77, "head_sha": "abc"})
    assert look.waiting(PROBE, SPAWN, LEASE, None, NOW)
    assert not look.waiting(PROBE, SPAWN, LEASE, "def", NOW)


@pytest.mark.parametrize(
    "damage", [b"{", {"pr_number": 78, "head_sha": "abc"}, {"pr_number": 77, "head_sha": None}]
)
def test_a_damaged_or_foreign_attestation_arms_nothing(looker, tmp_path, damage):
    beat(tmp_path, pr_number=77, parent_id="pr-wait-mergeable")
    put(tmp_path / ".deft-scratch" / "merge-path-arm" / "pr-77.clean.json", damage)
    assert not looker()[0].waiting(PROBE, SPAWN, LEASE, "abc", NOW)
