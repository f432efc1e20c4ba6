"""Writes a configuration as TOML."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from typing import Any


def value(item: Any) -> str:
    """A value as TOML. Tables are written inline."""
    if isinstance(item, bool):
        return "true" if item else "false"
    if isinstance(item, PathLike):
        item = fspath(item)
    if isinstance(item, str):
        return string(item)
    if isinstance(item, (int, float)):
        return repr(item)
    if isinstance(item, Mapping):
        return "{ " + ", ".join(f"{string(str(key))} = {value(own)}" for key, own in item.items() if own is not None) + " }"
    if isinstance(item, Sequence):
        return "[" + ", ".join(map(value, item)) + "]"
    raise TypeError(f"{type(item).__name__} is no value of a configuration: {item!r}")


def string(text: str) -> str:
    """A basic string. JSON's escapes are TOML's, apart from pairs of surrogates, which JSON leaves alone here."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def document(tables: Mapping[str, Any]) -> str:
    """A document with one line for each key of the root."""
    return "".join(f"{string(key)} = {value(own)}\n" for key, own in tables.items() if own is not None)
