"""Whose memory: the anchors of a login, and everything known about one of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from idetic.assistant.why import MAX_ASKED, Reason
from idetic.erasure import ErasedAnchor
from idetic.library.handles import Memory
from idetic.model import Capability, Entry
from idetic.surfaces.console import elements as el
from idetic.surfaces.console.addresses import BASE, at
from idetic.surfaces.console.correction import Correction
from idetic.surfaces.console.decision_form import Choice, DecisionForm, unchanged
from idetic.surfaces.console.markup import part, show
from idetic.surfaces.console.page_context import PageContext
from idetic.verbs.arguments import MAX_PAGE

# The page shows what a prompt may have no room for.
_WHOLE_PROFILE = 100_000
# As many of each kind as a page shows at first.
_SHOWN = 20
_FORGOTTEN = 20
_ANCHORS = 100
_NEVER = datetime.min.replace(tzinfo=UTC)


async def build(context: PageContext) -> None:
    """Build the page: what is known, each line with its evidence; then what was forgotten."""
    place = el.text("div", cls="page")

    async def draw() -> None:
        """Show the page as it is now; an edit changes it."""
        place.clear()
        with place:
            await _known(context, draw)

    await draw()
    if context.may(Capability.ERASE):
        done = f"Everything about {context.whose} is erased."
        choice = Choice("Erase everything", _erase, done, "danger", typed=context.whose)
        with el.text("details", cls="card"):
            el.text("summary", f"Forget everything about {context.whose}")
            said = f"This removes the text of everything that memory knows about {context.whose}. "
            el.text("p", f"{said}Nobody can undo it. You get a receipt.", "quiet")
            DecisionForm(context, [choice], context.whose, unchanged)


async def _known(context: PageContext, changed: el.Handler) -> None:
    """Show facts, wishes and open points with their evidence, and what was forgotten."""
    memory = await context.memory()
    found = await memory.profile(budget=_WHOLE_PROFILE)
    sections = {
        "Facts": found.facts,
        "Preferences, and how things are done": found.preferences,
        "Not confirmed yet": found.unconfirmed,
    }
    # A profile reads so many entries of each kind, and keeps what its budget has room for.
    known = len(found.left_out) + sum(map(len, sections.values()))
    or_more = " or more" if found.left_out or known >= MAX_PAGE else ""
    shown = context.shown(_SHOWN)
    read = [each for entries in sections.values() for each in entries[:shown]]
    reasons = await _reasons(memory, read)
    if not any(sections.values()):
        part(
            "empty",
            f"Nothing is known about {context.whose} yet.",
            "A fact appears here when enough sources say it, or when somebody states it.",
        )
    for title, entries in sections.items():
        if entries:
            with el.card(f"{title} ({len(entries):,}{or_more})"):
                _entries(context, entries[:shown], reasons, changed)
    conversations = _conversations(reasons.values())
    erased = await memory.erasures(limit=_FORGOTTEN)
    hidden = sum(max(0, len(each) - shown) for each in sections.values())
    following = context.again("/person", shown=shown + _SHOWN) if hidden else None
    told = {"more": len(found.left_out) + hidden, "or_more": or_more, "following": following}
    show("person.html", conversations=conversations, erased=erased, **told)


def _entries(
    context: PageContext,
    entries: Sequence[Entry],
    reasons: dict[UUID, Reason],
    changed: el.Handler,
) -> None:
    """Show each entry as a sentence with its evidence, and a way to correct it."""
    with el.text("ul", cls="known"):
        for entry in entries:
            with el.text("li"):
                with el.text("div", cls="shown") as said:
                    show("known.html", entry=entry, sayings=reasons[entry.id].sayings)
                Correction(context, entry, changed, said)


async def _reasons(memory: Memory, entries: Sequence[Entry]) -> dict[UUID, Reason]:
    """Return the words that each entry rests on, as many entries at once as may be asked."""
    ids, found = [entry.id for entry in entries], {}
    for first in range(0, len(ids), MAX_ASKED):
        for reason in await memory.why(ids[first : first + MAX_ASKED]):
            found[reason.entry.id] = reason
    return found


@dataclass(slots=True)
class _Conversation:
    """A conversation behind entries: when it was, what was said first, how many entries it has."""

    id: UUID
    at: datetime
    said: str
    entries: int = 0


def _conversations(reasons: Iterable[Reason]) -> list[_Conversation]:
    """Return the conversations behind entries, the newest first."""
    found: dict[UUID, _Conversation] = {}
    for reason in reasons:
        for one in {one.conversation: one for one in reason.sayings}.values():
            if (name := one.conversation) is not None:
                said = one.text or reason.entry.body_text
                known = found.setdefault(name, _Conversation(name, one.said_at, said))
                known.entries += 1
                if one.said_at < known.at:
                    known.at, known.said = one.said_at, said
    return sorted(found.values(), key=lambda one: one.at, reverse=True)


async def _erase(memory: Memory, reason: str) -> ErasedAnchor:
    """Erase the whole anchor."""
    return await memory.erase_anchor(reason=reason)


async def build_anchors(context: PageContext) -> None:
    """Build the list of anchors, on each page the latest first; each row's button opens one."""
    wrong = ("This address names no place in the list.", "Open the list from the menu.")
    after = context.parsed("after", UUID, *wrong)
    # Not this page's memory, which may be one anchor already: the list is of all of them.
    memory = await context.logins.memory(context.token)
    found = await memory.anchors(limit=_ANCHORS, after=after)
    opened = [name for name, value in memory.scope.anchor.items() if value is None]
    names = context.logins.names
    rows = [
        (
            await names.of(context.spec, one.keys),
            one,
            {name: one.keys[name] for name in opened},
            dict(one.keys) == dict(context.scope.anchor),
        )
        for one in sorted(found, key=lambda one: one.last_write or _NEVER, reverse=True)
    ]
    full = len(found) == _ANCHORS
    show(
        "anchors.html",
        rows=rows,
        base=BASE,
        here=at("/anchors"),
        person=at("/person"),
        chosen=context.whole,
        following=at("/anchors", after=found[-1].id) if full else None,
    )
