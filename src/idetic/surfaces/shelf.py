"""The shelf: documents of one scope, put, found, and taken away without being lost."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from datetime import datetime
from typing import Any, TypeVar
from uuid import UUID

from idetic.errors import SpecError, TransitionRefused
from idetic.gateway.gateway import MAX_BATCH, raise_if_rejected
from idetic.ids import uuid7_text
from idetic.library.handles import Memory
from idetic.model import Claim, Entry, Observation, Tier, Typology
from idetic.spec.memory_spec import MemorySpec
from idetic.surfaces.documents import (
    Namespace,
    Put,
    StoredDocument,
    document,
    is_part,
    is_whole,
    namespace_of,
    observations,
    path_of,
    subject_of,
)
from idetic.verbs.arguments import MAX_HITS, MAX_LISTED, MAX_PAGE
from idetic.verbs.authorization import require_ungated

T = TypeVar("T")
Name = tuple[Namespace, str]
_KEYS = frozenset("namespace key version part parts since ttl expiring ranked".split())
_ATTEMPTS = 5
LEAST_BOUND = 500


class Shelf:
    """Documents in one agent's memory within one scope; needs a spec such as `framework_agent`."""

    def __init__(self, memory: Memory):
        _check(memory.agent.spec)
        # A value comes back word for word, or the parts of a long one do not fit together.
        require_ungated(memory.agent.spec, memory.scope)
        self._memory = memory
        self._bound = memory.agent.spec.backend.body_text_max

    def now(self) -> datetime:
        """The moment, by the clock that the database was opened with."""
        return self._memory.agent.engine.clock.now()

    async def get_many(self, names: Sequence[Name]) -> list[StoredDocument | None]:
        """What lies under each name, in order."""
        subjects = [subject_of(*name) for name in names]
        groups = await self._entries_of(subjects)
        documents = {subject: document(groups.get(subject, ())) for subject in set(subjects)}
        return [documents[subject] for subject in subjects]

    async def put_many(self, puts: Iterable[Put]) -> None:
        """Put values under their names, in one transaction per 10,000 entries.

        What lay there before is superseded, and kept. Of two for one name the later counts.
        """
        latest = {put.subject: put for put in puts}
        groups = await self._entries_of(list(latest))
        written: list[list[Observation]] = []
        for subject, put in latest.items():
            before = document(groups.get(subject, ()))
            since = None if before is None else before.created_at
            written.append(observations(put, subject, self._bound, since))
        for together in _by_size(written):
            for receipt in await self._memory.prefer_many(together):
                raise_if_rejected(receipt)
        for subject, parts in zip(latest, written, strict=True):
            # A part supersedes the one of its number; those beyond the new end stay current.
            left = [e for e in groups.get(subject, ()) if e.envelope["part"] >= len(parts)]
            if left:
                await self._archive(left, "a shorter version was put")

    async def delete_many(self, names: Iterable[Name], reason: str = "deleted") -> None:
        """Archive what lies under the names: it is no longer found, and its history stays."""
        subjects = list({subject_of(*name) for name in names})
        # Again if something was put meanwhile: what it superseded could not be archived.
        for _ in range(_ATTEMPTS):
            groups = await self._entries_of(subjects)
            # Heads first: without its head a document is not found, whatever happens then.
            entries = [entry for group in groups.values() for entry in group]
            entries.sort(key=lambda entry: entry.envelope["part"])
            if await self._archive(entries, reason):
                return

    async def pages(
        self, prefix: Namespace = (), *, expiring: bool = False, at_once: int = MAX_PAGE
    ) -> AsyncGenerator[list[StoredDocument]]:
        """Documents below a namespace, the one put last first; `expiring` ones alone, if asked."""
        where: dict[str, Any] = {"part": 0, **_below(prefix)}
        if expiring:
            where["expiring"] = "yes"
        before: UUID | None = None
        limit = min(at_once, MAX_PAGE)
        while True:
            heads = await self._memory.list(
                typology=Typology.PROCEDURAL, where=where, limit=limit, before=before
            )
            yield await self._documents(heads)
            if len(heads) < limit:
                return
            before = heads[-1].id

    async def over(self) -> list[StoredDocument]:
        """Every document whose time is over."""
        limited = [d async for page in self.pages(expiring=True) for d in page]
        return await self.expired(limited)

    async def search(
        self, prefix: Namespace, query: str
    ) -> list[tuple[StoredDocument, float | None]]:
        """The documents below a namespace that a query finds, best first, with their relevance.

        Relevance says of any two answers the same; a fused score compares within one alone.
        """
        recall = await self._memory.recall(
            query,
            limit=MAX_HITS,
            tiers=[Tier.PERSISTENT],
            typologies=[Typology.PROCEDURAL],
            where=_below(prefix),
        )
        best: dict[str, float | None] = {}
        for hit in recall:
            best.setdefault(_subject(hit.entry), hit.relevance)
        documents = await self._documents([hit.entry for hit in recall])
        return [(d, best[subject_of(d.namespace, d.key)]) for d in documents if d.ranked]

    async def namespaces(self) -> dict[Namespace, int]:
        """Every namespace that holds documents itself, and how many."""
        counted = await self._memory.tally("namespace", where={"part": 0})
        return {namespace_of(path): count for path, count in counted.items()}

    async def expired(self, documents: Iterable[StoredDocument]) -> list[StoredDocument]:
        """Those of the documents whose time is over."""
        limited = [d for d in documents if d.ttl is not None]
        now, over = self.now(), []
        for some in chunks(limited, MAX_LISTED):
            read = await self._memory.last_read([d.entries[0] for d in some])
            for one in some:
                end = one.expires_at(read.get(one.entries[0]))
                if end is not None and end <= now:
                    over.append(one)
        return over

    async def touch(self, documents: Iterable[StoredDocument]) -> None:
        """Record that documents were read; the time of those that expire begins anew."""
        limited = [d.entries[0] for d in documents if d.ttl is not None]
        for some in chunks(limited, MAX_LISTED):
            await self._memory.note_read(some)

    async def _documents(self, entries: Sequence[Entry]) -> list[StoredDocument]:
        """The documents that entries belong to, each once, in the entries' order."""
        entries = [e for e in entries if is_part(e)]
        long = [_subject(e) for e in entries if not is_whole(e)]
        entries_of = await self._entries_of(list(dict.fromkeys(long)))
        groups = {_subject(e): entries_of.get(_subject(e), [e]) for e in entries}
        found = map(document, groups.values())
        return [one for one in found if one is not None]

    async def _entries_of(self, subjects: Sequence[str]) -> dict[str, list[Entry]]:
        """The current entries of each subject; one that has none is left out."""
        groups: dict[str, list[Entry]] = {}
        for some in chunks(subjects, MAX_LISTED):
            for entry in filter(is_part, await self._memory.about(some)):
                groups.setdefault(_subject(entry), []).append(entry)
        return groups

    async def _archive(self, entries: Iterable[Entry], reason: str) -> bool:
        """Archive what is still current; says whether all of it was."""
        whole = True
        for entry in entries:
            try:
                await self._memory.archive(entry.id, reason=reason)
            except TransitionRefused:
                whole = False
        return whole


