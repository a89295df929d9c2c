"""The format of an export: JSON Lines between a header and a manifest. No I/O.

docs/reference/export-format.md defines it. Everything is spelt in exactly one way, so that the
manifest need not be read: whoever reads a file computes it, and compares the bytes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from idetic.errors import ExportRefused

FORMAT = "idetic-anchor"
VERSION = 1
LEDGER = "ledger"
_HEADER_KEYS = {"format", "version", "agent", "family", "anchor", "spec", "vectors", "rows"}

_text = json.JSONEncoder(ensure_ascii=False).encode


@dataclass(frozen=True, slots=True)
class Header:
    """What a file says of itself: whose memory, under which spec, how many rows of each kind."""

    agent: str
    family: str
    anchor: Mapping[str, Any]
    spec_version: int
    spec_digest: str
    vectors: bool
    rows: Mapping[str, int]

    def line(self) -> bytes:
        """The first line."""
        said = {
            "format": FORMAT,
            "version": VERSION,
            "agent": self.agent,
            "family": self.family,
            "anchor": plain_anchor(self.anchor),
            "spec": {"version": self.spec_version, "digest": self.spec_digest},
            "vectors": self.vectors,
            "rows": dict(self.rows),
        }
        return f"{_text(said)}\n".encode()

    @property
    def total(self) -> int:
        """How many rows the file has."""
        return sum(self.rows.values())


def read_header(line: bytes) -> Header:
    """The header that a first line says, or why it is none."""
    said = parsed(line)
    if not isinstance(said, dict) or said.get("format") != FORMAT:
        raise ExportRefused("This file is not an export of Idetic.")
    if said.get("version") != VERSION:
        raise ExportRefused(
            "This export is of another version of the format.",
            remedy=f"This release reads version {VERSION}. Nothing was written.",
        )
    try:
        made = Header(
            said["agent"], said["family"], said["anchor"], said["spec"]["version"],
            said["spec"]["digest"], said["vectors"], said["rows"],
        )  # fmt: skip
        sound = set(said) == _HEADER_KEYS and all(type(n) is int for n in made.rows.values())
        same = made.line() == line
    except (KeyError, TypeError, AttributeError):
        sound = same = False
    if not sound or not same:
        raise ExportRefused("The first line of this file is not an export's header.")
    return made


def plain_anchor(anchor: Mapping[str, Any]) -> dict[str, Any]:
    """Anchor values as JSON has them."""
    return {k: str(v) if isinstance(v, UUID) else v for k, v in anchor.items()}


def framed(kind: str) -> bytes:
    """What stands before each row of a kind; a row ends with a brace and a line feed."""
    return f'{{"kind": {_text(kind)}, "row": '.encode()


END = b"}\n"


@dataclass(slots=True)
class Seal:
    """Running hashes over the lines of a file, and the manifest that they come to."""

    whole: Any = field(default_factory=hashlib.sha256)
    kinds: dict[str, tuple[Any, int]] = field(default_factory=dict)
    position: int = 0
    head: str = ""

    def header(self, line: bytes, header: Header) -> None:
        """Take the first line."""
        self.whole.update(line)
        self.kinds = {kind: (hashlib.sha256(), 0) for kind in header.rows}

    def rows(self, kind: str, lines: bytes, count: int) -> None:
        """Take some lines of one kind."""
        self.whole.update(lines)
        digest, before = self.kinds[kind]
        digest.update(lines)
        self.kinds[kind] = (digest, before + count)

    def end(self, link: Mapping[str, Any]) -> None:
        """Take note of the last link of the chain: the head, for whoever kept one."""
        self.position, self.head = link["position"], str(link["hash"]).removeprefix("\\x")

    def counted(self) -> dict[str, int]:
        """How many rows of each kind were taken."""
        return {kind: count for kind, (_, count) in self.kinds.items()}

    def manifest(self) -> bytes:
        """The last line: a hash for each kind, the chain's head, a hash over all lines before."""
        kinds = {
            kind: {"rows": count, "sha256": digest.hexdigest()}
            for kind, (digest, count) in self.kinds.items()
        }
        head = {"position": self.position, "hash": self.head}
        said = {"kinds": kinds, "head": head, "sha256": self.whole.hexdigest()}
        return f"{_text({'manifest': said})}\n".encode()


def parsed(text: bytes) -> Any:
    """JSON, or a refusal that repeats nothing of it."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise ExportRefused("A line of this file is not JSON.") from None
