"""Audit: whether the ledger is whole, and what each action rested on."""

from __future__ import annotations

import json
from functools import partial
from uuid import UUID

from nicegui import events, ui
from starlette.requests import Request

from idetic.audit.chain import ChainHead
from idetic.audit.explanation import ActionRecord
from idetic.audit.findings import ChainProblem, Verified
from idetic.errors import InputError
from idetic.surfaces.console import notices, parts
from idetic.surfaces.console.acting import STAY, WITH_FORM
from idetic.surfaces.console.addresses import at
from idetic.surfaces.console.desk import Desk
from idetic.surfaces.console.wording import tail, words

PAGE = 25
_PROBLEMS = 50


async def build(desk: Desk, request: Request) -> None:
    """The page: the verification, and the actions, newest first."""
    before = _before(request)
    with parts.card("The ledger"):
        parts.text(
            "p",
            "Every link is hashed again away from the database, and every entry compared with what "
            "the chain says of it.",
            "quiet",
        )
        _Verification(desk)
    await _actions(desk, before)


def _before(request: Request) -> UUID | None:
    given = request.query_params.get("before")
    try:
        return UUID(given) if given else None
    except ValueError:
        raise InputError(
            "This address names no action.", remedy="Begin again from the menu."
        ) from None


async def _actions(desk: Desk, before: UUID | None) -> None:
    found = await (await desk.memory()).actions(limit=PAGE, before=before)
    with parts.card("Actions"):
        if not found:
            parts.empty(
                "No action rests on this memory." if before is None else "These were all of them.",
                "`memory.link_action` records what an action rested on; then it can be explained "
                "for good.",
            )
            return
        parts.table(
            ("When", "Action", "Why", "By", "Rests on"), map(_cells, found), caption="Actions"
        )
        if len(found) == PAGE:
            with parts.row():
                parts.link("Older", at("/audit", before=found[-1].action_id), "button")


def _cells(each: ActionRecord) -> tuple[parts.Cell, ...]:
    count = "1 entry" if each.entries == 1 else f"{each.entries} entries"
    return (partial(parts.moment, each.at), partial(_named, each), each.reason, each.by, count)


def _named(each: ActionRecord) -> None:
    parts.link(f"{words(each.kind)} {tail(each.action_id)}", at(f"/audit/{each.action_id}"))


class _Verification:
    """A button, how far it is, and what was found."""

    def __init__(self, desk: Desk):
        self._desk = desk
        with parts.text("form", cls="asking") as form:
            form.on("submit", js_handler=STAY)
            with parts.text("label", cls="field wide"):
                parts.text("span", "A head that you kept (optional)")
                parts.text("textarea", name="head", rows="1", placeholder='{"position": …}')
            self._button = parts.text("button", "Verify", "button primary", type="button")
            self._button.on("click", self._run, js_handler=WITH_FORM)
        self._place = parts.text("div", cls="stack", aria_live="polite")

    async def _run(self, event: events.GenericEventArguments) -> None:
        head = _head(event.args["head"])
        memory = await self._desk.memory()
        notices.clear()
        self._place.clear()
        self._button.props["disabled"] = True
        with self._place:
            said = parts.text("p", "Reading the chain…", "quiet")
            bar = parts.text("progress", max="1", value="0", aria_label="Links verified")

        def progress(done: int, total: int) -> None:
            bar.props.update({"max": str(max(total, 1)), "value": str(done)})
            bar.update()
            said.set_text(f"{done:,} of {total:,} links")

        try:
            found = await memory.verify(head, progress)
        finally:
            self._button.props.pop("disabled", None)
            self._button.update()
        said.set_text(f"{found.links:,} links and {found.entries:,} entries were checked.")
        with self._place:
            _verdict(found)


def _head(given: str) -> ChainHead | None:
    if not given.strip():
        return None
    try:
        data = json.loads(given)
    except ValueError:
        raise InputError(
            "This head is no JSON.", remedy="Paste the whole file that was saved here."
        ) from None
    return ChainHead.from_data(data)


def _verdict(found: Verified) -> None:
    if found.intact:
        kept = " and agrees with the head that you kept" if found.compared else ""
        parts.notice("The ledger is whole.", f"Nothing was changed, cut or added{kept}.", "good")
    else:
        count = len(found.problems) + found.more
        parts.notice(f"{count} problem(s) were found.", "Keep the database as it is, and compare.")
        parts.table(
            ("Position", "Kind", "About", "Why"),
            map(_problem, found.problems[:_PROBLEMS]),
            caption="Problems",
        )
    with parts.row():
        parts.text("span", f"The chain ends at position {found.head.position:,}.", "quiet")
        parts.button("Save this head", partial(_save, found.head), "small")


def _problem(one: ChainProblem) -> tuple[parts.Cell, ...]:
    place = "-" if one.position is None else str(one.position)
    about = partial(_about, one)
    return place, words(one.kind), about, one.why


def _about(one: ChainProblem) -> None:
    parts.text("span", f"{one.what} ")
    if one.entry_id is not None:
        parts.link(tail(one.entry_id), at(f"/entries/{one.entry_id}"), "mono")


def _save(head: ChainHead) -> None:
    text = json.dumps(head.as_data(), indent=2, default=str)
    ui.download.content(text, f"head-{head.position}.json", "application/json")
