"""Secrets as programs are given them: in a header, as an option, or as a code to type in."""

from __future__ import annotations

import re
from collections.abc import Iterator

from idetic.gates.keywords import ELSEWHERE, mixed
from idetic.gates.spans import SECRET, Span

_HEADER = re.compile(
    r"\b(?:bearer|basic|token)[ \t]+(?P<value>[\w\-.~+/]{16,}=*)", re.ASCII | re.IGNORECASE
)
_OPTION = re.compile(
    r"(?:--?(?:pass(?:word|wd|phrase)?|token|secret|api-?key)[ \t]+|-u[ \t]+[^\s:]+:)"
    r"(?P<value>[^\s\"'-][^\s\"']{3,200})",
    re.IGNORECASE,
)
_CODE = re.compile(
    r"(?<![a-z])(?:pin|otp|cvv|cvc)(?:[ \-]?(?:code|number|no\.?))?[ \t]*(?:is|was|:|=)[ \t]*"
    r"(?P<value>\d{3,8})(?![\d.,]*\d)",
    re.IGNORECASE,
)


def handed_over(text: str) -> Iterator[Span]:
    """Values after an authorization scheme, a command's option, or the name of a code."""
    low = text.lower()
    if any(piece in low for piece in ("bearer ", "basic ", "token ")):
        for found in _HEADER.finditer(text):
            if mixed(found["value"]):
                yield Span(*found.span("value"), SECRET)
    if " -" in text or text.startswith("-"):
        for found in _OPTION.finditer(text):
            if not ELSEWHERE.fullmatch(found["value"]):
                yield Span(*found.span("value"), SECRET)
    if any(piece in low for piece in ("pin", "otp", "cvv", "cvc")):
        for found in _CODE.finditer(text):
            yield Span(*found.span("value"), SECRET)
