"""The wordings that claims are drawn from: what people say of themselves, and how they want things.

Each is one pattern with the groups `value` and `detail`. It begins with the speaker ("I", "my") or
with what is asked for; `clauses` decides whether a statement may begin there at all.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from .attributes import KINDS, AttributeKind
from .clauses import COVER
from .phrases import (
    CONDITION,
    END,
    HARD_END,
    INSTRUMENT,
    LANGUAGE,
    LOWER_PLACE,
    NUMBER,
    OCCUPATION,
    OUTING,
    PLACE,
    POSSESSION,
    PRACTICE,
    RELATION,
    SPECIES,
    SPORT,
    WORD,
    name,
    thing,
)

_I, _AM, _HAVE = r"(?i:i|we)", r"(?i:i'm|i am|im)", r"(?i:i have|i've got|i got|we have|we've got)"
_WE_ARE = r"(?i:i'm|i am|im|we're|we are)"
# What may stand between the speaker and the verb without changing what is said.
_SOFTLY = (
    r"(?i:(?: (?:really|absolutely|just|also|still|totally|truly|do|always|simply|genuinely"
    r"|actually|particularly|especially|currently|recently|now|finally|only|mainly|mostly|usually|both|sure"
    r"|definitely|so))*+)"
)
_MONTH = (
    "January|February|March|April|May|June|July|August|September|October|November|December"
    "|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept|Sep|Oct|Nov|Dec"
)
_DATE = (
    rf"(?P<value>(?i:(?:{_MONTH})\.? \d{{1,2}}(?:st|nd|rd|th)?(?:,? (?:19|20)\d\d)?"
    rf"|(?:the )?\d{{1,2}}(?:st|nd|rd|th)?(?: of)? (?:{_MONTH})\b(?:,? (?:19|20)\d\d)?"
    r"|(?:19|20)\d\d-\d\d-\d\d))"
)


@dataclass(frozen=True, slots=True)
class Wording:
    """One way to say one kind of thing. `value` and `detail` stand in for a missing group."""

    kind: AttributeKind
    pattern: re.Pattern[str]
    negated: bool = False
    value: str = ""
    detail: str = ""
    change: bool = False
    """Whether it tells of a change, so that a date beside it is when it came about."""
    lower: bool = False
    """Whether it is only for texts without any capital."""
    anywhere: bool = False
    """Whether it may stand within a clause: "I took my dog Rex out" has a dog."""
    first: bool = False
    """Whether it must begin the sentence: elsewhere "always" is said of something."""
    listed: bool = False
    """Whether further things may follow: "peanuts, eggs and shellfish"."""


def _wording(kind: str, *parts: str, **more: bool | str) -> Wording:
    """A wording of whole words."""
    pattern = re.compile(rf"(?<![\w'-]){''.join(parts)}")
    return Wording(KINDS[kind], pattern, **more)  # type: ignore[arg-type]


def _people() -> list[Wording]:
    """Names, family and pets."""
    # "My brother's wife" is no wife of the speaker's; "my horse painting" is no horse.
    not_theirs = r"(?!'s? (?:\w+ )?(?:husband|wife|friend|brother|sister|boyfriend|girlfriend|son))"
    no_other = r"(?! (?:shelter|food|park|painting|drawing|picture|pic|photo|lover|owner|person))"
    return [
        _wording("name", r"(?i:my (?:full |first )?name is|my name's) ", name(most=3)),
        _wording("name", rf"(?i:hi|hello|hey)(?: there)?[,!.]? {_AM} ", name(), HARD_END),
        _wording("called", r"(?i:(?:please |just |you can |everyone can )?call me) ", name(),
                 rf"(?! (?:at|on|by))(?:{END}|(?= instead| from now on))"),
        _wording("called", r"(?i:(?:i go by|i like to be called|i prefer to be called)) ", name()),
        _wording("pronouns", r"(?i:my pronouns are) (?P<value>\w+/\w+(?:/\w+)?)"),
        _wording("family", rf"(?i:my|our) (?:\w+ )??(?P<value>{RELATION}),? ", name("detail", 1),
                 r"(?!'s? (?:\w+ )?(?:husband|wife|friend|son|daughter))", anywhere=True),
        _wording("family", rf"(?i:my) (?P<value>{RELATION})(?:'s name is| is called| is named) ",
                 name("detail")),
        _wording("family", r"(?i:my) (?:\w+(?<!late) )??(?P<detail>husband|wife|fianc\u00e9e?"
                 r"|fiancee?|girlfriend|boyfriend|son|daughter|brother|sister|niece|nephew|cousin"
                 r"|children|grandson|granddaughter)\b(?!-)", not_theirs, anywhere=True),
        _wording("family", r"(?i:my) (?:kids|sons|daughters|children)\b", not_theirs,
                 detail="children", anywhere=True),
        _wording("family", rf"{_HAVE} an? (?:\w+ )?(?P<value>{RELATION})"
                 r" (?:called|named|whose name is) ", name("detail", 1)),
        _wording("family", rf"{_HAVE} an? (?:\w+ )?(?P<detail>{RELATION})", END),
        _wording("children", rf"{_HAVE} (?P<value>{NUMBER})(?: \w+)? (?:kids|children)\b"),
        _wording("relationship", rf"(?:{_WE_ARE}|(?i:we got|i got)){_SOFTLY} (?:happily )?"
                 r"(?P<value>married|divorced|engaged|widowed)", END, change=True),
        _wording("relationship", rf"{_AM}{_SOFTLY} (?P<value>single)", HARD_END),
        _wording("pet", rf"(?i:my|our) (?:\w+ )??(?P<value>{SPECIES}),? ", name("detail", 1),
                 anywhere=True),
        _wording("pet", rf"(?i:my|our) (?:\w+ )?(?P<value>{SPECIES})"
                 r"(?:'s name is| is called| is named) ", name("detail", 1)),
        _wording("pet", rf"(?:{_HAVE}|(?i:i|we){_SOFTLY} adopted) an? (?:[\w-]+ )?"
                 rf"(?P<value>{SPECIES}),? (?:called|named|whose name is) ", name("detail", 1),
                 change=True),
        _wording("pet", rf"{_HAVE}{_SOFTLY} (?:an?|{NUMBER}) (?:[\w-]+ )?(?P<detail>{SPECIES})s?",
                 END),
        _wording("pet", rf"(?i:i|we){_SOFTLY} adopted (?:an?|this|{NUMBER}) (?:[\w-]+ )?"
                 rf"(?P<detail>{SPECIES})s?\b", change=True),
        _wording("pet", rf"(?i:my|our) (?P<detail>{SPECIES})s?\b", no_other,
                 anywhere=True),
    ]  # fmt: skip


def _places_and_work() -> list[Wording]:
    """Homes, origins, work and studies."""
    lives = rf"(?:{_I}{_SOFTLY} (?i:live|reside)|{_WE_ARE}{_SOFTLY} (?i:living|based))"
    lived = rf"{_I}(?i:'ve| have){_SOFTLY} (?i:lived|been living) in "
    moved = rf"{_I}(?i:'ve| have)?{_SOFTLY} (?i:moved|relocated)(?: back)? (?:in )?to "
    works = rf"(?:{_I}{_SOFTLY} work|{_AM}{_SOFTLY} working)"
    job = r"(?i:i|i've)(?: just| finally| recently)? (?:got|landed|found|started|accepted|have) "
    an = r"(?P<value>an? (?:[\w-]+ ){0,2}?"
    return [
        _wording("lives_in", lives, " (?:in|near) ", PLACE),
        _wording("lives_in", lives, " in ", LOWER_PLACE, lower=True),
        _wording("lives_in", lived, PLACE, change=True),
        _wording("lives_in", moved, PLACE, change=True),
        _wording("lives_in", moved, LOWER_PLACE, change=True, lower=True),
        _wording("from", rf"(?:{_AM}|(?i:i come)){_SOFTLY} (?:originally )?from ", PLACE),
        _wording("from", rf"{_AM} (?:originally )?from ", LOWER_PLACE, lower=True),
        _wording("from", r"(?i:i was born(?: and raised)?|i grew up) in ", PLACE),
        _wording("from", r"(?i:my (?:home country|home town|hometown)(?:,| is)) ", PLACE),
        _wording("works_at", works, "(?: full-time| part-time)? (?:at|for) (?!The End)", PLACE),
        _wording("works_at", job, r"(?:a |my )?(?:new )?(?:job|work|working|position) (?:at|with) ",
                 PLACE, change=True),
        _wording("works_as", works, rf" as {an}[\w-]+)", END),
        _wording("works_as", rf"{_AM}{_SOFTLY} {an}(?:{OCCUPATION}))", END),
        _wording("works_as", job, rf"(?:a |my )?(?:new )?(?:job|work|working) as {an}[\w-]+)",
                 END, change=True),
        _wording("works_as", r"(?i:my job is|i make a living) (?:as )?", an, r"[\w-]+)", END),
        _wording("studies", rf"(?:{_I}{_SOFTLY} study|{_AM}{_SOFTLY} (?:studying|majoring in)"
                 r"|(?i:my major is)) (?!for|at|in|abroad|hard)", thing("value", 3)),
        _wording("studies_at", rf"(?:{_I} study|{_AM} studying|(?i:i go to)) (?:at )?"
                 r"(?=[\w ]{0,30}(?:University|College|School|Institute))", PLACE),
        _wording("age", rf"{_AM}{_SOFTLY} (?P<value>\d{{1,3}}) years old"),
        _wording("age", rf"{_AM}{_SOFTLY} (?P<value>[1-9]\d)", HARD_END),
        _wording("age", rf"(?i:i|i've){_SOFTLY} turned (?P<value>\d{{2}})\b", change=True),
        _wording("birthday", r"(?i:my birthday is|my birthday's|i was born)(?: on)? ", _DATE),
        _wording("owns", r"(?i:i own|i drive) an? (?P<detail>(?:[\w-]+ ){0,2}?[\w-]+)", END),
        _wording("owns", r"(?i:i|we)(?:'ve)?", _SOFTLY, r" (?:bought|got) an? (?:new |used |old )?"
                 rf"(?P<detail>{POSSESSION})\b", change=True),
        _wording("owns", r"(?i:my) (?:new |own |trusty |vintage )?"
                 rf"(?P<detail>{POSSESSION})\b(?! \w+ing\b| (?:lessons?|class(?:es)?|teacher))",
                 anywhere=True),
        _wording("goal", r"(?i:my (?:main |big |biggest |next |ultimate )?(?:goal|dream|aim) is)"
                 r" (?P<detail>to [^,.;:!?\n-]{4,120}+)(?=[,.;:!?\n-]|$)"),
        _wording("goal", rf"{_I}{_SOFTLY} want to ",
                 r"(?P<detail>(?:become|be) an? [\w' -]{3,40}?)", END),
        _wording("speaks", rf"{_I}{_SOFTLY} (?:can )?speak (?:fluent )?(?P<detail>{LANGUAGE})\b"),
        _wording("speaks", r"(?i:my (?:native|first) language is|my mother tongue is) "
                 rf"(?P<detail>{LANGUAGE})\b"),
        _wording("speaks", rf"(?i:i don't|i do not|i can't) speak (?:any )?(?P<detail>{LANGUAGE})"
                 r"\b", negated=True),
    ]  # fmt: skip


def _body() -> list[Wording]:
    """Health and food."""
    to = thing("detail", 3)
    no_more = r"(?i:i'm not|i am not|im not|i'm no longer|i am no longer)"
    diet = (
        r"(?:an? )?(?P<value>vegetarian|vegan|pescatarian|lacto-vegetarian|kosher|keto"
        r"|gluten-free|gluten free|halal)"
    )
    sick = rf"(?P<detail>(?i:{CONDITION}))\b"
    return [
        _wording("allergic_to", rf"{_AM}{_SOFTLY} (?:severely |deathly |very )?allergic to ", to,
                 listed=True),
        _wording("allergic_to", rf"{_HAVE} (?:an?|a \w+) allergy to ", to),
        _wording("allergic_to", rf"{_HAVE} an? (?:\w+ )?(?P<detail>\w+) allergy\b"),
        _wording("allergic_to", no_more, r" allergic to ", to, negated=True, listed=True),
        _wording("intolerant_to", rf"{_AM}{_SOFTLY} (?P<detail>lactose|gluten|fructose|histamine)"
                 r"[- ]intolerant"),
        _wording("intolerant_to", no_more, r" (?P<detail>lactose|gluten|fructose|histamine)"
                 r"[- ]intolerant", negated=True),
        _wording("diet", rf"{_AM}{_SOFTLY} ", diet, END),
        _wording("diet", r"(?i:i|i've)(?: just| recently)? (?:became|went|become|gone|turned) ",
                 diet, END, change=True),
        _wording("condition", _HAVE, _SOFTLY, " ", sick),
        _wording("condition", rf"{_I}{_SOFTLY} suffer from ", sick),
        _wording("condition", r"(?i:i was|i've been|i got|i have been)(?: just| recently)?"
                 r" diagnosed with ", thing("detail", 3), change=True),
        _wording("eats", r"(?i:i don't|i do not|i never|i can't|i no longer) (?:eat|drink) ",
                 r"(?:any )?", thing("detail", 2), negated=True),
    ]  # fmt: skip


def _tastes() -> list[Wording]:
    """Likes, dislikes and favourites."""
    # A thing that is defined by what was said before says nothing alone: "the color of it".
    known = (
        r"(?!the (?!beach|ocean|sea|outdoors|great outdoors|mountains|rain|snow|piano|violin|guitar"
        rf"|gym|countryside|sun|water|theat(?:er|re)|arts|cold|heat|[A-Z]|{COVER}))"
    )
    more = known + thing("detail", 4)
    # "Fantasy and sci-fi movies" is one thing: the first word alone would be another.
    blend = rf"(?P<detail>[a-z-]+(?<!ing)(?<!s) and {WORD} [a-z]+s)"
    fond = (
        rf"(?:{_I}{_SOFTLY} (?:love|like|enjoy|adore)|{_AM}{_SOFTLY} (?:(?:a )?(?:big|huge|massive"
        rf"|total) fan of|fond of|into|passionate about|crazy about)|{_I}{_SOFTLY} (?:have|'ve got)"
        rf" a passion for|{_AM}{_SOFTLY} all about"
        r"|(?i:i've|i have) (?:always |really )?(?:loved|liked|enjoyed|adored|been into)"
        r"|(?i:my (?:biggest |main |other |favou?rite )*(?:passion|hobby) is))"
    )
    averse = (
        rf"(?:{_I}{_SOFTLY} (?:hate|dislike|can't stand|despise|detest)"
        rf"|(?i:i|we) (?:don't|do not)(?: really| particularly)? (?:like|enjoy)(?: to)?"
        r"|(?i:i'm|i am) (?:not|no longer)(?: really| much| exactly)? "
        r"(?:(?:a )?(?:big |huge )?fan of|into|fond of|keen on))"
    )
    kinds = rf"(?P<detail>(?!part\b|thing\b|time\b|moment|memor|one\b){WORD}(?: {WORD}){{0,2}}?)"
    subject = rf"(?P<detail>{WORD}(?: (?:(?:and|of|the|in) )?{WORD}){{0,4}}?)"
    degree = r"(?:definitely |probably |still |always |also )?"
    is_ = r"(?:,? (?:is|are|has to be|would be|was always)|'s)"
    return [
        _wording("likes", fond, " ", blend, END),
        _wording("likes", fond, " (?!to\\b)", more, listed=True),
        _wording("likes", fond, r" (?P<detail>to [a-z]+(?: [a-z]+)?)", END),
        _wording("likes", r"(?i:my) (?:(?:shared|great|deep|growing) )?",
                 r"(?i:love|passion) (?:for|of) ", more, anywhere=True),
        _wording("likes", subject, r" (?:is|are) ", degree,
                 r"(?:one of )?my (?:all-time |absolute )?",
                 r"(?:favou?rites?|faves?|passions?|main hobbies|hobby|hobbies|top pick)", END,
                 first=True),
        _wording("likes", subject, r" (?:is|are) ", degree,
                 r"(?:one|some) of my (?:all-time )?(?:favou?rite|fave) [\w' -]{3,30}?", END,
                 first=True),
        _wording("favourite", subject.replace("detail", "value"), r" (?:is|are) ", degree,
                 r"my (?:all-time |absolute )?(?:favou?rite|fave) ", kinds, END, first=True),
        _wording("likes", averse, " (?!to\\b)", more, negated=True, listed=True),
        _wording("favourite", r"(?i:my|our)(?: all-time| absolute)? (?i:favou?rite|fave) ", kinds,
                 is_, r" (?:probably |definitely |still |always )?", thing("value", 5)),
    ]  # fmt: skip


def _pursuits() -> list[Wording]:
    """What is played, learnt, done and chosen."""
    how = "(?: how)?(?: to (?:play|speak))?"
    return [
        _wording("plays", rf"{_I}{_SOFTLY} play (?:the )?(?P<detail>{INSTRUMENT}|{SPORT})\b"),
        _wording("plays", r"(?i:i don't|i do not|i no longer) play (?:the )?",
                 rf"(?P<detail>{INSTRUMENT}|{SPORT})\b", negated=True),
        _wording("learns", rf"{_WE_ARE}{_SOFTLY} (?:learning|studying)", how,
                 rf" (?:the )?(?P<detail>{INSTRUMENT}|{LANGUAGE})\b"),
        _wording("plays", r"(?i:i've|i have) been playing (?:the )?"
                 rf"(?P<detail>{INSTRUMENT}|{SPORT})\b"),
        _wording("learns", rf"{_I}(?:'ve| have)?{_SOFTLY} (?:started|begun|began) ",
                 "(?:learning|studying)", how, rf" (?:the )?(?P<detail>{INSTRUMENT}|{LANGUAGE})\b",
                 change=True),
        _wording("learns", rf"(?:{_AM}{_SOFTLY} taking|(?i:i|i've){_SOFTLY} (?:started|been taking"
                 rf"|signed up for)) (?:an? )?(?P<detail>{WORD}(?: {WORD})?)",
                 r" (?:class|classes|lessons)\b",
                 change=True),
        _wording("does", rf"(?:{_I}{_SOFTLY} (?:do|practice|practise|teach)",
                 rf"|{_WE_ARE}{_SOFTLY} doing",
                 rf"|{_I}(?:'ve| have) (?:started|been) (?:doing|practicing))"
                 rf" (?P<detail>{PRACTICE})\b"),
        _wording("does", rf"{_I} (?:often |usually |regularly |always |sometimes )?go"
                 rf" (?P<detail>{OUTING})\b"),
        _wording("prefers", rf"{_I}{_SOFTLY} prefer ", thing("value", 4)),
        # A correction: what is asked for, and what it is asked for instead of.
        _wording("prefers", r"(?i:(?:(?:no|please|actually),? )+(?:use|write|send|show|give"
                 r"|take|make|say|put)(?: me| it| them| us)?(?: with| as| in)? )",
                 rf"(?P<value>{WORD}(?: {WORD}){{0,3}}? (?:instead of|rather than|and not)"
                 rf" {WORD}(?: {WORD}){{0,3}}?){END}", first=True),
    ]  # fmt: skip


def _procedures() -> list[Wording]:
    """How things are to be done."""
    rest = r"(?P<detail>[a-z][^.!?\n]{3,150})"
    # Verbs that somebody asks an assistant for: "always" alone is said of everything.
    verb = (
        r"(?=(?:answer|reply|respond|write|speak|talk|use|keep (?:your|it|the|my|answers)|give me"
        r"|show|send|call|email|mail|text"
        r"|ask|tell|remind|include|add|start|end|begin|format|explain|translate|summari[sz]e|cite"
        r"|quote|mention|suggest|recommend|assume|check|test|run|commit|push|deploy|delete|remove"
        r"|book|order|schedule|put|address|refer|share|store|save|print|offer|repeat|round|convert"
        r"|avoid|skip|apologi[sz]e|wake|interrupt|contact|sign|link|list|confirm|notify|switch"
        r"|provide|return|output|be (?:brief|concise|honest|direct|polite|formal|informal))\b)"
    )
    told = r"(?i:please )?(?i:always|make sure to always|make sure you always)"
    never = r"(?i:please )?(?i:never|do not ever|don't ever|make sure you never)"
    language = rf"(?:in )(?P<value>{LANGUAGE})\b"
    answer = (
        r"(?i:(?:please |always |only |from now on,? (?:please )?|just )*"
        r"(?:answer|reply|respond|write|speak|talk)(?: to me| with me| back)?) "
    )
    return [
        _wording("answer_language", answer, language, HARD_END),
        _wording("instruction", told, " ", verb, rest, value="always", first=True),
        _wording("instruction", never, " ", verb, rest, negated=True,
                 first=True),
        _wording("instruction", r"(?i:from now on|in (?:the )?future|going forward),? (?:please )?",
                 rf"(?!i\b|we\b|don't|do not|never){verb}", rest, value="from now on"),
        _wording("instruction", r"(?i:from now on|in (?:the )?future|going forward),? (?:please )?",
                 rf"(?i:don't|do not|never) {verb}", rest, negated=True),
        _wording("instruction", r"(?i:please (?:don't|do not|stop)) ",
                 r"(?!worry|hesitate|forget|be|give up|mind|feel|get me)", rest, negated=True),
        _wording("instruction", rf"{_I}(?: want|'d like| would like| need) you to ", verb, rest,
                 value="please"),
    ]  # fmt: skip


@cache
def wordings() -> tuple[Wording, ...]:
    """All of them; compiled when first asked for, which takes longer than loading the driver."""
    return (
        *(*_people(), *_places_and_work(), *_body()),
        *(*_tastes(), *_pursuits(), *_procedures()),
    )
