"""What `/strawboss`, the status line and the log show of a look."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from strawboss.recovery.memory import Look, Memory, RunReport
from strawboss.recovery.verdict import Named
from strawboss.resident.status import LINE_LENGTH, SHOWN, log_facts, run_line, status_line, status_lines

ZETA = RunReport("cd2f2e5e", "Zeta", "nudge", "found once", None, stranded=True)
BETA = RunReport("a213437c", "Beta", "", "tracked", None, stranded=False)
ETA = RunReport(
    "4ccdd42f",
    "Eta",
    "",
    "settled",
    Named("x", "it never ended").no("its exit sidecar is there"),
    stranded=False,
)


def look(*runs: RunReport) -> Look:
    return Look(runs, Memory())


def test_a_session_without_subagents_says_so() -> None:
    assert status_lines(look(), 3.4) == ["strawboss: this session has launched no subagents (looked 3 s ago)"]


def test_each_run_is_a_line_with_state_and_reason_the_stranded_first() -> None:
    assert status_lines(look(ETA, BETA, ZETA), 0.4) == [
        "strawboss: 3 runs, 1 stranded (looked 0 s ago)",
        'cd2f2e5e "Zeta" nudge: found once',
        'a213437c "Beta" tracked',
        '4ccdd42f "Eta" settled — it never ended: no (its exit sidecar is there)',
    ]


def test_of_many_runs_the_first_are_shown_and_the_rest_counted() -> None:
    many = [replace(ETA, run=f"{number:08x}") for number in range(200)]
    lines = status_lines(look(*many, BETA, ZETA), 0)
    assert [line[:8] for line in lines[1:4]] == ["cd2f2e5e", "a213437c", "00000000"]
    assert len(lines) == 1 + SHOWN + 1
    assert lines[-1] == f"… and {202 - SHOWN} more"


def test_one_run_is_no_runs() -> None:
    assert status_lines(look(BETA), 1)[0] == "strawboss: 1 run, none stranded (looked 1 s ago)"


def test_the_status_line_is_there_only_while_something_is_stranded() -> None:
    assert status_line(look(BETA, ETA)) is None
    assert status_line(look(BETA, ZETA)) == "strawboss: 1 stranded"


@given(st.text(max_size=300), st.text(max_size=900))
def test_names_and_reasons_of_other_programs_stay_one_short_printable_line(name: str, why: str) -> None:
    line = run_line(RunReport("a213437c", name, "nudge", "watching", Named("x", "x").no(why), stranded=False))
    assert line.isprintable()
    assert len(line) <= LINE_LENGTH


def test_the_log_keeps_states_without_names() -> None:
    assert log_facts([ZETA, BETA]) == {"cd2f2e5e": "nudge found once", "a213437c": "- tracked"}
