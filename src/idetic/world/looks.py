"""Looks at memory: the parts of it that a story shows, read back as rows; names replace ids.

Everything is read through the handles that anybody has.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING
from uuid import UUID

from idetic.evidence import ContradictionStatus, ProposalStatus
from idetic.model import Entry, EntryState, LedgerRecord, Tier, Typology
from idetic.store.steps import KEPT
from idetic.verbs.arguments import MAX_PAGE
from idetic.world.story import Row, Sections

if TYPE_CHECKING:
    from idetic.world.performance import Performance

_MEMORY = "facts habits candidates replaced archived due contradictions kept dropped written"
_SETTLED = (ContradictionStatus.DISMISSED, ContradictionStatus.PROMOTED)
_COUNTED = (
    "rules versions sessions observations facts habits candidates corroborations "
    "contradictions_open contradictions_settled proposals due archived replaced tombstoned kept "
    "quarantined erased refused echoes questions answered actions loops events notes dreams "
    "underived"
)
COUNTED = tuple(_COUNTED.split())
"""What is counted in a domain, in the order in which people are told."""


async def read_memory(play: Performance, what: str = "") -> Sections:
    """Everything there is, by what became of it, in the order in which it first stood there."""
    del what
    memory = play.cast.operator
    found: Sections = {section: [] for section in _MEMORY.split()}
    for name, entry_id in play.standing.items():
        section, row = await _standing(play, await memory.get(entry_id))
        found[section].append({"what": name, **row})
    for due in await memory.disposition():
        cause, since = due.cause.replace("_", " "), f"day {play.clock.day_of(due.due_at)}"
        row = {"what": await play.name(due.entry.id), "cause": cause, "since": since}
        found["due"].append(row)
    for each in await memory.contradictions(status=list(ContradictionStatus)):
        status, notes = each.status.replace("_", " "), each.resolution_notes or ""
        row = {"what": await play.name(each.entry_id), "status": status, "notes": notes}
        found["contradictions"].append(row)
    await _transient(play, found)
    return found


async def _standing(play: Performance, entry: Entry) -> tuple[str, Row]:
    """Where a persistent entry belongs, and what is to be said about it there."""
    day_of = play.clock.day_of
    last = {link.transition: link for link in await play.cast.operator.history(entry.id)}
    if entry.state in (EntryState.SUPERSEDED, EntryState.INVALIDATED):
        return "replaced", await _replaced(play, entry, last)
    if entry.state is EntryState.ARCHIVED:
        link = last["archived"]
        return "archived", {"on": f"day {day_of(link.at)}", "because": link.reason}
    says, evidence = {"says": entry.body_text}, await _evidence(play, entry)
    if entry.candidate:
        since = f"day {day_of(entry.created_at)}"
        missing = last["held"].reason
        return "candidates", says | {"since": since, "evidence": evidence, "missing": missing}
    began = last.get("promoted") or last["preferred"]
    row = says | {"since": f"day {day_of(began.at)}", "evidence": evidence}
    if entry.typology is Typology.PROCEDURAL:
        return "habits", row
    marks = [name for name, at in (("meta", entry.meta_at), ("exempt", entry.exempt_at)) if at]
    return "facts", row | {"marks": " ".join(marks)}


async def _evidence(play: Performance, entry: Entry) -> str:
    """Who says so: what counts, and in brackets what does not."""
    voices = []
    for one in await play.cast.operator.corroborations(entry.id):
        # Who gives his word counts once, however often.
        by = one.source_by.partition(":")[2]
        who = "operator" if by == play.cast.setting.operator else by
        voice = play.voices.get(one.source_ref, who)
        if one.withdrawn_at is None:
            voices.append(voice if one.source_type.independent else f"({voice})")
    return " ".join(dict.fromkeys(voices)) or "stated by the operator"


async def _replaced(play: Performance, entry: Entry, last: dict[str, LedgerRecord]) -> Row:
    """What took an entry's place, and from when to when it held itself."""
    how = entry.state.value
    other = entry.superseded_by or UUID(last["invalidated"].detail["replaced_by"])
    began, ended = last.get("promoted") or last["preferred"], last[how]
    stood = f"day {play.clock.day_of(began.at)} to {play.clock.day_of(ended.at)}"
    return {"how": how, "by": await play.name(other), "stood": stood}


async def _transient(play: Performance, found: Sections) -> None:
    """What outlived its scope and why, what was dropped without a trace, and how much in all."""
    there = {entry.id: entry for entry in await play.cast.operator.list(limit=MAX_PAGE)}
    gone: Counter[str] = Counter()
    for entry_id in play.observed:
        if entry_id in there:
            links = {link.transition for link in await play.cast.operator.history(entry_id)}
            acted = "action_linked" in links
            why = "an action rests on it" if acted else "it contradicts a rule"
            row = {"what": play.names[entry_id], "tier": there[entry_id].tier.value}
            found["kept"].append({**row, "because": why})
            continue
        if entry_id not in play.went:
            play.went[entry_id] = await _into(play, entry_id)
        if play.went[entry_id] is None:
            gone[play.names[entry_id]] += 1
    for what, times in sorted(gone.items()):
        refused = (what, "promotion_refused") in play.decided
        why = "refused by the promotion gate" if refused else "no claim, no rule, one thread"
        found["dropped"].append({"what": what, "times": str(times), "because": why})
    carried = len(play.observed) - gone.total() - len(found["kept"])
    counts = {"notes": len(play.observed), "into memory": carried, "dropped": gone.total()}
    found["written"] = [{name: str(count) for name, count in counts.items()}]


