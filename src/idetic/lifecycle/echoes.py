"""When an observation only repeats what its session was shown, decided by its words alone.

An agent that writes down what it has just read has seen nothing. The rule is that of `duplicates`,
without vectors: equal words, or the same claim in nearly the same words; and, told apart as such,
a paraphrase that only puts some of them into another form. So a correction, which differs in one
number, one "not" or one noun, is never taken for an echo.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from idetic.folding import characters, letters
from idetic.gates.crossing import cross, give_way
from idetic.gateway.gateway import EchoCheck
from idetic.gateway.write_items import WriteItem
from idetic.lifecycle.duplicates import (
    MOST_COMPARED,
    ComparedStatement,
    Sameness,
    Word,
    compare,
    read,
)
from idetic.lifecycle.paraphrases import Echo, Paraphrases
from idetic.lifecycle.promotion_inputs import policy_of
from idetic.model import Claim, Place, Scope
from idetic.recall.evidence import QUOTE, seen, visible
from idetic.spec.memory_spec import MemorySpec
from idetic.store.entries import Entries, Shown

# What stands around the words of an entry in a context: the headings, its label, and, behind the
# mark, whose words they are.
_FRAME = re.compile(r"# (?:core|interaction|session|persistent)")
_LABEL = re.compile(r"[0-9a-f]{6} [a-z]+\?? [a-z]+ \d\d[A-Z][a-z]{2}(?:\d{4})?[^>]*(?=>)")
_WHOSE = re.compile(r"([^\s(]{1,300})(?: \([^\n]{1,300}\))?: ")

# With so many shown entries that make its claim an observation is compared.
_OF_A_CLAIM = 32

_NUMBER = re.compile(r"[-+<>=~]*\d[\d.,:/%]*")

Words = tuple[str, ...]


def echo_check(spec: MemorySpec, entries: Entries) -> EchoCheck:
    """The gateway's check: compares the items of a write with what their session was shown."""

    async def check(scope: Scope, place: Place, items: Sequence[WriteItem]) -> list[WriteItem]:
        shown = await entries.shown(scope, place)

        def judged() -> list[WriteItem]:
            """The items, compared; 500 long notes that were shown take a second to read."""
            echoes = Echoes(spec, shown)
            return [_judged(item, echoes) for item in items]

        amount = sum(len(one.text) for one in shown) + sum(len(item.body) for item in items)
        return await cross(amount, judged)

    return check


def _judged(item: WriteItem, shown: Echoes) -> WriteItem:
    """The item, marked as compared, with what it echoes if it echoes anything."""
    claim = item.envelope.get("claim")
    echo = shown.of(item.body, Claim(**claim) if claim else None)
    return replace(item, judged=True, echo=None if echo is None else echo.as_data())


class Echoes:
    """What one session was shown, ready to be compared with."""

    def __init__(self, spec: MemorySpec, shown: Sequence[Shown]):
        self._policy = policy_of(spec)
        self._by_words: defaultdict[Words, list[Shown]] = defaultdict(list)
        self._by_claim: defaultdict[Claim, list[Shown]] = defaultdict(list)
        self._by_letters: dict[tuple[str, Words], Shown] = {}
        self._names = {name for one in shown for name in one.names}
        self._paraphrases = Paraphrases(self._policy)
        for one in shown:
            # Also as it was rendered, with what hides in it spelled out.
            for text in dict.fromkeys((one.text, visible(one.text))):
                give_way()
                known = Shown(one.entry_id, bare(text), one.claim)
                said = read(known.text)
                self._by_words[_words(said)].append(known)
                self._by_letters.setdefault(_letters(known.text), known)
                self._paraphrases.add(known, said)
                if one.claim is not None:
                    self._by_claim[one.claim.normalised()].append(known)

    def of(self, text: str, claim: Claim | None) -> Echo | None:
        """The echo that an observation is, or None for one of its own.

        One that is put together of nothing but shown entries, line by line, repeats all of them.
        """
        plain = "\n".join(map(self._unnamed, bare(text).split("\n")))
        found = self._one(plain, claim)
        lines = [line for line in plain.split("\n") if line.strip()]
        if found is not None or claim is not None or len(lines) < 2:
            return found
        parts = [self._one(line, None) for line in lines]
        echoes = [part for part in parts if part is not None]
        if len(echoes) < len(lines):
            return None
        named = dict.fromkeys(entry_id for echo in echoes for entry_id in echo.echo_of)
        return Echo(tuple(named), min(echo.trigram for echo in echoes), "each of its lines")

    def _unnamed(self, line: str) -> str:
        """A line without the name of somebody whose words were shown."""
        whose = _WHOSE.match(line)
        named = whose is not None and whose[1].strip('"') in self._names
        return line[whose.end() :] if whose and named else line

    def _one(self, text: str, claim: Claim | None) -> Echo | None:
        """The first shown entry that a text repeats, among those with its words or its claim."""
        give_way()
        said = read(text)
        same = self._by_letters.get(_letters(text))
        # The text itself first: others with its words or its claim do not crowd it out.
        near = [] if same is None else [same]
        near += self._by_words.get(_words(said), [])[:MOST_COMPARED]
        if claim is not None:
            near += self._by_claim.get(claim.normalised(), [])[:_OF_A_CLAIM]
        echoes = (self._compared(text, claim, one) for one in near)
        found = next((echo for echo in echoes if echo is not None), None)
        if found is not None or claim is not None:
            return found
        if same is not None:
            return Echo((same.entry_id,), 1.0, "the same letters")
        return self._paraphrases.of(text, said)

    def _compared(self, text: str, claim: Claim | None, one: Shown) -> Echo | None:
        """The echo that a text is of one shown entry, or None if it says something of its own."""
        # A claim that only one of them makes cannot tell them apart: the words do.
        both = claim is not None and one.claim is not None
        mine, theirs = (
            ComparedStatement(text, claim if both else None),
            ComparedStatement(one.text, one.claim if both else None),
        )
        found = compare(mine, theirs, self._policy)
        alike = found.trigram or 0.0
        # The same claim in other words may well be seen again; in the same words it was read.
        apart = both and alike < self._policy.dedup_trigram
        if found.verdict is not Sameness.SAME or apart:
            return None
        return Echo((one.entry_id,), alike, found.why)


def bare(text: str) -> str:
    """A text in plain characters, without the marks of a quotation and what nobody can see."""
    lines = (line.strip() for line in characters(seen(text)).split("\n"))
    words = (_LABEL.sub("", line, count=1) for line in lines if not _FRAME.fullmatch(line))
    return "\n".join(line.removeprefix(QUOTE.strip()).strip() for line in words)


def _letters(text: str) -> tuple[str, Words]:
    """The letters, wherever the spaces are; with the numbers as they stand, 1.5 being no 15."""
    return letters(text), tuple(_NUMBER.findall(text))


def _words(said: Sequence[Word]) -> Words:
    """The words in any order: statements that say the same have the same ones."""
    return tuple(sorted(word.value for word in said))
