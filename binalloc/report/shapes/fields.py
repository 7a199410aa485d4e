"""This module reads the fields of a shape from its annotations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NotRequired, Union, get_args, get_origin, get_type_hints

from pydantic.fields import FieldInfo
from typing_extensions import is_typeddict

KEY = "<name>"
"""The sign in a path for any key of an object whose keys come from the input."""
_WORDS = {str: "text", int: "integer", float: "number", bool: "true or false", Any: "anything", NoneType: "null"}
"""Words of the page for the simple types."""


@dataclass(frozen=True)
class ShapeField:
    """A field of a shape has a type and a meaning."""

    name: str  #: key in the object
    type: Any  #: type without its meaning, and without null
    nullable: bool  #: whether the value may be null
    optional: bool  #: whether the field may be left out
    meaning: str  #: meaning, as `says` gives it


@cache
def fields_of(shape: type) -> tuple[ShapeField, ...]:
    """Return the fields of a shape, a TypedDict, in their order."""
    return tuple(_field(name, hint) for name, hint in get_type_hints(shape, include_extras=True).items())


def _field(name: str, hint: Any) -> ShapeField:
    optional = get_origin(hint) is NotRequired
    if optional:
        (hint,) = get_args(hint)
    meaning = ""
    if get_origin(hint) is Annotated:
        hint, *notes = get_args(hint)
        meaning = next((note.description or "" for note in notes if isinstance(note, FieldInfo)), "")
    members = _members(hint)
    nullable = NoneType in members and len(members) > 1
    kept = [member for member in members if member is not NoneType or not nullable]
    return ShapeField(name, kept[0] if len(kept) == 1 else Union[tuple(kept)], nullable, optional, meaning)  # noqa: UP007


def _members(hint: Any) -> list[Any]:
    return list(get_args(hint)) if get_origin(hint) in (Union, UnionType) else [hint]


def inner(type_: Any) -> list[tuple[str, type]]:
    """Return the shapes of the objects that a value holds, each with the path to them; [] if it holds none.

    A path is "" for the value itself, and has "[]" for each list and ".<name>" for each object with keys of the input.
    """
    if is_typeddict(type_):
        return [("", type_)]
    if get_origin(type_) in (Union, UnionType):
        return [found for member in get_args(type_) for found in inner(member)]
    step = {list: "[]", dict: f".{KEY}"}.get(get_origin(type_))
    if step is None:
        return []
    return [(step + way, shape) for way, shape in inner(get_args(type_)[-1])]


def words(type_: Any, link: Any = str, several: bool = False) -> str:
    """Return a type in words. link: function that makes the words for a shape. several: whether to use the plural."""
    if is_typeddict(type_):
        text = str(link(type_))
        return f"{text}s" if several and text == "object" else text
    origin, arguments = get_origin(type_), get_args(type_)
    if origin in (list, dict):
        whole = "list" if origin is list else "object"
        return f"{whole}{'s' * several} of {words(arguments[-1], link, several=True)}"
    if origin is Literal:
        return " or ".join(f"`{value}`" for value in arguments)
    if origin in (Union, UnionType):
        return " or ".join(dict.fromkeys(words(member, link, several) for member in arguments))
    text = _WORDS[type_]
    return f"{text}s" if several and type_ in (str, int, float) else text


def paths(shape: type) -> Iterator[tuple[str, ShapeField]]:
    """Yield the path of every field of a shape and of the objects in it, with the field."""
    for field in fields_of(shape):
        yield field.name, field
        for way, inside in inner(field.type):
            for path, deeper in paths(inside):
                yield f"{field.name}{way}.{path}", deeper
