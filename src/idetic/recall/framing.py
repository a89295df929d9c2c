"""The framing of a question: what only says that something is asked, and of whom.

"Can you remind me what I told you in our previous conversation" would find conversations about
conversations. English; a question in another language is asked as it stands.
"""

from __future__ import annotations

import re

_EARLIER = "(?:previous|earlier|last|past|recent)"
_TALK = "(?:conversations?|chats?|discussions?|talks?)"
_OURS = rf"our {_EARLIER}(?: {_TALK}(?: about| on)?\b)?"
_ME = r"\bI(?: was|'m|\u2019m| am)?(?: just)?"
_SAID = "(?:mentioned|said|told (?:you|me)|brought up|discussed|talked about)"
_PARTS = "(?: different| various| the)?(?: (?:aspects|concepts|topics|ways|things|parts)(?: of)?)?"
_YOU = "(?:can|could|would|will) you (?:please |also )?"
_TELL = "remind me(?: of| about)?|tell me(?: about)?|walk me through|explain(?: to me)?"
_LIST = "list|recall|remember|summari[sz]e|(?:give|provide|show)(?: me)?"
_KIND = "(?:clear |comprehensive |complete |brief |short |detailed |full )?"
_FRAMES = (
    # What the one who asks is doing, or did.
    rf"{_ME} (?:looking|going|thinking)(?: back)? (?:at|through|over|to|about|on) {_OURS}",
    rf"\bI (?:wanted|want|would like|'d like) to (?:follow up on|confirm|check|ask)\b(?: {_OURS})?",
    rf"(?:,? and )?{_ME} wondering(?: if you (?:could|can|remember(?:ed)?)| if| whether)?\b",
    rf"{_ME} (?:trying|curious) to (?:recall|remember|know)\b",
    rf"\b(?:I (?:remember|recall)(?: that)? )?you {_SAID}(?: before| earlier)?(?: that)?\b",
    rf"\bI {_SAID}(?: before| earlier)?(?: that)?\b",
    r"\bdid I (?:mention|say|tell you)\b",
    # What the one who is asked shall do.
    rf"\b{_YOU}(?:{_TELL}|{_LIST})\b",
    r"\b(?:please )?remind me(?: of| about)?\b",
    r"\bdo you (?:remember|recall|know)\b",
    rf"\b(?:an? )?{_KIND}(?:summary|overview|recap|list) of(?: how| everything| what)?\b",
    rf"\b(?:the order in which|how) I {_SAID}{_PARTS}\b",
    rf"\b(?:throughout|across|over|in|from) (?:all )?our (?:{_EARLIER} )?{_TALK}(?:,? in order)?\b",
)
_FRAME = re.compile("|".join(_FRAMES), re.IGNORECASE)
_WORD = re.compile(r"\w+")
# Fewer words are no question any more.
_LEAST = 2


def unframed(question: str) -> str:
    """The question without its framing; as it stands where nothing would be left of it."""
    left = _FRAME.sub(" ", question)
    if left == question or len(_WORD.findall(left)) < _LEAST:
        return question
    mark = "?" if question.rstrip().endswith("?") else ""
    return " ".join(left.split()).strip(" ,.:;?-") + mark
