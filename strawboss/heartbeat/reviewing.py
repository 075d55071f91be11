"""The looks `verify:review-monitor` needs: comments and head of the pull request, heartbeats, attestations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from strawboss.heartbeat import review
from strawboss.heartbeat.gh import Answer, Ask
from strawboss.heartbeat.layout import ARM_DIRECTORY, Worktree
from strawboss.heartbeat.review import Host, Lease, Probe
from strawboss.heartbeat.sweep import check_status_directory, sweep
from strawboss.system.json_files import decode_object, read_object

HERE = "{owner}/{repo}"  # gh fills these in from the clone it runs in


class GitHubError(Exception):
    """GitHub could not be asked; the text says why, without tokens."""


@dataclass(frozen=True, slots=True)
class Looker:
    """Where to look: a project, a repository (`OWNER/NAME`, or that of the clone) and a way to run gh."""

    project_root: Path
    repo: str | None
    ask: Ask

    def lease(self, pr: int, now: datetime) -> Lease | None:
        """Raises GitHubError."""
        return review.find_lease(self._comments(pr), now)

    def _comments(self, pr: int) -> Iterator[tuple[int, str]]:
        path = f"repos/{self.repo or HERE}/issues/{pr}/comments"
        answer = self._asked(["api", "--paginate", path, "--jq", ".[] | {id, body} | @json"])
        for line in answer.output.splitlines():
            comment = decode_object(line.encode())
            if isinstance(comment, dict) and isinstance(comment.get("id"), int):
                yield comment["id"], str(comment.get("body") or "")

    def head(self, pr: int) -> str:
        """The head of the pull request on GitHub; raises GitHubError."""
        return self._asked(
            ["api", f"repos/{self.repo or HERE}/pulls/{pr}", "--jq", ".head.sha"]
        ).output.strip()

    def _asked(self, arguments: list[str]) -> Answer:
        answer = self.ask(arguments)
        if answer.code != 0:
            raise GitHubError(answer.error or f"gh ended with {answer.code}")
        return answer

    def waiting(self, probe: Probe, host: Host, lease: Lease | None, head: str | None, now: datetime) -> bool:
        """Whether a heartbeat below the project is a live wait that counts; raises GitHubError.

        Where that decides, a status directory that is not there raises NoPlaceError: it does not say that nobody waits.
        """
        directory = Worktree(self.project_root).status_directory
        if host.tier == 1 and probe.live_wait and lease:
            check_status_directory(directory)
        records = sweep([str(directory)], now).records
        waits = [record for record in records if review.waits(record, probe.pr)]
        clean = self._clean_head(probe.pr)
        if clean and head is None and any(record.parent_id == "pr-wait-mergeable" for record in waits):
            head = self.head(probe.pr)
        return any(review.wait_counts(record, host, lease, clean, head) for record in waits)

    def _clean_head(self, pr: int) -> str | None:
        attestation = read_object(self.project_root / ARM_DIRECTORY / f"pr-{pr}.clean.json")
        if not isinstance(attestation, dict) or attestation.get("pr_number") != pr:
            return None
        sha = attestation.get("head_sha")
        return sha if isinstance(sha, str) and sha else None
