"""YAML as plain data that still knows on which line each thing stands, and that says nothing twice."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import yaml

# libyaml where PyYAML was built with it: a file of a thousand entries in a tenth of the time.
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
STEP = re.compile(r"\.?([^.\[\]]+)|\[(\d+)\]")


class TwiceError(Exception):
    """A key is there twice in one mapping, of which YAML would silently keep the last. Lines from 1."""

    def __init__(self, key: str, first: int, second: int) -> None:
        super().__init__(key, first, second)
        self.key, self.first, self.second = key, first, second


@dataclass(frozen=True, slots=True)
class Lined:
    """`value` is plain data, None for an empty text."""

    value: object
    _root: yaml.Node | None

    def line(self, place: str, key: str = "") -> int:
        """Where `agents[2].budget` stands, or as much of it as there is; there, if it has it, its `key`. From 1."""
        node, line = self._root, 1
        for name, index in STEP.findall(place):
            found = _inside(node, name, index)
            if found is None:
                return line
            line, node = found
        inside = _inside(node, key, "")
        return inside[0] if inside else line


def load(text: str) -> Lined:
    """Raises yaml.YAMLError, RecursionError, ValueError and TwiceError."""
    loader = _Loader(text)
    try:
        root = loader.get_single_node()
        if root is None:
            return Lined(None, None)
        for node in _nodes(root, set()):
            _must_be_unique(node)
        return Lined(loader.construct_document(root), root)
    finally:
        loader.dispose()


def _nodes(node: yaml.Node, seen: set[int]) -> Iterator[yaml.Node]:
    # An alias is the node it stands for, and may lead back to where we come from.
    if id(node) in seen:
        return
    seen.add(id(node))
    yield node
    for child in node.value if isinstance(node, yaml.CollectionNode) else ():
        for part in child if isinstance(child, tuple) else (child,):
            yield from _nodes(part, seen)


def _must_be_unique(node: yaml.Node) -> None:
    lines: dict[tuple[str, str], int] = {}
    for key, _ in node.value if isinstance(node, yaml.MappingNode) else ():
        if not isinstance(key, yaml.ScalarNode):
            continue
        line = key.start_mark.line + 1
        if first := lines.get((key.tag, key.value)):
            raise TwiceError(key.value, first, line)
        lines[key.tag, key.value] = line


def _inside(node: yaml.Node | None, name: str, index: str) -> tuple[int, yaml.Node] | None:
    if isinstance(node, yaml.SequenceNode) and index and int(index) < len(node.value):
        item = node.value[int(index)]
        return item.start_mark.line + 1, item
    if isinstance(node, yaml.MappingNode):
        return next(
            ((key.start_mark.line + 1, value) for key, value in node.value if key.value == name != ""), None
        )
    return None
