"""Erasure: everything that names somebody is emptied, and a receipt says what went from where.

Whether a text names somebody is an exact look, after what makes no difference is taken away: case,
width, spacing and characters that show nothing are folded. An identifier is found as a whole:
`ada` is not in `adamant`, and `ada@example.com` is not in `ada@example.com.au`.
"""

from __future__ import annotations

import hashlib
import re
from asyncio import gather
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any
from uuid import UUID

from idetic.engine import Binding
from idetic.erasure import MAX_IDENTIFIER, Erased, Kept, Subject
from idetic.errors import InputError
from idetic.folding import characters
from idetic.ids import uuid7
from idetic.model import Capability, Decision, Entry, Receipt, Scope
from idetic.store import erasure_rows
from idetic.store.anchor_transaction import AnchorTransaction
from idetic.store.audit_rows import links_telling_reads, reads_left
from idetic.store.erasure_rows import ErasureTargets, Suspects
from idetic.store.steps import LinkStep, Step, TurnStep
from idetic.store.threads import erase_threads
from idetic.verbs.arguments import SHORT, Wire, check_text
from idetic.verbs.declaration import post, verb

_CHAINED = "the chain is over it: changing it would break every link after it"
_ACTED = "it says who acted; it is no content, and the ledger vouches for it"
_PROVIDED = "it is declared provenance, a label and no content"
_ANCHOR = "it is the key of the anchor itself; every row carries it"
_QUEUED = "a job names its anchor and ids of it, and no content; it goes when it is done"
_DEAD = "the trigram, word and vector indexes lead to dead rows until the next vacuum"
_MOST_JOBS = 1_000
# No row that can be read, so it counts none.
DEAD_ROWS = [Kept("memory", "indexes", 0, _DEAD)]
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
        'idetic erase --all --reason "request 17" {scope}',
    ),
)
async def erase(
    binding: Binding,
    subject: ErasedSubject,
    *,
    reason: str,
    idempotency_key: str | None = None,
) -> Erased:
    """Delete the content that names a subject, and all that was made from it, for good."""
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
    async with binding.erasing() as tx:
        if known := await binding.replayed(tx, idempotency_key, call):
            return erased_of(known)
        suspects = await erasure_rows.suspects(tx, mentions.runs)
        targets = await _targets(tx, suspects, mentions)
        columns, links = _kept_columns(suspects, mentions), _naming_links(suspects, mentions)
        receipt = uuid7()
        removed = await emptied(binding, tx, targets, reason, receipt)
        # Somebody may have given a name as the reason, of these entries or of any other link.
        named = await erasure_rows.unsay_links(tx, links.get("reason", ()))
        (about, witness), threads = await gather(
            erasure_rows.unsay(tx, targets.entries), erase_threads(tx, mentions.anywhere)
        )
        removed |= {"ledger": [str(position) for position in sorted(named)]} if named else {}
        removed |= {"checkpoints": list(threads.removed)} if threads.removed else {}
        keys = _kept_keys(tx, mentions)
        kept = [*columns, *_kept_links(links, named), *threads.kept, *keys]
        kept += await kept_jobs(binding) if keys else []
        kept += DEAD_ROWS if targets.entries else []
        told = {
            "entries": [str(one) for one in targets.entries],
            "removed": removed,
            "kept": [one.as_data() for one in kept],
            **(witness if named or about else {}),
        }
        decision = Decision.DELETE if removed else Decision.NOOP
        why = reason if removed else "nothing found"
        last = LinkStep("erasure", why, decision=decision, receipt=receipt, detail=told)
        return erased_of(await binding.settle_once(tx, [last], idempotency_key, call))


async def _targets(tx: AnchorTransaction, suspects: Suspects, mentions: Mentions) -> ErasureTargets:
    """All that names the subject, looked at exactly; and what was made of it."""
    direct = _naming(suspects, "mentioned", mentions)
    events = _naming(suspects, "logged", mentions)
    pairs = await erasure_rows.mirrored(tx, events, direct)
    events = sorted({*events, *(event for event, _ in pairs)})
    direct = sorted({*direct, *(entry for _, entry in pairs)})
    entries = sorted({*direct, *await erasure_rows.derived(tx, direct)})
    notes = [note for note in suspects.notes if mentions.within(note.text)]
    digests = await erasure_rows.digests(tx, entries, [note.row_id for note in notes])
    keys = _naming(suspects, "keyed", mentions)
    # Those about entries that go, go with them.
    beside = [note for note in notes if note.entry_id not in set(entries)]
    told = _naming(suspects, "operational", mentions)
    return ErasureTargets(entries, beside, digests, keys, events, told)


def _naming(suspects: Suspects, kind: str, mentions: Mentions) -> list[Any]:
    """The rows of one kind that name the subject, each by what identifies it."""
    return [one for one, *texts in suspects.rows.get(kind, ()) if mentions.within(*texts)]


