"""Every recogniser takes time in proportion to the text, whatever somebody writes into it.

CPU time is compared over two doublings: a linear recogniser takes 4 times as long, a square 16, and
the bound lies between them. Of each size the best of several tries counts.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from re import _constants, _parser  # type: ignore[attr-defined]
from typing import Any

import pytest

from idetic.gates import identifiers
from idetic.gates.credentials import SECRETS
from idetic.gates.gate import Gates
from idetic.gates.identifiers import IDENTIFIERS, named
from idetic.gates.personal_data import personal_data
from idetic.gates.redaction import Detection, Recogniser, redact
from idetic.spec.loader import load
from idetic.spec.primitives import Boundary, Gate, GateKind

LONG = 8_000
QUICK = 0.004  # seconds for LONG characters: no square is that fast, and most need far less
STEEP = 3.0  # for each doubling
FEW, TRIES = 2, 12

# Made by hand, from what recognisers look for and what once took the square of its length.
PIECES = (
    *("1 ", "12 ", "1", "4111 ", "123 45 ", "1.", "1-", "1/", "(1", "+1 ", "1.1.1.", "00 1", "1_"),
    *("a@", "a@a", "a.", "a", "A", "é", "名", "a b ", "a\n", "Ab", "bcdf", "x7Gh2k", "-a1", "a1b2"),
    *("eyJ", "eyJ.", "AKIA", "AKIAIOSFODNN7EXAMPLE", "glpat-", "sq0csp-", "SG.a.", "sk-", "xox"),
    *("key=", "key=key=", "password: '", "password ", "pass=", "token ", "-u a", "pin is ", "sid="),
    *("://", "://a:", "://a:b@", "www.", "https://a", "/a", "a/", "\\a", "[", "{", "(", "'", '"'),
    *("DE89 3704 ", "DE89", "AB1", "AA1 1AA ", "ff:", ":a:", ":", "e3b0c442", "12345678-", "0x"),
    *("address 1 ", "Address A ", "live at 1 a ", "Calle A A ", "1 A A A A ", "A 1, 12345 ", "A-"),
    *("born in A on ", "DOB is ", "birthday is ", "geb. ", "Flat 1 A ", "12 rue de la ", "PO Box "),
    *("passphrase is a b c ", "order #1", "#1 ", "-----BEGIN PRIVATE KEY-----", "-----BEGIN "),
    *("prod-", "a-prod-", "tenant ", "db-1", "a_1", "jane.", "call ", "tel ", "card ", "a [at] b"),
)


# --- pieces from the expressions themselves --------------------------------------------------


def _patterns(value: Any) -> Iterator[re.Pattern[str]]:
    """The expressions in a module's value."""
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, tuple):
        for one in value:
            yield from _patterns(one)


def _sample(parsed: Any, choice: int) -> str:
    """A text that takes an expression a good way: of each branch and class one member."""
    return "".join(_of(kind, given, choice) for kind, given in parsed)


def _of(kind: Any, given: Any, choice: int) -> str:
    """A text for one part of an expression."""
    if kind is _constants.LITERAL:
        return chr(given)
    if kind is _constants.IN:
        return _member(given[choice % len(given)])
    if kind in (_constants.MAX_REPEAT, _constants.MIN_REPEAT, _constants.POSSESSIVE_REPEAT):
        return _sample(given[2], choice) * max(1, min(int(given[0]) + 1, 8))
    if kind is _constants.SUBPATTERN:
        return _sample(given[3], choice)
    if kind is _constants.BRANCH:
        return _sample(given[1][choice % len(given[1])], choice)
    return "a" if kind in (_constants.ANY, _constants.NOT_LITERAL) else ""


def _member(one: Any) -> str:
    """A character of a class."""
    kind, given = one
    if kind is _constants.LITERAL:
        return chr(given)
    if kind is _constants.RANGE:
        return chr(given[0])
    if kind is _constants.CATEGORY and "DIGIT" in str(given):
        return "1"
    return " " if "SPACE" in str(given) else "a"


