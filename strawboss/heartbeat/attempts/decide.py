"""Whether another attempt may begin. Pure; the first rule that fits decides."""

from __future__ import annotations

from dataclasses import dataclass

from strawboss.heartbeat.attempts.ledger import Attempt, Unit

ELAPSED_BUDGET_SECONDS = 3600
TOOL_CALL_BUDGET = 500
FAILED_ATTEMPT_BUDGET = 3
DUPLICATE = "DENY_DUPLICATE_ACTIVE"


@dataclass(frozen=True, slots=True)
class Decision:
    code: str
    reason: str

    @property
    def allowed(self) -> bool:
        return self.code.startswith("ALLOW_")


def may_begin(unit: Unit, active: tuple[Attempt, ...], revision: str) -> Decision:
    """`active` are the active attempts of this unit and of those that mean the same worktree by another name."""
    failed = [attempt for attempt in unit.attempts if attempt.raw["status"] in ("failed", "blocked")]
    if unit.number("totalElapsedSeconds") >= ELAPSED_BUDGET_SECONDS:
        return Decision("BLOCK_ELAPSED_BUDGET", f"its attempts took {ELAPSED_BUDGET_SECONDS} seconds or more")
    if unit.number("totalToolCallCount") >= TOOL_CALL_BUDGET:
        return Decision(
            "BLOCK_TOOL_OR_TOKEN_BUDGET", f"its attempts made {TOOL_CALL_BUDGET} tool calls or more"
        )
    if active:
        return Decision(
            DUPLICATE, f"attempt {active[0].id} is still {active[0].raw['status']}; cancel it first"
        )
    if unit.raw.get("override"):
        return Decision("ALLOW_OVERRIDE", "the ledger carries an override")
    if (block := unit.raw.get("blockedDecision")) and revision == unit.raw.get("lastSourceRevision"):
        return Decision(str(block), "blocked before, and nothing has changed since")
    if len(failed) >= FAILED_ATTEMPT_BUDGET:
        return Decision("BLOCK_ATTEMPT_BUDGET", f"{len(failed)} attempts failed; a person must look")
    if not unit.attempts:
        return Decision("ALLOW_FIRST_ATTEMPT", "nothing was attempted yet")
    return _after(unit.attempts[-1], failed, revision)


def _after(last: Attempt, failed: list[Attempt], revision: str) -> Decision:
    if last not in failed:
        return Decision("ALLOW_RESUME", f"the last attempt was {last.raw['status']}")
    if revision not in ("unknown", last.raw["sourceRevision"]):
        return Decision("ALLOW_MATERIAL_PROGRESS", "the source has changed since the last failure")
    if last.raw["status"] == "blocked":
        return Decision(
            "BLOCK_NO_MATERIAL_PROGRESS", "the last attempt was blocked and the source is the same"
        )
    if sum(attempt.raw["sourceRevision"] == last.raw["sourceRevision"] for attempt in failed) > 1:
        return Decision("BLOCK_REPEATED_UNKNOWN", "it failed twice on the same source")
    return Decision("ALLOW_TRANSIENT_RETRY", "it failed once on this source")
