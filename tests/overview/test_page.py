"""The page: what needs a person first, each thing with its exact command, the quiet ones in one line."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from overview.test_judge import BACK, NOW, REPORTED, STRANDED, TRACKED, failed, seen
from recovery.given import FILE, LAUNCHER, RUN, key

from strawboss.overview.judge import view
from strawboss.overview.layout import joined
from strawboss.overview.page import SHOWN, page
from strawboss.overview.seen import Seen, Watch
from strawboss.recovery.memory import RunReport
from strawboss.recovery.observing import MAY_ACT


def shown(*found: Seen, width: int | None = None) -> list[str]:
    blocks = page([view(one, NOW) for one in found], NOW)
    return joined((line for block in blocks for line in block.lines), width, colours=False)


def test_without_launchers_it_says_so() -> None:
    assert shown() == ["strawboss: no session of yours has launched subagents in the last days"]


def test_everything_has_its_place() -> None:
    lines = shown(
        seen(Watch.LOOKING, TRACKED, REPORTED),
        seen(Watch.LOOKING, STRANDED),
        seen(Watch.LOOKING, REPORTED, keys=(failed("resumed", 200),)),
        seen(Watch.CLOSED, TRACKED),
    )
    assert [line for line in lines if not line.startswith("  1") and " ago: " not in line] == [
        "strawboss: 1 needs you, 1 recovered in the last 24 hours",
        "",
        "NEEDS YOU",
        f'  "Zeta" ({RUN}) of The Boss has not reported; its launcher is closed',
        f"    {BACK}",
        "",
        "RECOVERED IN THE LAST 24 HOURS",
        "",
        "UNDER WAY",
        f'  "Zeta" ({RUN}) of The Boss: restored, found once',
        "",
        "1 quiet launcher; 1 run at work and 1 settled; looked at 3 s ago",
    ]
    (recovered,) = [line for line in lines if " ago: " in line]
    assert recovered.endswith(f'3 min ago: "Zeta" ({RUN}) of The Boss was handed back to its launcher')


def test_what_stands_in_the_way_of_what_is_under_way_is_said() -> None:
    observed = replace(STRANDED, obstacle=MAY_ACT.no("mode: observe; it would be given up"))
    told = f'  "Zeta" ({RUN}) of The Boss: restored, found once; mode: observe; it would be given up'
    assert told in shown(seen(Watch.LOOKING, observed))


def test_those_that_one_command_sees_to_share_it() -> None:
    both = (TRACKED, replace(TRACKED, run="b2"))
    lines = shown(seen(Watch.CLOSED, *both))
    assert lines[0] == "strawboss: 2 need you"
    assert lines.count(f"    {BACK}") == 1


def test_who_is_to_do_what_is_said_with_the_command() -> None:
    assert "    in its pi: /reload" in shown(seen(Watch.HUNG, REPORTED))
    assert f'    ask it to call subagent_resume {{"sessionPath": "{FILE}"}}' in shown(
        seen(Watch.LOOKING, keys=(failed("lost"),))
    )


def test_where_nothing_is_to_be_copied_no_line_is_left_for_it() -> None:
    lines = shown(seen(Watch.LOOKING, TRACKED, keys=(key("warned", pane="w2:p1"),)))
    told = f'  "Zeta" ({RUN}) of The Boss is stranded again and left to you: go on with it in its pane w2:p1'
    assert lines[lines.index(told) + 1 :] == []


def test_of_many_the_first_are_shown_and_the_rest_counted() -> None:
    many = [replace(TRACKED, run=f"{number:08x}") for number in range(SHOWN + 7)]
    lines = shown(seen(Watch.CLOSED, *many))
    assert lines[0] == f"strawboss: {SHOWN + 7} need you"
    assert lines[-1] == "  and 7 more"


def test_a_launcher_without_a_name_is_called_by_its_directory() -> None:
    nameless = replace(LAUNCHER, name="", cwd="/home/me/api")
    assert " of api has not" in "\n".join(shown(seen(Watch.CLOSED, TRACKED, launcher=nameless)))


@given(st.text(max_size=300), st.text(max_size=300))
def test_names_of_other_programs_reach_the_terminal_as_one_printable_piece(name: str, session: str) -> None:
    run = RunReport(RUN, name, "", "tracked", None, stranded=False)
    lines = shown(seen(Watch.CLOSED, run, launcher=replace(LAUNCHER, name=session)), width=80)
    assert all(line.isprintable() for line in lines)
