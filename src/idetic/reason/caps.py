"""Caps on what a run of reasoning may cost, kept before every call by estimating its tokens."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TypeVar

from idetic.errors import InputError

from .port import ReasonerCapped, Usage

_NOTHING = Decimal(0)

_PARTS = re.compile(r"[A-Za-z]+|[^A-Za-z\s]|\s+")

# Longer ones are rarely words, and a run of random letters can cost a token for each.
_LONGEST_WORD = 12


def estimate(text: str) -> int:
    """The tokens of this text at the most, for text that consists of words.

    A word costs a token for every two letters begun, a digit or a sign one, a character of
    another script its UTF-8 bytes, which no byte-level BPE exceeds. On this repository's pages
    and sources it comes to 0.99 to 1.98 times `recall.tokens`, which was measured against seven
    tokenizers (1.32 times on average). Short runs of random letters may cost more than this. A
    `Meter` can be handed a better counter.
    """
    return sum(map(_cost, _PARTS.findall(text))) + 2 if text else 0


def _cost(part: str) -> int:
    """The tokens that one part of a text may take: blanks, a word, or other signs."""
    if part.isspace():
        return len(part) // 2
    if part.isascii() and part.isalpha():
        return -(-len(part) // 2) if len(part) <= _LONGEST_WORD else len(part)
    return len(part.encode("utf-8", "surrogatepass"))


@dataclass(frozen=True, slots=True)
class Prices:
    """What a million tokens cost, as the provider's price list says it."""

    prompt: Decimal
    completion: Decimal

    def __post_init__(self) -> None:
        for name, price in (("prompt", self.prompt), ("completion", self.completion)):
            _check_money(f"Prices.{name}", price)

    def of(self, prompt_tokens: int, completion_tokens: int) -> Decimal:
        """What these tokens cost, to the last digit."""
        return (prompt_tokens * self.prompt + completion_tokens * self.completion).scaleb(-6)


@dataclass(frozen=True, slots=True, kw_only=True)
class Caps:
    """The most that one call and one run may take. A call is one request, a repeat included."""

    tokens_per_call: int = 16_000
    tokens_per_run: int = 200_000
    money_per_run: Decimal | None = None
    """In the currency of `Prices`; None sets no bound beside the tokens'."""
    calls_per_run: int = 100
    seconds_per_call: float = 60.0

    def __post_init__(self) -> None:
        for name in ("tokens_per_call", "tokens_per_run", "calls_per_run"):
            value = getattr(self, name)
            if type(value) is not int or value < 0:
                raise InputError(f"Caps.{name} must be a whole number, 0 or more.")
        if not 0 < self.seconds_per_call < float("inf"):
            raise InputError("Caps.seconds_per_call must be a number of seconds above 0.")
        if self.money_per_run is not None:
            _check_money("Caps.money_per_run", self.money_per_run)


class MeteredCall:
    """One call under way. It counts as having used its most until `counted` or `free` is called."""

    def __init__(self, most: Usage, prices: Prices | None):
        self.usage = most
        self._prices = prices

    def counted(self, prompt_tokens: int, completion_tokens: int) -> None:
        """The server said what it took."""
        self.usage = spent(self._prices, prompt_tokens, completion_tokens)

    def free(self) -> None:
        """The call was turned away before a model saw it."""
        self.usage = spent(self._prices, 0, 0)


def spent(prices: Prices | None, prompt_tokens: int, completion_tokens: int) -> Usage:
    """One call's usage; its cost is None without prices, never a guess."""
    cost = prices.of(prompt_tokens, completion_tokens) if prices else None
    return Usage(prompt_tokens, completion_tokens, cost, calls=1)


class Meter:
    """Counts what one run uses, and refuses a call that could exceed a cap.

    The most that a call may use is reserved while it is under way, so that several calls at once
    stay within the caps too.

    The bound rests on the estimate of the prompt. Where a server counts more than that, the
    run may end above a cap by the difference, and the next call is refused.
    """

    def __init__(
        self,
        caps: Caps | None = None,
        prices: Prices | None = None,
        count: Callable[[str], int] = estimate,
    ):
        self.caps = caps or Caps()
        if self.caps.money_per_run is not None and prices is None:
            raise InputError(
                "A cap on money needs prices to measure by.",
                remedy="Give `Prices` from your provider's list, or cap tokens and calls only.",
            )
        self._prices = prices
        self._count = count
        self._used = Usage(cost=_NOTHING if prices else None)
        self._open: list[MeteredCall] = []

    @property
    def used(self) -> Usage:
        """What the run has taken so far."""
        return self._used

    @contextmanager
    def call(self, prompt: str, completion_tokens: int) -> Iterator[MeteredCall]:
        """Around one call; `ReasonerCapped` before it is made if it could exceed a cap."""
        most = spent(self._prices, self._count(prompt), completion_tokens)
        self._admit(most)
        call = MeteredCall(replace(most, estimated=1), self._prices)
        self._open.append(call)
        began = time.monotonic()
        try:
            yield call
        finally:
            self._open.remove(call)
            call.usage = replace(call.usage, seconds=time.monotonic() - began)
            self._used += call.usage

    def _admit(self, most: Usage) -> None:
        """Refuse a call that could exceed a cap, counting the calls that are under way."""
        caps, reserved = self.caps, sum((call.usage for call in self._open), self._used)
        tokens = f"take {most.tokens:,} tokens"
        _admit("calls_per_run", "be one more", caps.calls_per_run, reserved.calls, 1)
        _admit("tokens_per_call", tokens, caps.tokens_per_call, 0, most.tokens)
        _admit("tokens_per_run", tokens, caps.tokens_per_run, reserved.tokens, most.tokens)
        if caps.money_per_run is not None:
            used, needed = reserved.cost or _NOTHING, most.cost or _NOTHING
            _admit("money_per_run", f"cost {needed}", caps.money_per_run, used, needed)


_N = TypeVar("_N", int, Decimal)


def _admit(cap: str, could: str, limit: _N, used: _N, needed: _N) -> None:
    """Refuse a call that could exceed one cap, and say by how much."""
    if used + needed <= limit:
        return
    taken = f", of which {used:,} are used" if used else ""
    raise ReasonerCapped(
        f"The call was not made: it could {could}, and `{cap}` is {limit:,}{taken}.",
        remedy=f"Raise `{cap}` in `Caps` by {used + needed - limit:,} or more, or give the "
        "run fewer entries.",
        cap=cap,
        limit=limit,
        used=used,
        needed=needed,
    )


def _check_money(name: str, value: object) -> None:
    """Refuse an amount of money that is not exact, finite and 0 or more."""
    if not isinstance(value, Decimal) or not value.is_finite() or value < 0:
        raise InputError(
            f"{name} must be a Decimal, 0 or more.",
            remedy='Write it as Decimal("0.15"); a float is not exact.',
        )
