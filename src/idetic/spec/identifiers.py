"""What a spec declares as identifiers of its deployments: names, patterns, and where names stand.

A pattern is a glob and no regular expression, so that nobody can write one that takes a text's
square: `*` is up to 32 letters, digits, points and hyphens, `#` a whole number, `?` one letter or
digit.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, SerializerFunctionWrapHandler, StringConstraints, model_serializer

from idetic.spec.typology import SpecPart

_Key = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,62}$")]
IdentifierName = Annotated[str, StringConstraints(min_length=2, max_length=100)]
IdentifierGlob = Annotated[
    str, StringConstraints(max_length=60, pattern=r"^[A-Za-z0-9*?#][A-Za-z0-9*?#_.:/@ \-]*$")
]


class IdentifierLookup(SpecPart):
    """Where the names of this scope stand: a noun's column, an envelope's key, or provenance."""

    noun: _Key | None = None
    column: _Key | None = None
    envelope: _Key | None = None
    provenance: _Key | None = None

    def __str__(self) -> str:
        """The place in one word, as pages show it."""
        if self.noun:
            return f"{self.noun}.{self.column}"
        return f"envelope.{self.envelope}" if self.envelope else f"provenance.{self.provenance}"


class DeclaredIdentifiers(SpecPart):
    """What `strip_identifiers` takes besides the shapes it knows."""

    names: Annotated[tuple[IdentifierName, ...], Field(max_length=1000)] = ()
    patterns: Annotated[tuple[IdentifierGlob, ...], Field(max_length=100)] = ()
    lookups: Annotated[tuple[IdentifierLookup, ...], Field(max_length=10)] = ()

    def as_rows(self) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
        """Names, patterns and places as a page shows them."""
        return self.names, self.patterns, tuple(map(str, self.lookups))


class GateIdentifiers(SpecPart):
    """A part of a spec that may declare identifiers."""

    identifiers: DeclaredIdentifiers | None = None

    @model_serializer(mode="wrap")
    def _without_none(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out what was not declared: a spec from before has the digest it had."""
        told: dict[str, Any] = handler(self)
        if self.identifiers is None:
            told.pop("identifiers", None)
        return told
