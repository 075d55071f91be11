from datetime import UTC, datetime

import pytest
from hypothesis import given, strategies

from strawboss.heartbeat.utc import age_text, format_utc, parse_utc


@pytest.mark.parametrize(
    "text", ["2026-06-19T12:00:00Z", "2026-06-19T12:00:00+00:00", " 2026-06-19T12:00:00.123456789Z\n"]
)
def test_utc_times_are_understood(text):
    parsed = parse_utc(text)
    assert parsed is not None
    assert format_utc(parsed) == "2026-06-19T12:00:00Z"


@pytest.mark.parametrize(
    "text",
    [
        "2026-06-19T12:00:00+05:00",
        "2026-06-19T12:00:00-00:00",
        "2026-06-19T12:00:00",
        "2026-06-19T12:00:00z",
        "2026-06-19 12:00:00Z",
        "2026-06-19T12:00Z",
        "20260619T120000Z",
        "2026-06-19",
        "2026-02-30T00:00:00Z",
        "2026-06-19T24:00:00Z",
        "2026-06-19T23:59:60Z",
        "0000-01-01T00:00:00Z",
        "２０26-06-19T12:00:00Z",
        "June 19, 2026 12:00:00+00:00",
        "now",
        "",
    ],
)
def test_local_loose_and_impossible_times_are_not(text):
    assert parse_utc(text) is None


@given(strategies.datetimes(min_value=datetime(1000, 1, 1), timezones=strategies.just(UTC)))
def test_what_is_written_reads_back_to_the_second(moment):
    assert parse_utc(format_utc(moment)) == moment.replace(microsecond=0)


@given(strategies.text())
def test_no_text_raises(text):
    parse_utc(text)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(45, "45s"), (750, "12.5m"), (10800, "3.0h"), (None, "<unknown>"), (-90, "-1.5m"), (0, "0s")],
)
def test_ages_read_as_people_say_them(seconds, text):
    assert age_text(seconds) == text
