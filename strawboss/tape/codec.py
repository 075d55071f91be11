"""Values of the core as plain JSON data, and back, for whatever dataclasses the core has.

| value | plain |
|---|---|
| dataclass | object of the members that differ from their default |
| `Unknown` | `{"unknown": why}`, and `"absent": true` where it is |
| enum | its value |
| set | sorted list |
| mapping | object; with keys that are no strings, a list of pairs |

What a newer or older version wrote is read by name: a member that is not known here is left out, one that is missing
has its default. Only a missing member without a default makes a value unreadable. A default that changes its meaning
needs another `FORMAT`.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable, Mapping
from enum import Enum
from functools import cache
from typing import Any, Union, get_args, get_origin, get_type_hints

from strawboss.recovery.verdict import Unknown

SCALARS = (str, int, float, bool, type(None))


class NotReadableError(ValueError):
    """Which value is not what this version understands, in one line."""


def plain(value: Any) -> Any:
    """JSON data for a value of the core."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, SCALARS):
        return value
    if isinstance(value, Unknown):
        return {"unknown": value.why, "absent": True} if value.absent else {"unknown": value.why}
    if isinstance(value, Mapping):
        return _plain_mapping(value)
    if isinstance(value, (set, frozenset)):
        return sorted((plain(one) for one in value), key=str)
    if isinstance(value, (tuple, list)):
        return [plain(one) for one in value]
    return {
        name: plain(getattr(value, name))
        for name, default in members(type(value))  # type: ignore[arg-type]
        if getattr(value, name) != default
    }


def _plain_mapping(value: Mapping[Any, Any]) -> Any:
    if all(isinstance(key, str) for key in value):
        return {key: plain(one) for key, one in value.items()}
    return [[plain(key), plain(one)] for key, one in value.items()]


@cache
def members(shape: Any) -> tuple[tuple[str, Any], ...]:
    """The names of a dataclass's members with their defaults; what has none is unlike everything."""
    return tuple((one.name, _default(one)) for one in dataclasses.fields(shape))


def _default(field: dataclasses.Field[Any]) -> Any:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return field.default


def typed(value: Any, shape: Any) -> Any:
    """The value of that type, from plain data; raises NotReadableError."""
    if shape is Any or shape is object:
        return value
    origin = get_origin(shape) or shape
    read = READERS.get(origin)
    if read is not None:
        return read(value, get_args(shape))
    if dataclasses.is_dataclass(origin):
        return _typed_dataclass(value, origin)
    if isinstance(origin, type) and issubclass(origin, Enum):
        return _typed_enum(value, origin)
    return _typed_scalar(value, origin)


def _typed_scalar(value: Any, shape: Any) -> Any:
    if shape is float and type(value) is int:
        return float(value)
    if type(value) is shape or (value is None and shape in (None, types.NoneType)):
        return value
    raise NotReadableError(f"{type(value).__name__} instead of {getattr(shape, '__name__', shape)}")


def _typed_enum(value: Any, shape: type[Enum]) -> Enum:
    try:
        return shape(value)
    except ValueError as error:
        raise NotReadableError(f"no {shape.__name__} is {str(value)[:40]!r}") from error


def _typed_dataclass(value: Any, shape: Any) -> Any:
    if shape is Unknown:
        return _unknown(_expected(value, dict))
    hints = hints_of(shape)
    known = {
        name: _member(shape, name, one, hints)
        for name, one in _expected(value, dict).items()
        if name in hints
    }
    try:
        return shape(**known)
    except TypeError as error:
        raise NotReadableError(f"{shape.__name__} lacks a member") from error


def _unknown(value: dict[str, Any]) -> Unknown:
    return Unknown(str(value.get("unknown", "")), value.get("absent") is True)


def _member(shape: type, name: str, value: Any, hints: Mapping[str, Any]) -> Any:
    try:
        return typed(value, hints[name])
    except NotReadableError as error:
        raise NotReadableError(f"{shape.__name__}.{name}: {error}") from error


@cache
def hints_of(shape: Any) -> Mapping[str, Any]:
    return get_type_hints(shape)


def _typed_union(value: Any, shapes: tuple[Any, ...]) -> Any:
    if value is None:
        return typed(None, types.NoneType) if types.NoneType in shapes else _refuse(value, shapes)
    if isinstance(value, dict) and "unknown" in value and Unknown in shapes:
        return _unknown(value)
    problems = []
    for shape in shapes:
        if shape not in (types.NoneType, Unknown):
            try:
                return typed(value, shape)
            except NotReadableError as error:
                problems.append(error)
    raise problems[0] if problems else _refuse(value, shapes)


def _refuse(value: Any, shapes: tuple[Any, ...]) -> Any:
    raise NotReadableError(f"{type(value).__name__} is none of {len(shapes)} kinds")


def _typed_tuple(value: Any, shapes: tuple[Any, ...]) -> tuple[Any, ...]:
    given = _expected(value, list)
    if len(shapes) == 2 and shapes[1] is Ellipsis:
        return tuple(typed(one, shapes[0]) for one in given)
    if len(given) != len(shapes):
        raise NotReadableError(f"{len(given)} members instead of {len(shapes)}")
    return tuple(typed(one, shape) for one, shape in zip(given, shapes, strict=True))


def _typed_set(value: Any, shapes: tuple[Any, ...]) -> frozenset[Any]:
    return frozenset(typed(one, shapes[0]) for one in _expected(value, list))


def _typed_mapping(value: Any, shapes: tuple[Any, ...]) -> dict[Any, Any]:
    key, one = shapes
    pairs = value.items() if isinstance(value, dict) else map(_pair, _expected(value, list))
    return {typed(name, key): typed(held, one) for name, held in pairs}


def _pair(value: Any) -> tuple[Any, Any]:
    first, second = _typed_tuple(value, (object, object))
    return first, second


def _expected(value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        raise NotReadableError(f"{type(value).__name__} instead of {kind.__name__}")
    return value


READERS: Mapping[Any, Callable[[Any, tuple[Any, ...]], Any]] = {
    Union: _typed_union,
    types.UnionType: _typed_union,
    tuple: _typed_tuple,
    frozenset: _typed_set,
    Mapping: _typed_mapping,
    dict: _typed_mapping,
}
