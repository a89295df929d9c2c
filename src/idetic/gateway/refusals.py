"""What a refused note is told: which canonical row or kind of record it repeats, never its text."""

from __future__ import annotations

from idetic.errors import RecordRefused, Refused, RetriesSpent, ShadowRefused
from idetic.model import Decision, Receipt

_HOW = {
    "decorated": "Under its decoration the note restates",
    "quoted": "The note quotes",
    "together": "With what was written before it in this session, the note restates",
}
_FORMS = {
    "json": "as JSON",
    "fields": "as named fields",
    "row": "as a row of values",
    "sql": "as SQL",
}


def passed(receipt: Receipt) -> Receipt:
    """The receipt of what was written; a refusal is raised and carries its receipt."""
    if receipt.decision is not Decision.REJECT:
        return receipt
    raise _refusal(receipt)


def _refusal(receipt: Receipt) -> Refused:
    told = receipt.detail
    if "form" in told:
        written = _FORMS.get(told["form"], told["form"])
        return RecordRefused(
            f"The note is a record, written out {written}.", form=told["form"], receipt=receipt
        )
    noun, canonical, how = told["noun"], told["id"], told.get("how", "copied")
    about = {"noun": noun, "id": canonical, "similarity": told["similarity"], "how": how}
    if receipt.reason == "retries":
        return RetriesSpent(
            f"This session was refused too often over {noun} {canonical}.", receipt=receipt, **about
        )
    remedy = f"Reference the {noun} and write only what you concluded about it."
    if receipt.reason == "record":
        return RecordRefused(
            f"The note is the text of {noun} {canonical}.", remedy=remedy, receipt=receipt, **about
        )
    start = _HOW.get(how, "The note restates")
    return ShadowRefused(
        f"{start} {noun} {canonical} (similarity {told['similarity']:.2f}, the bound is 0.85).",
        remedy=remedy,
        receipt=receipt,
        **about,
    )
