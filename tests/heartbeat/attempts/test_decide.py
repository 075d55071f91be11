import pytest
from heartbeat.given import ago

from strawboss.heartbeat.attempts.decide import may_begin
from strawboss.heartbeat.attempts.ledger import Attempt, Unit, UnitKey


def attempt(status, revision="r1"):
    return Attempt(
        {
            "attemptId": "att-1",
            "sourceRevision": revision,
            "trigger": "x",
            "status": status,
            "startedAt": ago(60),
        }
    )


def decided(*attempts, revision="r1", **raw):
    unit = Unit(UnitKey("s", "/t", "w"), attempts, raw)
    return may_begin(unit, unit.active, revision).code


@pytest.mark.parametrize(
    ("attempts", "revision", "code"),
    [
        ([], "r1", "ALLOW_FIRST_ATTEMPT"),
        (["running"], "r2", "DENY_DUPLICATE_ACTIVE"),
        (["queued"], "r1", "DENY_DUPLICATE_ACTIVE"),
        (["failed", "running"], "r1", "DENY_DUPLICATE_ACTIVE"),
        (["cancelled"], "r1", "ALLOW_RESUME"),
        (["succeeded"], "r1", "ALLOW_RESUME"),
        (["failed"], "r1", "ALLOW_TRANSIENT_RETRY"),
        (["failed"], "r2", "ALLOW_MATERIAL_PROGRESS"),
        (["failed"], "unknown", "ALLOW_TRANSIENT_RETRY"),
        (["failed", "failed"], "r1", "BLOCK_REPEATED_UNKNOWN"),
        (["failed", "failed"], "r2", "ALLOW_MATERIAL_PROGRESS"),
        (["blocked"], "r1", "BLOCK_NO_MATERIAL_PROGRESS"),
        (["failed", "failed", "failed"], "r2", "BLOCK_ATTEMPT_BUDGET"),
        (["failed", "failed", "failed", "cancelled"], "r2", "BLOCK_ATTEMPT_BUDGET"),
    ],
)
def test_what_went_before_decides(attempts, revision, code):
    assert decided(*map(attempt, attempts), revision=revision) == code


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        ({"totalElapsedSeconds": 3599, "totalToolCallCount": 499}, "ALLOW_RESUME"),
        ({"totalElapsedSeconds": 3600}, "BLOCK_ELAPSED_BUDGET"),
        ({"totalToolCallCount": 500}, "BLOCK_TOOL_OR_TOKEN_BUDGET"),
        ({"override": {"by": "x"}}, "ALLOW_OVERRIDE"),
        ({"blockedDecision": "BLOCK_NON_RETRYABLE", "lastSourceRevision": "r1"}, "BLOCK_NON_RETRYABLE"),
        ({"blockedDecision": "BLOCK_NON_RETRYABLE", "lastSourceRevision": "r0"}, "ALLOW_RESUME"),
    ],
)
def test_budgets_overrides_and_standing_blocks_of_the_unit_count(raw, code):
    assert decided(attempt("cancelled"), **raw) == code


def test_budgets_come_before_the_duplicate_and_the_duplicate_before_an_override():
    assert decided(attempt("running"), totalElapsedSeconds=3600) == "BLOCK_ELAPSED_BUDGET"
    assert decided(attempt("running"), override={"by": "x"}) == "DENY_DUPLICATE_ACTIVE"
