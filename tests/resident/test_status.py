"""What `/strawboss`, the status line and the log show of a look."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from recovery.given import FILE, LAUNCHER, SECONDS, key

from strawboss.overview.seen import Reports, Seen, Watch
from strawboss.recovery.evidence import Transcript
from strawboss.recovery.memory import Look, Memory, RunReport
from strawboss.recovery.verdict import Named
from strawboss.recovery.wording import iso
from strawboss.resident.status import (
    LINE_LENGTH,
    SHOWN,
    log_facts,
    overview_rows,
    run_line,
    status_line,
    status_rows,
)

FAR = SECONDS + 1000
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


def lines(look: Look, ago: float) -> list[str]:
    return [row.text for row in status_rows(look, ago)]


def test_a_session_without_subagents_says_so() -> None:
    assert lines(look(), 3.4) == ["strawboss: this session has launched no subagents (looked 3 s ago)"]


def test_each_run_is_a_line_with_state_and_reason_the_stranded_first() -> None:
    assert lines(look(ETA, BETA, ZETA), 0.4) == [
        "strawboss: 3 runs, 1 stranded (looked 0 s ago)",
        'cd2f2e5e "Zeta" nudge: found once',
        'a213437c "Beta" tracked',
        '4ccdd42f "Eta" settled — it never ended: no (its exit sidecar is there)',
    ]


def test_of_many_runs_the_first_are_shown_and_the_rest_counted() -> None:
    many = [replace(ETA, run=f"{number:08x}") for number in range(200)]
    shown = lines(look(*many, BETA, ZETA), 0)
    assert [line[:8] for line in shown[1:4]] == ["cd2f2e5e", "a213437c", "00000000"]
    assert len(shown) == 1 + SHOWN + 1
    assert shown[-1] == f"… and {202 - SHOWN} more"


def test_one_run_is_no_runs() -> None:
    assert lines(look(BETA), 1)[0] == "strawboss: 1 run, none stranded (looked 1 s ago)"


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


def test_a_row_of_a_run_names_it_and_the_others_none() -> None:
    many = [replace(ETA, run=f"{number:08x}") for number in range(200)]
    assert [row.run for row in status_rows(look(BETA, ZETA), 0)] == ["", "cd2f2e5e", "a213437c"]
    assert status_rows(look(*many), 0)[-1].run == ""


def test_what_needs_a_person_stands_first_with_its_command_then_what_was_recovered() -> None:
    now = FAR
    keys = (
        key("gaveUp", "cd2f2e5e", at=iso(now - 60), why="its pane could not be closed"),
        key("resumed", "a213437c", at=iso(now - 60)),
    )
    found = Seen(
        LAUNCHER, Watch.LOOKING, Reports.of((ZETA, BETA)), now, Transcript(keys=keys), {"cd2f2e5e": FILE}
    )
    told = overview_rows(found, now)
    command = f'subagent_resume {{"sessionPath": "{FILE}"}}'
    texts = [row.text for row in status_rows(look(ZETA, BETA), 0, told)]
    assert [text for text in texts if "ago:" not in text][:5] == [
        "strawboss: 2 runs, 1 stranded (looked 0 s ago)",
        "",
        "NEEDS YOU",
        '  "Zeta" (cd2f2e5e) of The Boss was given up: its pane could not be closed',
        f"    ask it to call {command}",
    ]
    assert texts[-4:-2] == ["", "RUNS"]
    assert [(row.run, row.command) for row in told if row.run] == [("cd2f2e5e", command), ("a213437c", "")]


def test_where_neither_is_the_runs_stand_alone() -> None:
    assert overview_rows(Seen(LAUNCHER, Watch.LOOKING, Reports.of((BETA,))), FAR) == []


@given(st.text(max_size=300))
def test_a_name_from_elsewhere_is_printable_in_every_row(name: str) -> None:
    found = Seen(
        LAUNCHER,
        Watch.LOOKING,
        Reports.of((replace(ZETA, name=name),)),
        FAR,
        Transcript(keys=(key("lost", "cd2f2e5e"),)),
    )
    assert all(row.text.isprintable() for row in overview_rows(found, FAR))
