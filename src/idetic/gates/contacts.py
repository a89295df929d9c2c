"""E-mail addresses and telephone numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator

from phonenumbers import Leniency, PhoneNumberMatch, PhoneNumberMatcher

from idetic.gates.digits import Run, said_before
from idetic.gates.spans import Span

# --- e-mail -------------------------------------------------------------------------------

_LABEL = r"[A-Za-z0-9\u0080-\U0010ffff](?:[A-Za-z0-9\u0080-\U0010ffff-]{0,62})"
_EMAIL = re.compile(
    rf"(?<![A-Za-z0-9._%+\-])(?:[A-Za-z0-9._%+\-]{{1,256}}|[^\x00-\x7f\s]{{1,64}})"
    rf"(?:@|%40)(?:{_LABEL}\.){{1,8}}(?:xn--[a-z0-9-]+|[A-Za-z]{{2,24}}|[^\x00-\x7f\s]{{2,24}})",
)
_SPELT_OUT = re.compile(
    r"(?<![A-Za-z0-9._%+\-])[A-Za-z0-9._%+\-]{1,64} ?[\[({<] ?at ?[\])}>] ?"
    r"[A-Za-z0-9\-]{1,63}(?:(?:\.| ?[\[({<] ?dot ?[\])}>] ?)[A-Za-z0-9\-]{2,63}){1,5}",
    re.IGNORECASE,
)
_AT = re.compile(r"[\[({<] ?at ?[\])}>]", re.IGNORECASE)
# The user of `git@host:path` is a program.
_REPOSITORY = re.compile(r"(?:git|hg)@[\w.\-]+:(?!\d)")


def emails(text: str) -> Iterator[Span]:
    """E-mail addresses, written out or with `(at)`."""
    if "@" in text or "%40" in text:
        for found in _EMAIL.finditer(text):
            if not _REPOSITORY.match(text, found.start()):
                yield Span(*found.span(), "email")
    if _AT.search(text):
        for found in _SPELT_OUT.finditer(text):
            yield Span(*found.span(), "email")


# --- telephone ----------------------------------------------------------------------------

# What is called a telephone, and how people say that they used one.
_PHONE = (
    r"(?:tel(?:efono?|ephone|efoon|efone)?|phone|mobile?|cell(?:phone)?|handy(?:nummer)?|fax|"
    r"whats ?app|sms|movil|celular|rufnummer|电话|電話|手机|携帯|전화|тел)"
)
_USED = r"(?:call(?:ed|ing)?|dial(?:led)?|texted|reach\w*|ring|rang)"
_PLAIN = r"(?:[ .\-]{0,2}(?:me|him|her|us|them|back|at|on|under))*"
_MARK = r"(?:[ .\-]{0,2}(?:no|nr|num(?:ber|mer|ero)?|is|was|at))*[ .]{0,2}"
_MARKED = re.compile(rf"(?<![a-z]){_PHONE}{_MARK}[\s.:=#(+\-]{{0,6}}\Z(?<![a-z] )", re.IGNORECASE)
_SAID = re.compile(rf"(?<![a-z])(?:{_PHONE}{_MARK}|{_USED}{_PLAIN})[\s.:=#(+\-]{{0,6}}\Z", re.I)
_PHONE_SHAPED = re.compile(r"\+?\(?\d(?:[ .()\-/]{0,3}\d){6,14}\Z")


class Phones:
    """Telephone numbers, by the numbering plans that `phonenumbers` knows.

    With a `+` a number says its country. Without, it is tried in the given regions, and must be
    written as a number is written there: ten digits in a row are an order number more often
    than a telephone. Where the words before say that it is one, any plausible number is.
    """

    def __init__(self, regions: tuple[str, ...]) -> None:
        self._regions = regions

    def of(self, text: str, run: Run) -> Iterator[Span]:
        """The telephone numbers in one run of digits."""
        if run.digits < 7 or run.is_date:
            return
        said = said_before(text, run.start, _SAID)
        if said and self._is_plausible(text, run):
            yield Span(run.start, run.end, "phone")
        elif said or "+" in run.text or self._is_written_so(text, run):
            # Three characters more on each side: the matcher looks at what a number touches.
            shift = max(0, run.start - 3)
            window = text[shift : run.end + 3]
            for found in self._matches(window, international="+" in run.text):
                yield Span(shift + found.start, shift + found.end, "phone")

    @staticmethod
    def _is_plausible(text: str, run: Run) -> bool:
        """After a label: `called 1200000 times` is none, `tel: 1200000` is."""
        marked = run.digits > 8 or run.is_grouped or said_before(text, run.start, _MARKED)
        return marked and _PHONE_SHAPED.match(text, run.start, run.end) is not None

    @staticmethod
    def _is_written_so(text: str, run: Run) -> bool:
        return run.digits > 8 and not run.is_ordinary and run.is_grouped and run.is_alone(text)

    def _matches(self, window: str, *, international: bool) -> Iterator[PhoneNumberMatch]:
        if international:
            yield from PhoneNumberMatcher(window, None, leniency=Leniency.VALID)
            return
        for region in self._regions:
            for found in PhoneNumberMatcher(window, region, leniency=Leniency.VALID):
                if found.raw_string[0] in "0(" or _grouped_as_usual(window, region):
                    yield found


def _grouped_as_usual(window: str, region: str) -> bool:
    return PhoneNumberMatcher(window, region, leniency=Leniency.STRICT_GROUPING).has_next()