async def emptied(
    binding: Binding, tx: AnchorTransaction, targets: ErasureTargets, reason: str, receipt: UUID
) -> dict[str, list[str]]:
    """Empty some targets for good, each entry with a link of its own; the ids by table."""
    stored, told = await gather(
        tx.stored(targets.entries), links_telling_reads(tx, targets.entries)
    )
    await binding.settle(tx, [_erased_link(tx, one.entry, reason, receipt) for one in stored])
    if not targets.found:
        return {}
    entries = {"memory": [str(one) for one in targets.entries]} if targets.entries else {}
    removed = await erasure_rows.empty(tx, targets)
    if told:
        # Those links count reads that are gone now: this one says what is left of them.
        left = {"reads_left": await reads_left(tx, told)}
        went = LinkStep(
            "reads_erased", reason, decision=Decision.DELETE, receipt=receipt, detail=left
        )
        await binding.settle(tx, [went])
    return entries | removed


def _erased_link(tx: AnchorTransaction, entry: Entry, reason: str, receipt: UUID) -> Step:
    """The link of one entry: that it was erased, by whom and why, and nothing of what it said."""
    gone = Decision.DELETE
    if entry.deleted_at is not None:
        return LinkStep("erased", reason, entry=entry, decision=gone, receipt=receipt)
    changes = {"deleted_at": tx.at}
    return TurnStep("erased", reason, changes, entry=entry, decision=gone, receipt=receipt)


def _kept_columns(suspects: Suspects, mentions: Mentions) -> list[Kept]:
    """Columns that name the subject and stay: who acted, and labels."""
    found: dict[tuple[str, str], int] = {}
    for table, column, value, count in suspects.columns:
        if mentions.within(value):
            found[table, column] = found.get((table, column), 0) + count
    return [
        Kept(table, column, count, _ACTED if column.endswith(_ACTOR_ENDS) else _PROVIDED)
        for (table, column), count in found.items()
    ]


def _naming_links(suspects: Suspects, mentions: Mentions) -> dict[str, list[int]]:
    """The links of the chain that name the subject, by the column that does."""
    links: dict[str, list[int]] = {}
    for position, *parts in suspects.rows["told"]:
        for column, part in zip(("reason", "actor", "detail"), parts, strict=True):
            if mentions.within(part):
                links.setdefault(column, []).append(position)
    return links


def _kept_links(links: Mapping[str, Sequence[int]], unsaid: Collection[int]) -> Iterator[Kept]:
    """What the chain still says of the subject: who acted, details, and why it was erased."""
    for column, positions in links.items():
        left = set(positions) - (set(unsaid) if column == "reason" else set())
        if left:
            yield Kept("ledger", column, len(left), _CHAINED, tuple(sorted(left)))


def _kept_keys(tx: AnchorTransaction, mentions: Mentions) -> list[Kept]:
    """The keys of the anchor that name the subject."""
    return [
        Kept("anchors", name, 1, _ANCHOR)
        for name, value in tx.scope.anchor.items()
        if mentions.within(value)
    ]


async def kept_jobs(binding: Binding) -> list[Kept]:
    """The jobs of this anchor that wait, run or failed: their arguments have the anchor's keys."""
    found = await binding.engine.queue.jobs(binding.scope, None, None, _MOST_JOBS, None)
    return [Kept("jobs", "args", len(found), _QUEUED)] if found else []


def _digest(mentions: Mentions, scope: Scope, key: str | None) -> str | None:
    """What tells two requests under one key apart, and is too slow to be guessed from."""
    if key is None:
        return None
    salt = "\x1f".join([scope.agent, *map(str, scope.anchor.values()), key])
    names = "\x1f".join(sorted(mentions.names))
    return hashlib.scrypt(names.encode(), salt=salt.encode(), n=2**14, r=8, p=1).hex()


def erased_of(receipt: Receipt) -> Erased:
    """What an erasure removed and kept, read off its receipt; a repeated call gets the same."""
    detail = receipt.detail
    removed = {table: tuple(ids) for table, ids in detail["removed"].items()}
    kept = [Kept(**(one | {"positions": tuple(one["positions"])})) for one in detail["kept"]]
    entries: Sequence[str] = detail["entries"]
    spared = tuple(map(UUID, detail.get("spared", ())))
    return Erased(receipt, tuple(map(UUID, entries)), removed, tuple(kept), spared)


def folded(text: str) -> str:
    """A text as it is compared: its characters folded as everywhere, and its case."""
    return " ".join(characters(text).casefold().split())


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

    def anywhere(self, text: str) -> bool:
        """Whether a text holds an identifier at all, also as part of a longer word.

        For packed values, in which a length may stand before a text like a letter of it.
        """
        shown = folded(text)
        return any(name in shown for name in self.names)

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
    # Between the words of a name may stand what somebody put there, or nothing.
    return before + r"[\W_]{0,3}".join(map(re.escape, name.split(" "))) + after
