"""The resources: the spec as a page, and entries by id. Both in pages of a bounded size."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlsplit

from mcp.types import Resource, ResourceTemplate

from idetic.errors import CapabilityRefused, InputError, NotFound
from idetic.library.handles import Memory
from idetic.model import Capability, Entry
from idetic.recall.evidence import HEADER, short_id, visible
from idetic.spec.render import render
from idetic.surfaces.mcp import formatting
from idetic.surfaces.mcp.formatting import paged, start_of
from idetic.verbs.arguments import check_uuid
from idetic.verbs.authorization import readable_spec, reads_spec, require

SPEC = "idetic://spec"
ENTRIES = "idetic://entries"
PAGE = 20
_PREVIEW = 80
_LONGEST = 200

TEMPLATES = (
    ResourceTemplate(
        name="spec",
        title="The spec of this memory",
        uri_template=SPEC + "{?from}",
        description="What this agent's memory holds, allows and forgets, as a page.",
        mime_type="text/markdown",
    ),
    ResourceTemplate(
        name="entry",
        title="An entry",
        uri_template=ENTRIES + "/{entry_id}{?from}",
        description="One entry, quoted, with its origin and its history.",
        mime_type="text/plain",
    ),
)


async def listed(memory: Memory, cursor: str | None) -> tuple[list[Resource], str | None]:
    """The spec, then the current entries, newest first; and where to go on.

    Nothing for who may not look into memory.
    """
    before = None if cursor is None else check_uuid(cursor, "cursor")
    try:
        require(memory.agent.spec, memory.scope, Capability.READ)
    except CapabilityRefused:
        return [], None
    spec = Resource(
        name="spec",
        title=f"The memory spec of {memory.agent.spec.title}",
        uri=SPEC,
        description=f"Version {memory.agent.version} of {memory.agent.spec.agent}.",
        mime_type="text/markdown",
    )
    resources = [spec] if before is None and reads_spec(memory.agent.spec, memory.scope) else []
    entries = await memory.list(limit=PAGE, before=before)
    following = str(entries[-1].id) if len(entries) == PAGE else None
    return [*resources, *map(_resource, entries)], following


async def read(memory: Memory, uri: str, bound: int) -> tuple[str, str]:
    """A resource's text and its MIME type."""
    path, start = _parsed(uri)
    require(memory.agent.spec, memory.scope, Capability.READ)
    if path == SPEC:
        pieces = render(readable_spec(memory.agent.spec, memory.scope)).rstrip("\n").split("\n")
        on = "read " + SPEC + "?from={cursor}"
        return paged(pieces, bound, start=start, on=on), "text/markdown"
    if path.startswith(f"{ENTRIES}/"):
        entry_id = check_uuid(path.removeprefix(f"{ENTRIES}/"), "The entry's id")
        entry = await memory.get(entry_id)
        pieces = list(formatting.entry(entry))
        pieces += formatting.history(await memory.history(entry_id))
        on = f"read {ENTRIES}/{entry_id}?from={{cursor}}"
        return paged(pieces, bound, start=start, head=HEADER.rstrip(), on=on), "text/plain"
    raise NotFound(
        "There is no such resource.",
        remedy=f"There are {SPEC} and {ENTRIES}/ENTRY_ID.",
    )


def _parsed(uri: str) -> tuple[str, int]:
    """A resource's address without its query, and where to begin reading."""
    try:
        parts = urlsplit(uri[:_LONGEST])
        query = dict(parse_qsl(parts.query, strict_parsing=bool(parts.query)))
    except ValueError:
        raise InputError("This is not the address of a resource.") from None
    unknown = set(query) - {"from"}
    if unknown or parts.fragment or len(uri) > _LONGEST:
        raise InputError(
            "This is not the address of a resource.",
            remedy=f"Write it as {SPEC} or {SPEC}?from=20.",
        )
    return f"{parts.scheme}://{parts.netloc}{parts.path}", start_of(query.get("from"))


def _resource(entry: Entry) -> Resource:
    """An entry as a listed resource, with the beginning of its text."""
    first = " ".join(visible(entry.body_text).split())
    preview = first if len(first) <= _PREVIEW else f"{first[:_PREVIEW]}…"
    return Resource(
        name=f"entry {short_id(entry.id)}",
        title=f"{entry.tier} {entry.typology}, {entry.created_at:%Y-%m-%d %H:%M}Z",
        uri=f"{ENTRIES}/{entry.id}",
        description=f"Quoted: {preview}",
        mime_type="text/plain",
    )
