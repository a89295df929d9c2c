"""Audit: whether the ledger is whole, and what each action rested on, as that stood then."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import partial
from typing import Any
from uuid import UUID

from nicegui import events, ui

from idetic.audit.chain import ChainHead
from idetic.audit.explanation import ExplainedEntry
from idetic.audit.findings import ChainProblem, Verified
from idetic.surfaces.console import elements as el
from idetic.surfaces.console.addresses import at, parsed
from idetic.surfaces.console.lineage import action_lineage
from idetic.surfaces.console.page_context import PageContext
from idetic.surfaces.console.wording import shortened, tail, words

_LISTED = 25
_PROBLEMS = 50


async def build(context: PageContext) -> None:
    """Build the page: the verification, and the actions, newest first."""
    wrong = ("This address names no action.", "Begin again from the menu.")
    before = context.parsed("before", UUID, *wrong)
    with el.card("The ledger"):
        el.text(
            "p",
            "Every link is hashed again away from the database, and every entry compared with what "
            "the chain says of it.",
            "quiet",
        )
        _verification(context)
    found = await (await context.memory()).actions(limit=_LISTED, before=before)
    rows = []
    for each in found:
        name, address = f"{words(each.kind)} {tail(each.action_id)}", at(f"/audit/{each.action_id}")
        count = "1 entry" if each.entries == 1 else f"{each.entries} entries"
        rows.append((each.at, partial(el.link, name, address), each.reason, each.by, count))
    with el.card("Actions"):
        if not found:
            el.empty(
                "No action rests on this memory." if before is None else "These were all of them.",
                "`memory.link_action` records what an action rested on; then it can be explained "
                "for good.",
            )
            return
        el.table(("When", "Action", "Why", "By", "Rests on"), rows, "Actions")
        if len(found) == _LISTED:
            with el.row():
                el.link("Older", at("/audit", before=found[-1].action_id), "button")


def _verification(context: PageContext) -> None:
    """Show a button that verifies the ledger, its progress, and what was found."""

    async def verify(event: events.GenericEventArguments) -> None:
        """Verify the ledger, against a head if one was given, and show what was found."""
        wrong = ("This head is no JSON.", "Paste the whole file that was saved here.")
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
            _verified(found)

    with el.socket_form():
        label, hint = "A head that you kept (optional)", '{"position": …}'
        el.field(label, wide=True, tag="textarea", name="head", rows="1", placeholder=hint)
        button = el.socket_button("Verify", verify, "primary")
    place = el.text("div", cls="stack", aria_live="polite")


def _verified(found: Verified) -> None:
    """Show whether the ledger is whole, its problems, and the button that saves its head."""
    if found.intact:
        kept = " and agrees with the head that you kept" if found.compared else ""
        el.notice("The ledger is whole.", f"Nothing was changed, cut or added{kept}.", "good")
    else:
        count = len(found.problems) + found.more
        el.notice(f"{count} problem(s) were found.", "Keep the database as it is, and compare.")
        rows = []
        for one in found.problems[:_PROBLEMS]:
            place = "-" if one.position is None else str(one.position)
            rows.append((place, words(one.kind), partial(_about, one), one.why))
        el.table(("Position", "Kind", "About", "Why"), rows, "Problems")
    with el.row():
        el.text("span", f"The chain ends at position {found.head.position:,}.", "quiet")
        name, data = f"head-{found.head.position}.json", found.head.as_data()
        el.button("Save this head", partial(_download, name, data), "small")


def _about(one: ChainProblem) -> None:
    """Show what a problem is about, with a link to the entry if there is one."""
    el.text("span", f"{one.what} ")
    if one.entry_id is not None:
        el.link(tail(one.entry_id), at(f"/entries/{one.entry_id}"), "mono")


def _download(name: str, data: Any) -> None:
    """Have the browser save data as a JSON file."""
    ui.download.content(json.dumps(data, indent=2, default=str), name, "application/json")


async def build_action(context: PageContext) -> None:
    """Build the page of one action: its entries as they stood then, and everything behind them."""
    wrong = ("This address names no action.", "Choose one from the list under Audit.")
    action_id = context.path_id("action_id", *wrong)
    found = await (await context.memory()).explain_action(action_id)

    async def export() -> None:
        """Have the browser save the whole explanation."""
        # Asked for anew: the login may have ended by now.
        again = await (await context.memory()).explain_action(action_id)
        _download(f"action-{action_id}.json", again.as_data())

    el.link("All actions", at("/audit"))
    with el.card(f"{words(found.kind).capitalize()} {tail(found.action_id)}"):
        el.facts(
            {
                "When": found.at,
                "Linked by": found.by,
                "Why": found.reason,
                "Rests on": str(len(found.entries)),
                "Behind that": str(len(found.made_of)),
            }
        )
        with el.row():
            el.button("Export as JSON", export, "primary")
        if found.more:
            el.notice("There is more behind it.", "The walk stopped at its bound.", "warn")
    with el.card("The chain, as of then"):
        action_lineage(found)
    _entries("What it rested on", found.entries)
    if found.made_of:
        _entries("What that was made of", found.made_of.values())


def _entries(title: str, entries: Iterable[ExplainedEntry]) -> None:
    """Show a card of entries as they stood at the action."""
    with el.card(title):
        for each in entries:
            with el.text("article", cls="hit", id=f"entry-{each.id}"):
                _entry(each)


def _entry(each: ExplainedEntry) -> None:
    """Show an entry as it stood then, and whether it changed since."""
    if each.then is not None:
        el.note(each.then.body_text)
    with el.row("small"):
        if each.then is None:
            el.text("strong", "Gone with its scope")
        kind = "good" if each.state_then == "current" else ""
        el.badge(f"then {words(each.state_then or 'unknown')}", kind)
        if each.state_now != each.state_then:
            el.badge(f"now {words(each.state_now or 'gone')}", "warn")
        el.text("span", f"written by {each.written_by}", "quiet")
        el.moment(each.written_at)
        el.link(f"Entry {tail(each.id)}", at(f"/entries/{each.id}"))
    for ref in each.references:
        then = "" if ref.version is None else f", version {ref.version} then"
        now = f", version {ref.version_now} now" if ref.changed else ""
        el.text("p", f"Refers to {words(ref.noun)} {tail(ref.id)}{then}{now}", "small")
    for title, lines in _evidence(each).items():
        # Folded away: most readers want the words, and some everything.
        if lines:
            with el.aside(f"{title} ({len(lines)})"), el.text("ul", cls="list"):
                for line in lines:
                    el.text("li", line)


def _evidence(each: ExplainedEntry) -> dict[str, list[str]]:
    """Return the lists behind an entry, each by its title."""
    return {
        "Supported by": [
            f"{words(one.source_type)}, {one.by}, {one.at:%Y-%m-%d %H:%M}"
            + (f": {shortened(one.notes)}" if one.notes else "")
            for one in each.corroborations
        ],
        "Shown to": [f"{one.by}, {one.at:%Y-%m-%d %H:%M}" for one in each.reads],
        "Made of": [
            f"{tail(one.entry_id)} {words(one.relation or '')} {words(one.origin or '')}"
            for one in each.sources
        ],
        "Decisions until then": [
            f"{one.position}: {words(one.transition)}, {one.actor_kind}:{one.actor}, {one.reason}"
            for one in each.decisions
        ],
    }