def own_pieces() -> list[str]:
    """Beginnings of what the gates' own expressions match, to be repeated without an end."""
    found: dict[str, None] = {}
    modules = (name for name in sys.modules if name.startswith("idetic.gates."))
    for module in sorted(modules):
        for value in vars(import_module(module)).values():
            for pattern in _patterns(value):
                parsed = _parser.parse(pattern.pattern, pattern.flags)
                for choice in (0, 3):
                    sample = _sample(parsed, choice)[:60]
                    found |= dict.fromkeys(filter(None, (sample, sample[: len(sample) // 2])))
    return list(found)


# --- the measure -----------------------------------------------------------------------------


def steep(work: Callable[[str], object], piece: str, long: int = LONG) -> bool:
    """Whether time grows faster than the text.

    The sizes are measured in turn, and of each the best time is kept over all tries: another
    process can only make a time longer, so with every try the times come nearer to the work's own.
    A few tries show that something is linear; it takes all of them to call it steep.
    """
    texts = [(piece * (size // len(piece) + 1))[:size] for size in (long // 4, long // 2, long)]
    best = [float("inf")] * len(texts)
    for tried in range(1, TRIES + 1):
        for place, text in reversed([*enumerate(texts)]):
            start = time.process_time()
            work(text)
            best[place] = min(best[place], time.process_time() - start)
            if best[2] < QUICK * long / LONG:
                return False
        if tried >= FEW and best[2] < STEEP * STEEP * best[0]:
            return False
    return True


RECOGNISERS: dict[str, Recogniser] = {
    f"{name} {number}": one
    for name, group in (
        ("secrets", SECRETS),
        ("personal data", personal_data(("US", "GB", "DE"))),
        ("identifiers", IDENTIFIERS),
        ("names", named(["Acme Bank", "a a a", "1 1", "a-b_c d"])),
    )
    for number, one in enumerate(group)
}


@pytest.mark.parametrize("name", RECOGNISERS)
def test_a_recogniser_takes_time_in_proportion(name: str) -> None:
    recogniser = RECOGNISERS[name]
    slow = [piece for piece in PIECES if steep(lambda text: list(recogniser(text)), piece)]
    assert slow == []


def test_so_it_does_on_what_its_own_expressions_begin_with() -> None:
    pieces = own_pieces()
    assert len(pieces) > 100
    everything = tuple(RECOGNISERS.values())

    def all_of_them(text: str) -> None:
        for recogniser in everything:
            list(recogniser(text))

    assert [piece for piece in pieces if steep(all_of_them, piece, LONG // 2)] == []


@pytest.mark.parametrize("piece", [*PIECES, "jane@example.com ", "4111111111111111.", "a1-a1_"])
def test_a_whole_gate_takes_time_in_proportion(piece: str) -> None:
    everything = tuple(RECOGNISERS.values())
    assert not steep(lambda text: redact(text, everything), piece, LONG // 2)


# --- controls: the measure sees what it is to see --------------------------------------------


def test_a_square_is_seen() -> None:
    wall = re.compile(r"a+b")  # from each `a` to the end, for a `b` that never comes

    def square(text: str) -> list[Detection]:
        return [Detection(*found.span(), "x") for found in wall.finditer(text)]

    assert steep(square, "a")
    assert not steep(square, "c")


def test_a_line_is_none() -> None:
    slow = re.compile(r"(?:a|b|c|d){1,40}e")  # a bounded look from each letter, and a slow one

    assert not steep(lambda text: [*slow.finditer(text)], "a")


def test_the_pieces_of_an_expression_begin_what_it_matches() -> None:
    parsed = _parser.parse(r"(?:key|token)=[a-z0-9]{3}\d(?:;|$)", 0)
    assert _sample(parsed, 0) == "key=aaaa1;"
    assert _sample(parsed, 1).startswith("token=0000")


def test_expressions_are_made_once() -> None:
    """A text is looked at without compiling anything: the cache of `re` stays as it was."""
    kinds = (GateKind.SECRETS, GateKind.PII, GateKind.STRIP_IDENTIFIERS)
    declared = (Gate(boundary=Boundary.INGEST, apply=kinds, because="A test looks at it."),)
    gate = Gates(load("world_agent").model_copy(update={"gates": declared})).at(Boundary.INGEST)
    said = (
        "Acme, 4111 1111 1111 1111, tel 030 901820, 12 High Street, password=hunter2, DOB 1.2.1990"
    )
    gate.apply(said, ["Acme"])
    made: list[object] = []
    compiled = re._compiler.compile  # type: ignore[attr-defined]

    def counting(*given: Any) -> Any:
        frame = sys._getframe(1)
        while frame.f_back is not None and frame.f_code.co_filename == re.__file__:
            frame = frame.f_back
        # What the library of telephone numbers makes is its own affair.
        if "phonenumbers" not in frame.f_code.co_filename:
            made.append(given[0])
        return compiled(*given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("re._compiler.compile", counting)
        re.purge()
        gate.apply(said, ["Acme"])
        re.compile("a control of this test")
    assert made == ["a control of this test"]


# --- patterns that a spec declares ----------------------------------------------------------------

GREEDY = "[\\w.\\-]{0,32}"


def seconds_of(pattern: re.Pattern[str], text: str) -> float:
    best = float("inf")
    for _ in range(3):
        begun = time.process_time()
        assert pattern.search(text) is None
        best = min(best, time.process_time() - begun)
    return best


@pytest.mark.parametrize("sign", ["*a", "#1", "#?", "*#", "?*"])
def test_a_declared_pattern_never_takes_long(sign: str) -> None:
    """As many signs as fit into a pattern, and a word that they nearly describe."""
    pattern = identifiers._globs((sign * 29 + "z",))
    assert pattern is not None
    for word in ("a" * LONG, "1" * LONG, "a1" * (LONG // 2)):
        assert seconds_of(pattern, word + "!") < 1.0


def test_control_a_pattern_that_goes_back_over_every_star_does() -> None:
    took = [seconds_of(re.compile(rf"\b(?:{(GREEDY + 'a') * n}z)\b"), "a" * 200) for n in (2, 4)]
    assert took[1] > 20 * took[0], took


@pytest.mark.parametrize(
    ("glob", "text", "found"),
    [
        ("acme-*", "on acme-eu-1.prod today", "acme-eu-1.prod"),
        ("*-prod-*-#", "see x-prod-y-prod-z-12 now", "x-prod-y-prod-z-12"),
        ("dep_#", "in dep_42, not dep_", "dep_42"),
        ("**-##", "the box a-7 fell", "a-7"),
        ("h?st", "on host or hst", "host"),
    ],
)
def test_a_declared_pattern_finds_what_it_describes(glob: str, text: str, found: str) -> None:
    pattern = identifiers._globs((glob,))
    assert pattern is not None
    assert [match[0] for match in pattern.finditer(text)] == [found]
