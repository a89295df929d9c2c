"""What a claim may say of somebody: a closed list, and how each kind of it is keyed.

A claim supersedes the one with the same subject and attribute. So an attribute that has one value
at a time is a key by itself (`lives_in`), and one that has many carries what it is about
(`likes:hiking`): two likes stand side by side, and "I don't like hiking any more" meets the first.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from idetic.model import Claim, Typology

YES, NO = "yes", "no"
# What the value of a claim begins with that only says what is over.
OVER = "no longer "
# What an attribute and its detail are joined by.
_JOINT = ":"
# The columns of a claim take no more.
PART_MAX = 200
_THE = re.compile(r"^the ")
# "has a uncle", "has a children": what a form cannot know.
_PLURAL = re.compile(r" has a (?=children\b|an? )")
_ARTICLE = re.compile(r"( (?:has|as) a) (?=[aeiou])(?!uni|eu)")


@dataclass(frozen=True, slots=True)
class AttributeKind:
    """One kind of statement: its name, what it means, and how it reads as a sentence.

    `said` has the places {subject}, {value} and {detail}. A kind that is `many` has a detail in
    its key; its value says what the detail is, or only yes and no. `denied` is the sentence for no,
    `named` the one for a value beside the detail, `over` the one for what has ended.
    """

    name: str
    meaning: str
    said: str
    many: bool = False
    denied: str | None = None
    named: str | None = None
    typology: Typology = Typology.SEMANTIC
    over: str | None = None

    def claim(
        self,
        subject: str,
        value: str,
        detail: str = "",
        *,
        negated: bool = False,
        ends: bool = False,
    ) -> Claim:
        """The claim of this kind, under its key."""
        if not self.many:
            return Claim(subject, self.name, f"{OVER}{value}" if ends else value)
        bare = _THE.sub("", " ".join(detail.casefold().split()))
        key = f"{self.name}{_JOINT}{bare}"
        return Claim(subject, key, NO if negated else value or YES)

    def sentence(
        self,
        subject: str,
        value: str,
        detail: str = "",
        *,
        negated: bool = False,
        ends: bool = False,
    ) -> str:
        """The claim as a sentence for a reader."""
        form = self.named if value and self.named else self.said
        form = self.denied if negated and self.denied else form
        form = self.over if ends and self.over else form
        said = form.format(subject=subject, value=value, detail=detail).strip()
        # "No longer has a Rex": of what has ended, a name stands by itself.
        said = re.sub(r" has a (?=[A-Z])", " has ", said) if ends else said
        said = _ARTICLE.sub(r"\1n ", _PLURAL.sub(" has ", said[0].upper() + said[1:]))
        return said if said.endswith((".", "!")) else f"{said}."


def _kinds() -> tuple[AttributeKind, ...]:
    """The closed list; the page about extraction shows it, and a test compares the two."""
    one, procedure = AttributeKind, Typology.PROCEDURAL

    def many(
        name: str,
        meaning: str,
        said: str,
        denied: str | None = None,
        named: str | None = None,
        over: str | None = None,
    ) -> AttributeKind:
        return AttributeKind(name, meaning, said, many=True, denied=denied, named=named, over=over)

    return (
        one("name", "what somebody is called", "{subject}'s name is {value}"),
        one("called", "how somebody wants to be addressed",
            "{subject} wants to be called {value}", typology=procedure),
        one("pronouns", "the pronouns to use",
            "{subject}'s pronouns are {value}", typology=procedure),
        one("lives_in", "where somebody lives now", "{subject} lives in {value}",
            over="{subject} no longer lives in {value}"),
        one("from", "where somebody comes from", "{subject} comes from {value}"),
        one("works_at", "the employer", "{subject} works at {value}",
            over="{subject} no longer works at {value}"),
        one("works_as", "the occupation", "{subject} works as {value}",
            over="{subject} no longer works as {value}"),
        one("studies", "the subject of studies", "{subject} studies {value}",
            over="{subject} no longer studies {value}"),
        one("studies_at", "the place of studies", "{subject} studies at {value}"),
        one("age", "years of age when it was said", "{subject} is {value} years old"),
        one("birthday", "the day of birth", "{subject}'s birthday is {value}"),
        one("relationship", "married, engaged, single, divorced, in a relationship",
            "{subject} is {value}", over="{subject} is no longer {value}"),
        one("children", "how many children", "{subject} has {value} children"),
        one("diet", "vegetarian, vegan, …", "{subject}'s diet is {value}",
            over="{subject}'s diet is no longer {value}"),
        one("answer_language", "the language to answer in",
            "{subject} wants answers in {value}", typology=procedure),
        many("family", "a member of the family, by name or relation", "{subject} has a {detail}",
             "{subject} has no {detail}", "{subject}'s {value} is {detail}",
             "{subject} no longer has a {detail}"),
        many("pet", "a pet, by name or species", "{subject} has a {detail}",
             "{subject} has no {detail}", "{subject} has a {value} called {detail}",
             "{subject} no longer has a {detail}"),
        many("likes", "what is liked, or not", "{subject} likes {detail}",
             "{subject} does not like {detail}"),
        many("favourite", "the favourite of a kind", "{subject}'s favourite {detail} is {value}"),
        many("allergic_to", "an allergy", "{subject} is allergic to {detail}",
             "{subject} is not allergic to {detail}"),
        many("intolerant_to", "an intolerance", "{subject} does not tolerate {detail}",
             "{subject} tolerates {detail}"),
        many("condition", "an illness or a condition", "{subject} has {detail}",
             "{subject} does not have {detail}"),
        many("eats", "what is eaten or drunk, or not", "{subject} eats or drinks {detail}",
             "{subject} does not eat or drink {detail}"),
        many("speaks", "a language that is spoken", "{subject} speaks {detail}",
             "{subject} does not speak {detail}"),
        many("learns", "a language or an instrument that is learnt", "{subject} learns {detail}"),
        many("plays", "an instrument, a sport, a game", "{subject} plays {detail}",
             "{subject} does not play {detail}"),
        many("does", "a sport or a practice", "{subject} does {detail}",
             "{subject} does not do {detail}"),
        many("goal", "what somebody wants to reach",
             "{subject}'s goal, in their own words: {detail}"),
        many("owns", "a possession", "{subject} has a {detail}",
             "{subject} has no {detail}", over="{subject} no longer has a {detail}"),
        many("uses", "a tool, a device, a programming language", "{subject} uses {detail}",
             "{subject} does not use {detail}"),
        AttributeKind("prefers", "what somebody prefers to something else, also in a correction",
                      "{subject} prefers {value}", many=True, typology=procedure),
        AttributeKind("instruction", "how things are to be done: always, never, from now on",
                      "{subject} asks: {value} {detail}", many=True,
                      denied="{subject} asks: never {detail}", typology=procedure),
    )  # fmt: skip


KINDS = {kind.name: kind for kind in _kinds()}


def kind_of(claim: Claim) -> AttributeKind | None:
    """The kind of a claim, by its attribute; None for one that is not in the list."""
    return KINDS.get(claim.attribute.partition(_JOINT)[0])
