"""The keys of a small YAML file, each with its line: what the user may have mistyped is told where it stands."""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass

import yaml

NULL = "tag:yaml.org,2002:null"


@dataclass(frozen=True, slots=True)
class Key:
    """`line` from 1. `is_group`: a mapping whose own keys follow, as `group.key`, or an empty one. What cannot be
    constructed has the exception as its value."""

    name: str
    line: int
    value: object = None
    is_group: bool = False


class NotKeysError(Exception):
    """The content is no mapping: `problem` is what YAML complains of, or None when it is just another `value`."""

    def __init__(self, line: int | None, problem: str | None, value: object = None) -> None:
        super().__init__(line, problem, value)
        self.line, self.problem, self.value = line, problem, value


def keys_in(content: bytes, groups: Set[str]) -> list[Key]:
    """Every key, also repeated ones, in order; raises NotKeysError."""
    try:
        root = yaml.compose(content.decode(), Loader=yaml.SafeLoader)
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise _not_yaml(error) from error
    if root is None or root.tag == NULL:
        return []
    if not isinstance(root, yaml.MappingNode):
        raise NotKeysError(1, None, _constructed(root))
    return list(_keys(root, "", groups))


def _keys(mapping: yaml.MappingNode, prefix: str, groups: Set[str]) -> Iterator[Key]:
    for key, value in mapping.value:
        name, line = prefix + str(key.value), key.start_mark.line + 1
        is_mapping = isinstance(value, yaml.MappingNode)
        if name in groups and (is_mapping or value.tag == NULL):
            yield Key(name, line, is_group=True)
            yield from _keys(value, f"{name}.", groups) if is_mapping else ()
        else:
            yield Key(name, line, _constructed(value))


def _not_yaml(error: Exception) -> NotKeysError:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "it is nested too deeply"
    return NotKeysError(mark.line + 1 if mark else None, str(problem))


def _constructed(node: yaml.Node) -> object:
    """The node as plain data; aliases cannot blow it up, for the file is small and anchors are shared, not copied."""
    try:
        return yaml.SafeLoader("").construct_document(node)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        return error
