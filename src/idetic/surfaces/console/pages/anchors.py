"""Whose memory: the anchors that a login may see, how large each is, and what waits there."""

from __future__ import annotations

from uuid import UUID

from idetic.surfaces.console.addresses import BASE, at
from idetic.surfaces.console.markup import show
from idetic.surfaces.console.page_context import PageContext

_LISTED = 100


async def build(context: PageContext) -> None:
    """Build the list; a button of each row makes every page show that anchor alone."""
    wrong = ("This address names no place in the list.", "Open the list from the menu.")
    after = context.parsed("after", UUID, *wrong)
    # Not this page's memory, which may be one anchor already: the list is of all of them.
    memory = await context.logins.memory(context.token)
    found = await memory.anchors(limit=_LISTED, after=after)
    opened = [name for name, value in memory.scope.anchor.items() if value is None]
    names = context.logins.names
    rows = [
        (
            await names.of(context.spec, one.keys),
            one,
            {name: one.keys[name] for name in opened},
            dict(one.keys) == dict(context.scope.anchor),
        )
        for one in found
    ]
    full = len(found) == _LISTED
    show(
        "anchors.html",
        rows=rows,
        base=BASE,
        here=at("/anchors"),
        person=at("/person"),
        chosen=context.whole,
        following=at("/anchors", after=found[-1].id) if full else None,
    )