async def _into(play: Performance, entry_id: UUID) -> UUID | None:
    """The persistent entry that an observation went into, through its session, if any."""
    memory, standing = play.cast.operator, set(play.standing.values())
    last = (await memory.history(entry_id))[-1]
    while last.transition in ("dropped", KEPT) and "into" in last.detail:
        into = UUID(last.detail["into"])
        if into in standing:
            return into
        last = (await memory.history(into))[-1]
    return None


async def read_spec(play: Performance, what: str = "") -> Sections:
    """The declared memory that everything else follows from."""
    del what
    spec = play.cast.spec
    anchor = ", ".join(f"{key.name} {key.type}" for key in spec.anchor.keys)
    signals = ", ".join(f"{signal} {weight:g}" for signal, weight in spec.retrieval.signals.items())
    rows = {
        "agent": f"{spec.agent}: {spec.title}, version {play.cast.version}",
        "anchor": f"{anchor}; root {spec.anchor.root.noun}" if spec.anchor.root else anchor,
        "typology": "; ".join(f"{t}: {', '.join(spec.typology.at(t))}" for t in Tier),
        "signals": f"{signals}; fused by {spec.retrieval.fusion.method}",
        "references": ", ".join(f"{c.noun} ({c.table})" for c in spec.references.canonical),
        "guard": f"the agent reasons {spec.leak_defence.reasons} canonical content",
    }
    return {"spec": [{"primitive": name, "declared": says} for name, says in rows.items()]}


async def read_rules(play: Performance, what: str = "") -> Sections:
    """The canonical rules of the world, which memory refers to and never copies."""
    del what
    rules = play.rules.texts.items()
    rows = [{"rule": name, "strength": t.strength.value, "text": t.says} for name, t in rules]
    return {"rules": rows}


async def read_ledger(play: Performance, what: str) -> Sections:
    """The chain of one entry, and what stood in its place when it was new and stands there now."""
    memory, entry_id = play.cast.operator, play.standing[what]
    links = await memory.history(entry_id)
    then = [e for e in await memory.as_of(links[0].at) if e.typology is Typology.PROCEDURAL]
    now = await memory.list(typology=Typology.PROCEDURAL)
    chain = [
        {
            "position": str(link.position),
            "transition": link.transition,
            "actor": f"{link.actor_kind} {link.actor}",
            "reason": link.reason,
            "hash": link.hash.hex()[:12],
        }
        for link in links
    ]
    current = [
        {"asked": asked, "entry": str(entry.id), "says": entry.body_text}
        for asked, entries in ((f"as of {links[0].at.isoformat()}", then), ("now", now))
        for entry in entries
    ]
    return {"history": chain, "current": current}


def note_rows(play: Performance, entries: Sequence[Entry]) -> list[Row]:
    """Notes as a session holds them, oldest first."""
    rules = {ref.id: name for name, ref in play.rules.refs.items()}
    return [
        {
            "tier": entry.tier.value,
            "origin, trust": f"{entry.origin} {entry.trust}",
            "note": entry.body_text,
            "topic": entry.envelope.get("topic", ""),
            "refers to": ", ".join(f"{rules[r.id]}, v{r.version}" for r in entry.refs) or "nothing",
        }
        for entry in reversed(entries)
    ]


LOOKS: dict[str, Callable[[Performance, str], Awaitable[Sections]]] = {
    "memory": read_memory,
    "spec": read_spec,
    "rules": read_rules,
    "ledger": read_ledger,
}


async def count(play: Performance) -> dict[str, int]:
    """How much there is of what, when one domain's story is over."""
    operator = play.cast.operator
    counts: Counter[str] = Counter(dict.fromkeys(COUNTED, 0))
    counts.update(play.counts, rules=len(play.rules.refs), versions=play.rules.versions)
    counts.update(actions=len(play.actions), erased=len(play.emptied))
    current = {entry.id for entry in await operator.list(limit=MAX_PAGE)}
    for entry_id in current.union(play.standing.values()) - play.emptied:
        counts[_kind(await operator.get(entry_id))] += 1
        counts["corroborations"] += len(await operator.corroborations(entry_id))
    for row in await operator.contradictions(status=list(ContradictionStatus)):
        settled = row.status in _SETTLED
        counts["contradictions_settled" if settled else "contradictions_open"] += 1
    every = list(ProposalStatus)
    counts["proposals"] = len(await operator.proposals(status=every))
    counts["due"] = len(await operator.disposition())
    return {name: number for name, number in counts.items() if number}


def _kind(entry: Entry) -> str:
    """What a story counts an entry as: by its state, then its tier and its typology."""
    if entry.state is EntryState.CURRENT:
        if entry.tier is not Tier.PERSISTENT:
            return "kept"
        if entry.candidate:
            return "candidates"
        return "habits" if entry.typology is Typology.PROCEDURAL else "facts"
    if entry.state is EntryState.DELETED:
        return "tombstoned"
    return "archived" if entry.state is EntryState.ARCHIVED else "replaced"
