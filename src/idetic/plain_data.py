"""Nouns as plain data: values of JSON's own types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from enum import Enum
from typing import Any


class PlainData:
    """A dataclass that can be told as plain data: its fields, always with the same keys."""

    __slots__ = ()

    def as_data(self) -> dict[str, Any]:
        """Plain data for JSON."""
        data: dict[str, Any] = plain(self)
        return data


def plain(value: Any) -> Any:  # noqa: PLR0911 - one line for each kind of value
    """A value in JSON's own types; hashes as hexadecimal, times as ISO 8601."""
    match value:
        case Enum():
            return value.value
        case None | bool() | int() | float():
            return value
        case Mapping():
            return {str(key): plain(each) for key, each in value.items()}
        case list() | tuple():
            return [plain(each) for each in value]
        case datetime():
            return value.isoformat()
        case bytes():
            return value.hex()
        case _ if is_dataclass(value):
            return {each.name: plain(getattr(value, each.name)) for each in fields(value)}
    return str(value)