class Conversation:
    """What frameworks call a session or a chat history."""

    def __init__(self, shelf: Shelf, namespace: Namespace):
        self._shelf = shelf
        self._namespace = namespace

    async def append(self, values: Iterable[Mapping[str, Any]]) -> None:
        """Add values at the end: all of them or none."""
        await self._shelf.put_many([Put(self._namespace, uuid7_text(), each) for each in values])

    async def latest(self, limit: int | None = None) -> list[dict[str, Any]]:
        """The last so many values, or all, oldest first."""
        return [each.value for each in reversed(await self._newest(limit))]

    async def pop(self) -> dict[str, Any] | None:
        """Take the last value away; it is archived, and no longer part of the conversation."""
        last = await self._newest(1)
        await self._remove(last, "taken back")
        return last[0].value if last else None

    async def clear(self) -> None:
        """Take every value away."""
        await self._remove(await self._newest(None), "cleared")

    async def _newest(self, limit: int | None) -> list[StoredDocument]:
        """The last so many documents of the conversation, or all, newest first."""
        documents: list[StoredDocument] = []
        if limit is not None and limit <= 0:
            return documents
        pages = self._shelf.pages(self._namespace, at_once=limit or MAX_PAGE)
        async with aclosing(pages):
            async for page in pages:
                # What lies deeper is somebody else's.
                documents += [each for each in page if each.namespace == self._namespace]
                if limit is not None and len(documents) >= limit:
                    break
        return documents[:limit]

    async def _remove(self, documents: Iterable[StoredDocument], reason: str) -> None:
        """Archive documents of the conversation for a reason."""
        await self._shelf.delete_many([(d.namespace, d.key) for d in documents], reason)


def chunks(values: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """The values, so many at a time."""
    return (values[start : start + size] for start in range(0, len(values), size))


def _by_size(documents: Iterable[list[Observation]]) -> Iterator[list[Observation]]:
    """As many documents together as one transaction takes; the parts of one never apart."""
    together: list[Observation] = []
    for parts in documents:
        if len(together) + len(parts) > MAX_BATCH:
            yield together
            together = []
        together += parts
    if together:
        yield together


def _below(prefix: Namespace) -> dict[str, str]:
    """The filter for a namespace and all below it; none for the root."""
    return {"namespace": path_of(prefix)} if prefix else {}


def _subject(entry: Entry) -> str:
    """What an entry's claim is about; empty for an entry without a claim."""
    claim = entry.claim or Claim("", "", "")
    return claim.subject


def _check(spec: MemorySpec) -> None:
    """Refuse a spec under which documents could not be kept whole."""
    lacking = sorted(_KEYS - set(spec.retrieval.envelope))
    guarded = [c.noun for c in spec.references.canonical if c.body is not None]
    why = None
    if spec.backend.body_text_max < LEAST_BOUND:
        why = f"its notes have room for {spec.backend.body_text_max} characters"
    elif lacking:
        why = f"its envelope does not declare {', '.join(lacking)}"
    elif Typology.PROCEDURAL not in spec.typology.at(Tier.PERSISTENT):
        why = "its persistent tier holds no procedural memory"
    elif not spec.references.documents:
        why = "it refuses what has the shape of a record (`references.documents` is false)"
    elif guarded:
        why = f"its guard compares notes with each {guarded[0]}, and may refuse a part of a value"
    if why is not None:
        raise SpecError(
            f"The spec of {spec.agent} cannot hold documents: {why}.",
            remedy="Use `framework_agent`, or begin your own from `idetic spec render`'s source: "
            "its YAML is `idetic.spec.loader.shipped_text('framework_agent')`.",
        )
