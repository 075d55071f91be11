import pytest
from heartbeat.given import NOW, ago, beat, content, put

from strawboss.heartbeat import monitor
from strawboss.heartbeat.classify import Status
from strawboss.heartbeat.layout import Worktree
from strawboss.heartbeat.sweep import sweep


@pytest.fixture
def look(tmp_path):
    """Looks at one worktree's status directory, with these records in it."""
    directory = Worktree(tmp_path).status_directory
    directory.mkdir(parents=True)

    def look(*also, stale_after=1800.0, **records):
        for agent, fields in records.items():
            put(directory / f"{agent}.json", fields)
        return sweep([str(directory), *also], NOW, stale_after)

    return look


OLD = {"last_heartbeat_at": ago(hours=2)}


@pytest.mark.parametrize(
    ("fields", "word", "code"),
    [
        (content("a"), Status.OK, 0),
        (content("a", **OLD), Status.STALE, 1),
        (content("a", **OLD, phase="terminal", terminal_state="CLEAN"), Status.TERMINAL, 0),
        (content("a", **OLD, phase="poling"), Status.STALE_MALFORMED, 1),
        (content("a", phase="poling"), Status.MALFORMED, 1),
        (content("b"), Status.MALFORMED, 1),
        (b"{not json", Status.MALFORMED, 1),
        (content("a", phase=..., last_message=...), Status.MALFORMED, 1),
        (content("a", phase="terminal"), Status.MALFORMED, 1),
        (content("a", wait_kind="vibes"), Status.MALFORMED, 1),
    ],
)
def test_a_record_has_its_word_and_the_sweep_its_exit_code(look, fields, word, code):
    swept = look(a=fields)
    assert [line.status for line in monitor.lines(swept, None)] == [word]
    assert monitor.exit_code(swept) == code


def test_a_tighter_threshold_makes_two_minutes_stale(look):
    assert monitor.exit_code(look(a=content("a", last_heartbeat_at=ago(120)), stale_after=60)) == 1


def test_an_empty_directory_is_well_and_says_that_nobody_is_there(look):
    assert monitor.exit_code(look()) == 0
    assert monitor.result_line(look()) == "Result: NO AGENTS TO MONITOR"


def test_a_missing_directory_alone_or_with_an_empty_one_is_exit_2_and_beside_a_record_exit_1(look, tmp_path):
    gone = str(tmp_path / "gone")
    assert monitor.exit_code(sweep([gone], NOW)) == 2
    assert monitor.exit_code(look(gone)) == 2
    swept = look(gone, a=content("a"))
    assert monitor.exit_code(swept) == 1
    assert monitor.result_line(swept) == "Result: ATTENTION 1 directory error, 1 healthy"


def test_the_result_line_counts_what_needs_attention(look):
    assert monitor.result_line(look(a=content("a"))) == "Result: ALL AGENTS ALIVE"
    swept = look(b=content("b", **OLD), c=b"{")
    assert (
        monitor.result_line(swept) == "Result: ATTENTION 1 stale, 1 malformed, 0 directory errors, 1 healthy"
    )


def test_the_report_holds_every_field_other_tools_print(look):
    row = monitor.report(
        look(a=content("a", wait_kind="pr:watch", head_sha=" abc ", pr_number=77, incarnation="i-1")), None
    ).records[0]
    assert (row.agent_id, row.wait_kind, row.head_sha, row.pr_number) == ("a", "pr:watch", "abc", 77)
    assert (row.age_seconds, row.ok, row.failures, row.incarnation) == (60, True, [], "i-1")


def test_the_report_names_agents_that_two_records_claim(tmp_path):
    for root in ("one", "two"):
        beat(tmp_path / root)
    directories = [str(Worktree(tmp_path / root).status_directory) for root in ("one", "two")]
    assert monitor.report(sweep(directories, NOW), None).duplicate_agents == ["leaf-7"]


def test_each_line_says_what_to_do_next(look):
    swept = look(a=content("a"), b=content("b", **OLD), c=b"{")
    steps = [line.next_step for line in monitor.lines(swept, None)]
    assert steps[0] == ""
    assert "verify:subagent-alive" in steps[1]
    assert steps[2].startswith("malformed JSON")


def test_the_monitor_never_says_the_takeover_word(look):
    swept = look(a=content("a", **OLD), b=b"{")
    said = str(monitor.lines(swept, None)) + str(monitor.report(swept, None)) + monitor.result_line(swept)
    assert "REDISPATCH_OK" not in said
