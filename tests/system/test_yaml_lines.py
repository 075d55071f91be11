from __future__ import annotations

import pytest
import yaml

from strawboss.system.yaml_lines import TwiceError, load

TEXT = """\
# a comment
agents:
  - name: a
    capabilities:
      x: 1
      y: 2

  - &b
    name: b
  - *b
"""


def test_the_value_is_plain_data() -> None:
    found = load(TEXT).value
    assert found == {
        "agents": [{"name": "a", "capabilities": {"x": 1, "y": 2}}, {"name": "b"}, {"name": "b"}]
    }
    assert load("# nothing\n").value is None


@pytest.mark.parametrize(
    ("place", "key", "line"),
    [
        ("", "", 1),
        ("agents", "", 2),
        ("agents[0]", "", 3),
        ("agents[0].name", "", 3),
        ("agents[0].capabilities.y", "", 6),
        ("agents[0]", "capabilities", 4),
        ("agents[0]", "none_of_its_keys", 3),
        ("agents[0].capabilities[...]", "", 4),  # as far as it goes
        ("agents[7].name", "", 2),
        ("agents[2].name", "", 9),  # where the alias leads
        ("nothing", "", 1),
    ],
)
def test_everything_has_its_line(place: str, key: str, line: int) -> None:
    assert load(TEXT).line(place, key) == line


def test_an_empty_text_has_one_line() -> None:
    assert load("").line("agents[0]") == 1


@pytest.mark.parametrize(
    ("text", "key", "first", "second"),
    [("a: 1\nb: 2\na: 3", "a", 1, 3), ("- x: {y: 1,\n   y: 2}", "y", 1, 2), ("? k\n: 1\n'k': 2", "k", 1, 3)],
)
def test_a_key_that_is_there_twice_is_refused_with_both_lines(
    text: str, key: str, first: int, second: int
) -> None:
    with pytest.raises(TwiceError) as caught:
        load(text)
    assert (caught.value.key, caught.value.first, caught.value.second) == (key, first, second)


@pytest.mark.parametrize(
    "text", ["a: {x: 1}\nb: {x: 2}", "1: a\n'1': b", "a: &n {x: 1}\nb: *n", "? [1]\n: a\n"]
)
def test_what_only_looks_alike_is_no_repetition(text: str) -> None:
    try:
        load(text)
    except yaml.YAMLError as error:
        assert "unhashable" in str(error)  # noqa: PT017 - a list as a key is YAML's own complaint


def test_an_alias_that_leads_back_to_itself_ends() -> None:
    assert load("&a [*a]").line("[0][0][0]") == 1


@pytest.mark.parametrize("text", ["a: [", "!!python/object/apply:os.system [id]", "a: 1\n--- \nb: 2"])
def test_what_is_no_yaml_is_yamls_own_error(text: str) -> None:
    with pytest.raises(yaml.YAMLError):
        load(text)
