"""Refusals: what the guard did not let in, on which days, over which canonical rows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from starlette.requests import Request

from idetic.model import LedgerRecord
from idetic.surfaces.console import parts
from idetic.surfaces.console.addresses import at
from idetic.surfaces.console.days import days_of
from idetic.surfaces.console.desk import Desk
from idetic.surfaces.console.wording import words

LISTED = 1_000


async def build(desk: Desk, request: Request) -> None:
    """The page: the refusals of some days, newest first."""
    asked, reason = days_of(request), request.query_params.get("reason", "").strip()
    memory = await desk.memory()
    since, until = asked.moments(memory.agent.engine.clock.now())
    found = await memory.refusals(since=since, until=until, limit=LISTED)
    shown = [each for each in found if not reason or each.reason == reason]
    title = ("Refused", words(reason), str(asked) if asked else "")
    with parts.card(" ".join(filter(None, title))):
        if len(found) == LISTED:
            parts.text("p", f"The newest {LISTED:,}; ask for fewer days to see others.", "quiet")
        if shown:
            refused(shown)
        else:
            parts.empty("Nothing was refused then.", "Notes that restate canonical content are.")
    with parts.row():
        parts.link("Overview", at("/overview"))


def refused(records: Sequence[LedgerRecord]) -> None:
    """Refusals as a table. Of what was refused there is nothing to show: it was not kept."""
    parts.table(
        ("When", "Who", "Why", "Over"),
        [(partial(parts.moment, one.at), one.actor, words(one.reason), _over(one))
         for one in records],
        caption="What the guard refused, newest first",
    )  # fmt: skip


def _over(record: LedgerRecord) -> str:
    """The canonical row that a note came near, where it was one."""
    noun, ref = record.detail.get("noun"), record.detail.get("id")
    return f"{words(noun)} …{str(ref)[-8:]}" if noun and ref else "-"
