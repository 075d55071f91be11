"""Each key with its line, groups one level deep, and what is no mapping told apart from what is no YAML."""

from __future__ import annotations

import pytest

from strawboss.system.yaml_keys import Key, NotKeysError, keys_in


def test_each_key_comes_with_its_line_and_value_also_the_second_time() -> None:
    assert keys_in(b"a: 1\n\nb: [x, y]\na: on\n", set()) == [
        Key("a", 1, 1),
        Key("b", 3, ["x", "y"]),
        Key("a", 4, True),
    ]


def test_the_keys_of_a_group_follow_it_and_an_empty_one_is_a_group_too() -> None:
    assert keys_in(b"g:\n  a: 1\n", {"g"}) == [Key("g", 1, is_group=True), Key("g.a", 2, 1)]
    assert keys_in(b"g:\n", {"g"}) == [Key("g", 1, is_group=True)]
    assert keys_in(b"g: 3\n", {"g"}) == [Key("g", 1, 3)]
    assert keys_in(b"g: {a: 1}\n", set()) == [Key("g", 1, {"a": 1})]


@pytest.mark.parametrize("content", [b"", b"# nothing\n", b"---\n", b"null\n"])
def test_nothing_has_no_keys(content: bytes) -> None:
    assert keys_in(content, set()) == []


@pytest.mark.parametrize(
    ("content", "line", "is_yaml"),
    [
        (b"- a\n", 1, True),
        (b"words\n", 1, True),
        (b"\na: [\n", 3, False),
        (b"\xff", None, False),
        (b"[" * 5000, None, False),
    ],
)
def test_what_is_no_mapping_is_told_apart_from_what_is_no_yaml(
    content: bytes, line: int | None, is_yaml: bool
) -> None:
    with pytest.raises(NotKeysError) as raised:
        keys_in(content, set())
    assert raised.value.line == line
    assert (raised.value.problem is None) == is_yaml


def test_what_cannot_be_constructed_has_the_reason_as_its_value() -> None:
    (key,) = keys_in(b"a: !!python/object/apply:os.system [echo]\n", set())
    assert isinstance(key.value, Exception)
