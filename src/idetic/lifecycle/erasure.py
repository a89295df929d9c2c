"""Erasure: everything that names somebody is emptied, and a receipt says what went from where.

Whether a text names somebody is an exact look, after what makes no difference is taken away: case,
width, spacing and characters that show nothing are folded. An identifier is found as a whole:
`ada` is not in `adamant`, and `ada@example.com` is not in `ada@example.com.au`.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any
from uuid import UUID

from idetic.engine import Binding
from idetic.erasure import MAX_IDENTIFIER, Erased, Kept, Subject
from idetic.errors import InputError
from idetic.ids import uuid7
from idetic.model import Capability, Decision, Entry, Receipt, Scope
from idetic.store import erasure_rows
from idetic.store.anchor_transaction import AnchorTransaction
from idetic.store.erasure_rows import ErasureTargets
from idetic.store.steps import LinkStep, Step, TurnStep
from idetic.verbs.arguments import SHORT, Wire, check_text
from idetic.verbs.declaration import post, verb

_CHAINED = "the chain is over it: changing it would break every link after it"
_ACTED = "it says who acted; it is no content, and the ledger vouches for it"
_PROVIDED = "it is declared provenance, a label and no content"
_ANCHOR = "it is the key of the anchor itself; every row carries it"
_ACTOR_ENDS = "_by"
SHORTEST = 3
# Scripts that put no space between words, or join particles to a name: there a neighbour says
# nothing about where a name ends.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff"
)
_WORD = f"[^\\W{_UNSPACED}]"
_RUN = re.compile(r"[a-z0-9]+")
_SPACED = re.compile(f"[^{_UNSPACED}]")
# An address or a number goes on behind these; a name does not.
_JOINERS = r"[.+\-]"


def _identifiers(subject: Subject | str | Iterable[str]) -> list[str]:
    """The identifiers of a subject as they are sent, in whichever form it was given."""
    named = subject if isinstance(subject, Subject) else Subject(subject)
    return list(named.identifiers)


ErasedSubject = Annotated[
    Subject | str | Iterable[str], Wire("identifiers", list[str], _identifiers)
]


@verb(
    capability=Capability.ERASE,
    writes=True,
    http=post("/erasures", "governing"),
    examples=(
        'idetic erase --reason "request 17" --yes {scope} < identifiers.txt',
        'idetic erase "Zora Quell" zora@quell.example --reason "request 17" --yes {scope}',
    ),
)
async def erase(
    binding: Binding,
    subject: ErasedSubject,
    *,
    reason: str,
    idempotency_key: str | None = None,
) -> Erased:
    """Empty everything that names a subject, and what was made of it; this is for good."""
    mentions = Mentions(subject if isinstance(subject, Subject) else Subject(subject))
    reason = binding.gated_reason(reason)
    if idempotency_key is not None:
        check_text(idempotency_key, SHORT, "idempotency_key")
    if mentions.within(reason, idempotency_key):
        raise InputError(
            "The reason or the idempotency key names the subject; both are kept for good.",
            remedy="Give the number of the request instead. Nothing was erased.",
        )
    names = _digest(mentions, binding.scope, idempotency_key)
    call = {"verb": "erase", "reason": reason, "subject": names}
    async with binding.hold() as tx:
        if known := await binding.replayed(tx, idempotency_key, call):
            return _erased(known)
        targets = await _targets(tx, mentions)
        kept = await _kept(tx, mentions)
        receipt = uuid7()
        stored = await tx.stored(targets.entries)
        await binding.settle(tx, [_erased_link(tx, one.entry, reason, receipt) for one in stored])
        removed: dict[str, list[str]] = {}
        if targets.found:
            entries = {"memory": [str(one) for one in targets.entries]} if targets.entries else {}
            removed = entries | await erasure_rows.empty(tx, targets)
        told = {
            "entries": [str(one) for one in targets.entries],
            "removed": removed,
            "kept": [one.as_data() for one in kept],
        }
        decision = Decision.DELETE if removed else Decision.NOOP
        why = reason if removed else "nothing found"
        last = LinkStep("erasure", why, decision=decision, receipt=receipt, detail=told)
        return _erased(await binding.settle_once(tx, [last], idempotency_key, call))


async def _targets(tx: AnchorTransaction, mentions: Mentions) -> ErasureTargets:
    """All that names the subject, looked at exactly; and what was made of it."""
    direct = await _naming(tx, "mentioned", mentions)
    events = await _naming(tx, "logged", mentions)
    pairs = await erasure_rows.mirrored(tx, events, direct)
    events = sorted({*events, *(event for event, _ in pairs)})
    direct = sorted({*direct, *(entry for _, entry in pairs)})
    entries = sorted({*direct, *await erasure_rows.derived(tx, direct)})
    found = await erasure_rows.notes(tx, mentions.runs)
    notes = [note for note in found if mentions.within(note.text)]
    digests = await erasure_rows.digests(tx, entries, [note.row_id for note in notes])
    keys = await _naming(tx, "keyed", mentions)
    # Those about entries that go, go with them.
    beside = [note for note in notes if note.entry_id not in set(entries)]
    told = await _naming(tx, "operational", mentions)
    return ErasureTargets(entries, beside, digests, keys, events, told)


async def _naming(tx: AnchorTransaction, what: str, mentions: Mentions) -> list[Any]:
    """The rows of one kind that name the subject, each by what identifies it."""
    rows = await erasure_rows.naming(tx, what, mentions.runs)
    return [one for one, *texts in rows if mentions.within(*texts)]


def _erased_link(tx: AnchorTransaction, entry: Entry, reason: str, receipt: UUID) -> Step:
    """The link of one entry: that it was erased, by whom and why, and nothing of what it said."""
    gone = Decision.DELETE
    if entry.deleted_at is not None:
        return LinkStep("erased", reason, entry=entry, decision=gone, receipt=receipt)
    changes = {"deleted_at": tx.at}
    return TurnStep("erased", reason, changes, entry=entry, decision=gone, receipt=receipt)


async def _kept(tx: AnchorTransaction, mentions: Mentions) -> list[Kept]:
    """What names the subject and stays: links of the chain, who acted, labels, the anchor."""
    found: dict[tuple[str, str], int] = {}
    for table, column, value, count in await erasure_rows.kept_columns(tx, mentions.runs):
        if mentions.within(value):
            found[table, column] = found.get((table, column), 0) + count
    kept = [
        Kept(table, column, count, _ACTED if column.endswith(_ACTOR_ENDS) else _PROVIDED)
        for (table, column), count in found.items()
    ]
    links: dict[str, list[int]] = {}
    for position, *parts in await erasure_rows.naming(tx, "told", mentions.runs):
        for column, part in zip(("reason", "actor", "detail"), parts, strict=True):
            if mentions.within(part):
                links.setdefault(column, []).append(position)
    kept += [
        Kept("ledger", column, len(at), _CHAINED, tuple(sorted(at))) for column, at in links.items()
    ]
    kept += [
        Kept("anchors", name, 1, _ANCHOR)
        for name, value in tx.scope.anchor.items()
        if mentions.within(value)
    ]
    return kept


def _digest(mentions: Mentions, scope: Scope, key: str | None) -> str | None:
    """What tells two requests under one key apart, and is too slow to be guessed from."""
    if key is None:
        return None
    salt = "\x1f".join([scope.agent, *map(str, scope.anchor.values()), key])
    names = "\x1f".join(sorted(mentions.names))
    return hashlib.scrypt(names.encode(), salt=salt.encode(), n=2**14, r=8, p=1).hex()


def _erased(receipt: Receipt) -> Erased:
    """What an erasure removed and kept, read off its receipt; a repeated call gets the same."""
    detail = receipt.detail
    removed = {table: tuple(ids) for table, ids in detail["removed"].items()}
    kept = [Kept(**(one | {"positions": tuple(one["positions"])})) for one in detail["kept"]]
    entries: Sequence[str] = detail["entries"]
    return Erased(receipt, tuple(map(UUID, entries)), removed, tuple(kept))


def folded(text: str) -> str:
    """A text as it is compared."""
    if not text.isascii():
        shown = (c for c in text if unicodedata.category(c) != "Cf")
        text = unicodedata.normalize("NFKC", "".join(shown))
        text = unicodedata.normalize("NFKC", text.casefold())
        text = "".join(c for c in text if unicodedata.category(c) != "Cf")
    return " ".join(text.casefold().split())


class Mentions:
    """Finds one subject in texts."""

    def __init__(self, subject: Subject):
        names = [_checked(identifier) for identifier in subject.identifiers]
        # Longest first: an address before the name that it contains.
        names.sort(key=len, reverse=True)
        self._pattern = re.compile("|".join(map(_whole, names)))
        self.names = tuple(names)

    @property
    def runs(self) -> list[str]:
        """For a first look in the database: of each identifier, its longest run of ASCII.

        A text of ASCII alone that names the subject holds one of them, in some case. Any other
        text has to be looked at anyway, since width and hidden characters are folded here only.
        """
        longest = (max(_RUN.findall(name), key=len, default="") for name in self.names)
        return sorted({run for run in longest if run})

    def within(self, *values: object) -> bool:
        """Whether any of some texts, or of the values of a document, names the subject."""
        return any(self._pattern.search(folded(text)) for text in _texts(values))


def _texts(values: Iterable[Any]) -> Iterator[str]:
    """Every text within some values, keys included; numbers and ids as text too."""
    for value in values:
        if isinstance(value, str):
            yield value
        elif isinstance(value, Mapping):
            yield from _texts(value)
            yield from _texts(value.values())
        elif isinstance(value, list | tuple):
            yield from _texts(value)
        elif value is not None and not isinstance(value, bool):
            yield str(value)


def _checked(identifier: object) -> str:
    """An identifier as it is compared; refused if it is too short to name one person."""
    name = folded(check_text(identifier, MAX_IDENTIFIER, "An identifier"))
    # In a script that puts no space between words, one character less is enough.
    if len(name) < (SHORTEST if _SPACED.search(name) else SHORTEST - 1):
        raise InputError(
            "An identifier is too short to name one person.",
            remedy=f"Give at least {SHORTEST} characters: a full name, an address or an id.",
        )
    return name


def _whole(name: str) -> str:
    """An expression that finds a name only by itself, not as a part of a longer one."""
    strict = "@" in name or any(c.isdigit() for c in name)
    before, after = f"(?<!{_WORD})", f"(?!{_WORD})"
    if strict:
        before += f"(?<!{_WORD}{_JOINERS})"
        after += f"(?!{_JOINERS}{_WORD})"
    return f"{before}{re.escape(name)}{after}"
