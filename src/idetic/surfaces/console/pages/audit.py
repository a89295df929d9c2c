"""Audit: whether the ledger is whole, and what each action rested on, as that stood then."""

from __future__ import annotations

import json
from functools import partial
from uuid import UUID

from nicegui import events

from idetic.assistant.why import MAX_ASKED
from idetic.audit.chain import ChainHead
from idetic.surfaces.console import elements as el
from idetic.surfaces.console.addresses import at, parsed
from idetic.surfaces.console.decision_form import download
from idetic.surfaces.console.lineage import action_lineage
from idetic.surfaces.console.markup import part, show
from idetic.surfaces.console.page_context import PageContext

_LISTED = 25


async def build(context: PageContext) -> None:
    """Build the page: the verification, and the actions, newest first."""
    wrong = ("This address names no action.", "Open Audit from the menu.")
    before = context.parsed("before", UUID, *wrong)
    with el.card("The ledger"):
        el.text(
            "p",
            "Verify computes the hash of every ledger link again, outside the database, and "
            "compares every entry with what the ledger says about it. The head is the end of the "
            "chain: with one that you saved, Verify also tells whether links were removed since.",
            "quiet",
        )
        _verification(context)
    found = await (await context.memory()).actions(limit=_LISTED, before=before)
    older = at("/audit", before=found[-1].action_id) if len(found) == _LISTED else None
    show("actions.html", found=found, older=older, later=before is not None)


def _verification(context: PageContext) -> None:
    """Show a button that verifies the ledger, its progress, and what was found."""

    async def verify(event: events.GenericEventArguments) -> None:
        """Verify the ledger, against a head if one was given, and show what was found."""
        wrong = ("This head is not JSON.", "Paste the whole file that “Save this head” saved.")
        given = event.args["head"].strip()
        head = ChainHead.from_data(parsed(given, json.loads, *wrong)) if given else None
        memory = await context.memory()
        el.clear_notices()
        place.clear()
        with place:
            said = el.text("p", "Reading the chain…", "quiet")
            bar = el.text("progress", max="1", value="0", aria_label="Links verified")

        def progress(done: int, total: int) -> None:
            """Show how many links are verified so far."""
            bar.props.update({"max": str(max(total, 1)), "value": str(done)})
            bar.update()
            said.set_text(f"{done:,} of {total:,} links")

        with el.disabled(button):
            found = await memory.verify(head, progress)
        said.set_text(f"{found.links:,} links and {found.entries:,} entries were checked.")
        with place:
            show("verified.html", found=found)
            with el.row():
                el.text("span", f"The chain ends at position {found.head.position:,}.", "quiet")
                name, data = f"head-{found.head.position}.json", found.head.as_data()
                el.button("Save this head", partial(download, name, data), "small")

    with el.socket_form():
        attributes = {"name": "head", "rows": 1, "placeholder": '{"position": …}'}
        part(
            "field",
            "A head that you saved earlier (optional)",
            attributes,
            wide=True,
            tag="textarea",
        )
        button = el.socket_button("Verify", verify, "primary")
    place = el.text("div", cls="stack", aria_live="polite")


async def build_action(context: PageContext) -> None:
    """Build the page of one action: its entries as they stood then, and everything behind them."""
    wrong = ("This address names no action.", "Choose one from the list under Audit.")
    action_id = context.path_id("action_id", *wrong)
    found = await (await context.memory()).explain_action(action_id)

    async def export() -> None:
        """Have the browser save the whole explanation."""
        # Asked for anew: the login may have ended by now.
        again = await (await context.memory()).explain_action(action_id)
        download(f"action-{action_id}.json", again.as_data())

    part("link", "All actions", at("/audit"))
    with el.card():
        show("action_facts.html", found=found)
        with el.row():
            el.button("Export as JSON", export, "primary")
    there = [each.id for each in found.entries if each.state_now is not None][:MAX_ASKED]
    reads = {(one.at, one.by, one.session_id) for each in found.entries for one in each.reads}
    show(
        "action.html",
        found=found,
        reasons=await (await context.memory()).why(there) if there else [],
        readers=sorted(reads, key=lambda one: one[0], reverse=True),
        lineage=action_lineage(found),
    )
