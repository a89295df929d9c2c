"""Wordings that end something: "I don't live in Rome any more", "I sold my car", "my dog died".

They say nothing of what is so now. So each changes only what was known before.
"""

from __future__ import annotations

from .phrases import FAMILY_BY_CHOICE, LOWER_PLACE, PLACE, POSSESSION, SPECIES, name
from .wording import AM, SOFTLY, WHO, WHO_HAS, Wording, worded

_DENIED = r"(?i:don't|do not) "
_NO_LONGER = r"(?i:no longer) "
_STILL = r",? (?i:any ?more|any longer)"
_NOT = rf"(?:{AM} not|(?i:i'm|i am) no longer)"


def ending_wordings() -> list[Wording]:
    """All of them."""
    return [*_of_one_value(), *_of_what_was_had()]


def _of_one_value() -> list[Wording]:
    """Homes, work, studies, diets and relationships."""
    diet = r"(?:an? )?(?P<value>vegetarian|vegan|pescatarian|keto|kosher|halal)"
    bond = r"(?P<value>married|engaged|single|in a relationship)"
    role = r"(?P<value>an? [\w-]+(?: [\w-]+)?)"
    found = [
        worded(
            "lives_in",
            rf"{WHO_HAS}{SOFTLY} (?:moved (?:out of|away from)|left) ",
            PLACE,
            r"(?= for good|[.!,]|$| last| in (?:\w+|\d{4})\b| \w+ (?:week|month|year)s? ago)",
            ends=True,
            change=True,
        ),
        worded(
            "works_at",
            rf"{WHO_HAS}{SOFTLY} (?:left|quit|resigned from|(?:quit|left) my job at"
            r"|stopped working (?:at|for)) ",
            PLACE,
            ends=True,
            change=True,
            shared=True,
        ),
    ]
    for kind, verb, what in (
        ("lives_in", "live in ", PLACE),
        ("works_at", "work (?:at|for) ", PLACE),
        ("works_as", "work as ", role),
        ("studies", "study ", r"(?P<value>[a-z]+(?: [a-z]+)?)"),
    ):
        found += [
            worded(kind, rf"{WHO} {_DENIED}", verb, what, _STILL, ends=True),
            worded(kind, rf"{WHO} {_NO_LONGER}", verb, what, ends=True),
        ]
    found += [
        worded(
            "lives_in",
            rf"{WHO} (?:{_DENIED}|{_NO_LONGER})live in ",
            LOWER_PLACE,
            lower=True,
            ends=True,
        ),
    ]
    for kind, what in (("diet", diet), ("relationship", bond), ("works_as", role)):
        found += [
            worded(kind, rf"{AM} not ", what, _STILL, ends=True),
            worded(
                kind, rf"{AM} no longer ", what, r"(?=[.,;!?]|$| and\b| but\b| since\b)", ends=True
            ),
        ]
    return found


def _gone(kind: str, *parts: str) -> Wording:
    """A wording of something that somebody had; a date beside it says when it was over."""
    return worded(kind, *parts, ends=True, change=True, negated=True)


def _of_what_was_had() -> list[Wording]:
    """Pets, possessions and people."""
    gone = r"(?i:died|passed away|is dead(?=[.!,]|$)|has died|has passed away|ran away)"
    parted = r"(?i:broke up|split up|have broken up|have split up|are divorced|got divorced)"
    pet, thing = rf"(?P<detail>{SPECIES})", rf"(?P<detail>{POSSESSION})"
    partner = rf"(?P<detail>{FAMILY_BY_CHOICE})"
    had = rf"{WHO} {_DENIED}(?:have|own) (?:an?|my|the|our|any) "
    return [
        _gone("pet", rf"(?i:my|our) (?:[\w-]+ )?(?:{SPECIES})[, ]+", name("detail", 1),
              f",? {gone}"),
        _gone("pet", rf"(?i:my|our) (?:[\w-]+ )??{pet} {gone}"),
        _gone("pet", rf"{WHO}(?: had to)? (?:gave away|give away|lost|put down)"
              rf" (?:my|our) {pet}\b"),
        _gone("pet", had, pet, f"s?{_STILL}"),
        _gone("owns", rf"{WHO_HAS}{SOFTLY} (?:sold|gave away|got rid of|totalled|totaled)"
              rf" (?:my|our) (?:old |new )?{thing}\b"),
        _gone("owns", had, thing, _STILL),
        _gone("family", rf"(?i:my) {partner} and (?i:i) {parted}"),
        _gone("family", rf"(?i:i) (?:broke|split) up with my {partner}\b"),
        _gone("family", rf"(?i:my) {partner} (?i:broke up with|dumped|divorced) me\b"),
    ]  # fmt: skip
