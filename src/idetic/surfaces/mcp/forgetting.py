"""The tool `forget`: one entry, or with a confirmation everything; two verbs in one."""

from __future__ import annotations

from idetic.errors import InputError
from idetic.surfaces.mcp.presenter import Arguments, CallContext, Presenter, extra
from idetic.verbs.arguments import check_uuid

# What a model must repeat before a whole memory goes: it cannot be said by mistake.
CONFIRMATION = "forget everything"
_ASKED = "the user asked for it"


async def forget(context: CallContext, given: Arguments) -> str:
    """Empty one entry or the whole memory, for good."""
    memory, reason = context.caller.memory, given.get("reason", _ASKED)
    entry, everything = given.get("entry"), given.get("everything", False)
    if everything == (entry is not None):
        raise InputError(
            "Forget either one entry or everything.",
            remedy="Give entry, an id that recall shows, or everything=true; nothing was removed.",
        )
    if entry is not None:
        entry_id = check_uuid(entry, "entry")
        done = await memory.forget(entry_id, reason=reason, sources=given.get("sources", False))
        spared = "".join(f"\nstays, made of other things too: {one}" for one in done.spared)
        return f"Forgotten for good. {done}{spared}" if done.found else str(done)
    if given.get("confirm") != CONFIRMATION:
        raise InputError(
            "This deletes the whole memory; it cannot be undone.",
            remedy=f"Ask the user first; if they agree, call again with confirm={CONFIRMATION!r}. "
            "Nothing was removed.",
        )
    erased = await memory.erase_anchor(reason=reason)
    return f"Everything is forgotten for good. {erased}"


_OWN = (
    extra("entry", str | None, "An id that recall shows."),
    extra("sources", bool, "Also the words that it was drawn from.", False),
    extra("everything", bool, "Instead of entry: all of this memory.", False),
    extra("confirm", str | None, f"With everything: '{CONFIRMATION}', if the user agreed."),
)
# Whoever forgets for somebody else has a reason of their own, such as the number of a request.
FORGET = Presenter(forget, only=(), more=(*_OWN, extra("reason", str | None, "Why; kept.")))
FORGET_OWN = Presenter(forget, only=(), more=_OWN)
