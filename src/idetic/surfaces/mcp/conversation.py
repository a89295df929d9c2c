"""What a model is shown of a conversation's memory: six tools, in the words of whoever chats.

They are the calls of `remember`: what was said goes in, what follows from it is drawn at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from idetic.assistant.intake import TurnReceipt
from idetic.assistant.why import Reason
from idetic.errors import InputError
from idetic.recall.evidence import HEADER
from idetic.surfaces.mcp import formatting
from idetic.surfaces.mcp.calls import FORGET_OWN, context_block, recall
from idetic.surfaces.mcp.formatting import paged
from idetic.surfaces.mcp.presenter import CURSOR, Arguments, CallContext, Presenter, extra
from idetic.verbs.declaration import REQUIRED

# What stands around a profile, within the bound of an answer.
_AROUND = 50


async def remember(context: CallContext, arguments: Arguments) -> str:
    """Keep a text or messages, and draw what follows from them."""
    sent = [arguments[name] for name in ("text", "messages") if name in arguments]
    if len(sent) != 1:
        raise InputError(
            "Remember either a text or messages.",
            remedy="Give text, or messages with role and content, not both; nothing was written.",
        )
    receipts = await context.caller.user.add(sent[0])
    new = [one for one in receipts if not one.replayed]
    before = len(receipts) - len(new)
    known = f" {before} were known already." if before else ""
    head = f"Remembered {len(new)} message{'' if len(new) == 1 else 's'}.{known}"
    return paged(_entries(new), context.bound, head=head, on="recall finds them.")


def _entries(receipts: Sequence[TurnReceipt]) -> list[str]:
    """The ids of what was written, one on each line."""
    return [f"entry: {entry_id}" for one in receipts for entry_id in one.entry_ids]


async def profile(context: CallContext, arguments: Arguments) -> str:
    """The page of what is known about the user."""
    most = context.bound - _AROUND
    made = await context.caller.user.profile(budget=min(arguments.get("budget", most), most))
    left = len(made.left_out)
    note = f"\n({left} more did not fit; recall finds them.)" if left else ""
    return f"{made.text}{note}"


async def why(context: CallContext, arguments: Arguments) -> str:
    """Say what an entry, or the best answer to a question, rests on."""
    about = arguments["about"].strip()
    reasons = await context.caller.user.why(_entry_id(about) or about)
    pieces = [_reason(one) for one in reasons]
    return paged(pieces, context.bound, head=HEADER.rstrip(), on="ask about one of them.")


def _entry_id(text: str) -> UUID | None:
    """The entry that a text names; None where it is a question."""
    try:
        return UUID(text)
    except ValueError:
        return None


def _reason(reason: Reason) -> str:
    """One reason: the ids outside, what anybody said behind the mark."""
    words = ", ".join(str(one.entry_id) for one in reason.sayings)
    return f"entry {reason.entry.id}, drawn from {words}:\n{formatting.quoted(str(reason))}"


CONVERSATION: Mapping[str, Presenter] = {
    "add": Presenter(
        remember,
        only=(),
        more=(
            extra("text", str | None, "What the user said, in their own words."),
            extra(
                "messages",
                list[dict[str, Any]] | None,
                "Instead of text: messages with role and content.",
            ),
        ),
    ),
    "recall": Presenter(recall, only=("query", "limit"), more=(CURSOR,)),
    "context": Presenter(context_block, only=("query", "budget")),
    "profile": Presenter(profile, only=("budget",)),
    "why": Presenter(
        why, only=(), more=(extra("about", str, "An entry's id, or a question.", REQUIRED),)
    ),
    "forget": FORGET_OWN,
}
