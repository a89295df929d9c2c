"""The wordings that claims are drawn from: what people say of themselves.

Each is one pattern with the groups `value` and `detail`. It begins with the speaker ("I", "my") or
with what is asked for; `clauses` decides whether a statement may begin there at all. How things are
to be done, what people do and like, and what is over have files of their own.
"""

from __future__ import annotations

from functools import cache

from .ending_wordings import ending_wordings
from .habit_wordings import habit_wordings
from .instruction_wordings import instruction_wordings
from .phrases import (
    DEMONYM,
    END,
    HARD_END,
    HEAD,
    HOME,
    LANGUAGE,
    LOWER_PLACE,
    NUMBER,
    OCCUPATION,
    PLACE,
    POSSESSION,
    RELATION,
    SPECIES,
    name,
    thing,
)
from .wording import AM, DATE, HAVE, SOFTLY, WE_ARE, WHO, Wording, worded


def _names() -> list[Wording]:
    """Names, and how somebody is addressed."""
    called = (
        r"(?i:i (?:go by|like to be called|prefer to be called)|i(?:'d| would) (?:like|prefer)"
        r" to be called|(?:everyone|everybody|most people|people|they|my friends) calls? me"
        r"|my nickname is)"
    )
    greeting = r"(?i:hi|hello|hey)(?: there)?[,!.]? "
    asked = (
        r"(?i:(?:please |just |you can |everyone can |feel free to )?call me"
        r"|(?:please )?address me as)"
    )
    return [
        worded("name", r"(?i:my (?:full |first )?name is|my name's) ", name(most=3)),
        worded("name", r"(?i:(?:the )?name's|the name is) ", name(most=3), first=True),
        worded("name", r"my name is (?P<value>(?!not\b|on\b|in\b|the\b|a\b|an\b|my\b)[a-z]{2,20}+)",
               END, lower=True),
        worded("name", rf"{greeting}(?:{AM}|this is) ", name(), HARD_END),
        worded("name", greeting, name(), r" here", HARD_END),
        worded("name", rf"{AM} (?:called |named )", name()),
        # The whole of a sentence: within one, what follows "I'm" with a capital may be anything.
        worded("name", rf"{AM} (?!{DEMONYM})", name(), HARD_END, first=True),
        worded("called", asked, r" (?P<value>(?:(?:Dr|Mr|Mrs|Ms|Prof|Professor)\.? )?",
               name("_title"), ")",
               rf"(?! (?:at|on|by))(?:{END}|(?= instead| from now on| please))"),
        worded("called", called, " ", name()),
        worded("pronouns", r"(?i:my pronouns are|pronouns:|i use|i go by|use) "
               r"(?P<value>(?:he|she|they|it|xe|ze)/\w+(?:/\w+)?)"),
    ]  # fmt: skip


def _family() -> list[Wording]:
    """Family and pets."""
    # "My brother's wife" is no wife of the speaker's; "my horse painting" is no horse.
    not_theirs = r"(?!'s? (?:\w+ )?(?:husband|wife|friend|brother|sister|boyfriend|girlfriend|son))"
    still = r"(?!(?:late|ex|first|former|future|dead|deceased|imaginary|fake|work)\b)"
    # "Married to my work", "engaged in a project", "married and later divorced".
    bound = (
        rf"(?:{END}|(?= (?:to (?:[A-Z]|an? (?:\w+ )?(?:wo)?man\b)|for |in (?:[\dA-Z]|the ))))"
        r"(?![^.!?]*\b(?:divorced|separated|widowed|annulled)\b)"
    )
    return [
        worded("family", rf"(?i:my|our) (?:{still}\w+ )??(?P<value>{RELATION}),? ",
               name("detail", 1), r"(?!'s? (?:\w+ )?(?:husband|wife|friend|son|daughter))",
               anywhere=True),
        worded("family", rf"(?i:my) (?P<value>{RELATION})(?:'s name is| is called| is named) ",
               name("detail")),
        worded("family", rf"(?i:my) (?:{still}\w+ )??", r"(?P<detail>husband|wife|fianc\u00e9e?"
               r"|fiancee?|girlfriend|boyfriend|son|daughter|brother|sister|niece|nephew|cousin"
               r"|children|grandson|granddaughter)\b(?!-| in law\b)", not_theirs, anywhere=True),
        worded("family", r"(?i:my) (?:kids|sons|daughters|children)\b", not_theirs,
               detail="children", anywhere=True),
        worded("family", rf"{HAVE} an? (?:\w+ )?(?P<value>{RELATION})"
               r" (?:called|named|whose name is) ", name("detail", 1)),
        worded("family", rf"{HAVE} (?:an? )?(?:\w+ )?(?P<detail>(?:{RELATION}|sisters|brothers|sons"
               r"|daughters))", END),
        worded("family", rf"{AM}{SOFTLY} (?:happily )?married to ", name("detail", 1),
               value="spouse", shared=True),
        worded("children", rf"{HAVE} (?P<value>{NUMBER})(?: \w+)? (?:kids?|child(?:ren)?)\b"),
        worded("children", rf"{AM}{SOFTLY} (?:an? |the )?(?:[\w-]+ )?(?:mother|father|mom|mum|dad"
               rf"|parent) (?:of|to) (?P<value>{NUMBER})\b(?! (?:\w+ )?(?:{SPECIES})s?\b)"),
        worded("children", r"(?i:(?:i|we) (?:don't|do not) have (?:any )?|(?:i|we) have no )"
               r"(?:kids|children)\b(?! (?:under|over|with|at|in)\b)", value="no"),
        worded("relationship", rf"(?:{WE_ARE}|(?i:we got|i got|i've been|we've been)){SOFTLY}"
               r" (?:happily )?(?P<value>married|divorced|engaged|widowed|separated)",
               bound, change=True),
        worded("relationship", rf"{AM}{SOFTLY} (?P<value>single|in a (?:\w+ )?relationship)",
               HARD_END),
        worded("pet", rf"(?i:my|our) (?:\w+ )??(?P<value>{SPECIES}),? ", name("detail", 1),
               anywhere=True),
        worded("pet", rf"(?i:my|our) (?:\w+ )?(?P<value>{SPECIES})"
               r"(?:'s name is| is called| is named) ", name("detail", 1)),
        worded("pet", rf"(?:{HAVE}|(?i:i|we){SOFTLY} adopted) an? (?:[\w-]+ )?"
               rf"(?P<value>{SPECIES}),? (?:called|named|whose name is) ", name("detail", 1),
               change=True),
        worded("pet", rf"(?:{HAVE}|(?i:i|we) own){SOFTLY} (?:an?|{NUMBER}) (?:[\w-]+ )?"
               rf"(?P<detail>{SPECIES})s?", END),
        worded("pet", rf"(?i:i|we)(?:'ve)?{SOFTLY} got (?:an?|our) (?:new )?"
               rf"(?P<detail>{SPECIES})", HEAD, change=True),
        worded("pet", rf"(?i:i|we){SOFTLY} adopted (?:an?|this|{NUMBER}) (?:[\w-]+ )?"
               rf"(?P<detail>{SPECIES})s?\b", change=True),
        worded("pet", rf"(?i:my|our) (?P<detail>{SPECIES})s?", HEAD, anywhere=True),
    ]  # fmt: skip


def _homes_and_days() -> list[Wording]:
    """Homes, origins, ages, possessions and goals."""
    lives = (
        rf"(?:{WHO}{SOFTLY} (?i:live|reside)|{WE_ARE}{SOFTLY} (?i:living|based)|(?i:my home is))"
        r"(?: (?:with|at) my [a-z]{3,12}| alone| together)?"
    )
    lived = rf"{WHO}(?i:'ve| have){SOFTLY} (?i:lived|been living) in "
    moved = (
        rf"{WHO}(?i:'ve| have)?{SOFTLY} (?:(?i:moved|relocated)(?: back)? (?:in )?to"
        r"|(?i:settled(?: down)?) in) "
    )
    # "… and then to Rome", "… for a year", "… when I was five": it need not be home now.
    stayed = (
        r"(?![^.!?]*\b(?i:back|returned|then|later|until|(?:and|but) to|(?:now|currently) (?:live"
        r"|living|in|based)|when (?:i|we) (?:was|were)|(?:i've|i have|we've) been"
        r"|for (?:an?|one|two|three|a few|\d+)"
        r" (?:day|week|month|year|semester|term|summer|winter)s?)\b)"
    )
    return [
        worded("lives_in", lives, " in ", HOME),
        worded("lives_in", lives, " in ", LOWER_PLACE, lower=True),
        worded("lives_in", lived, HOME,
               r"(?= (?:since|for|all my|my (?:whole|entire)|ever since)\b)", change=True),
        worded("lives_in", moved, HOME, stayed, change=True),
        worded("lives_in", moved, LOWER_PLACE, stayed, change=True, lower=True),
        worded("from", rf"(?:{AM}|(?i:i come|i hail)){SOFTLY} (?:originally )?from ", HOME),
        worded("from", rf"{AM} (?:originally )?from ", LOWER_PLACE, lower=True),
        worded("from", r"(?i:i was (?:born|raised|born and raised)|i grew up) in ", HOME),
        worded("from", r"(?i:my (?:home country|home town|hometown)(?:,| is)) ", HOME),
        worded("age", rf"{AM}{SOFTLY} (?P<value>\d{{1,3}}) years old"),
        worded("age", rf"{AM}{SOFTLY} (?P<value>[1-9]\d)",
               rf"(?:{HARD_END}|(?= and (?:i|single|married|live|work|from|retired)\b))"),
        worded("age", rf"{AM}{SOFTLY} an? (?P<value>[1-9]\d)[- ]years?[- ]old\b", shared=True),
        worded("age", r"(?i:my age is) (?P<value>[1-9]\d)\b"),
        worded("age", rf"(?i:i|i've){SOFTLY} turned (?P<value>\d{{2}})\b", change=True),
        worded("birthday", r"(?i:my (?:birthday|bday|birth date|date of birth|dob)(?: is|'s| falls)"
               r"|i was born|it's my birthday|i celebrate my birthday)(?: on)? ", DATE),
        worded("owns", r"(?i:i own|i drive) an? (?!lot\b|few\b|bit\b|hard |long |little |copy\b"
               r"|share\b|part\b|piece\b|stake\b|taxi\b|cab\b|bus\b)"
               r"(?P<detail>(?:(?!to |in |for |at |with |from |on |of )[\w-]+ ){0,2}?[\w-]+)",
               HEAD),
        worded("owns", r"(?i:i|we)(?:'ve)?", SOFTLY, r" (?:bought|got) an? (?:new |used |old )?"
               rf"(?P<detail>{POSSESSION})", HEAD, change=True),
        worded("owns", r"(?i:my) (?:new |own |trusty |vintage )?"
               rf"(?P<detail>{POSSESSION})", HEAD, anywhere=True),
        worded("goal", r"(?i:my (?:main |big |biggest |next |ultimate )?(?:goal|dream|aim) is)"
               r" (?P<detail>to (?:[^,.;:!?\n-]|(?<=\w)-(?=\w)){4,120}+)(?=[,.;:!?\n-]|$)"),
        worded("goal", rf"{WHO}{SOFTLY} want to ",
               r"(?P<detail>(?:become|be) an? (?!part\b|bit\b)[\w' -]{3,40}?)", END),
        worded("goal", rf"(?:{WHO}{SOFTLY} (?:plan|intend)|{WE_ARE}{SOFTLY} planning) ",
               r"(?P<detail>to (?:move|learn|quit|become|start|open|buy|build|write|study|apply"
               r"|retire|run|lose|save|launch|found|finish|stop|give up|get (?:married|fit))"
               r"(?! [^.!?]*\b(?:today|tonight|tomorrow|now|this (?:morning|afternoon|evening"
               r"|weekend))\b) [\w' -]{3,60}?)",
               rf"(?:{HARD_END}|(?= (?:and|but|so|because) (?:i|i'm|we|was|am|need|want)\b))"),
        worded("goal", rf"{WE_ARE}{SOFTLY} (?:training|saving(?: up)?) "
               r"(?P<detail>for (?:an?|my|our) [\w' -]{3,40}?)", END),
        worded("speaks", rf"(?:{WHO}{SOFTLY} (?:can )?speak|{AM}{SOFTLY} fluent in) (?:fluent "
               rf"|a little |some |a bit of )?(?P<detail>{LANGUAGE})\b", listed=True),
        worded("speaks", r"(?i:my (?:native|first) language is|my mother tongue is) "
               rf"(?P<detail>{LANGUAGE})\b"),
        worded("speaks", rf"(?P<detail>{LANGUAGE}) is my (?:native|first|mother)"
               r" (?:language|tongue)",
               first=True),
        worded("speaks", rf"{AM} a native (?P<detail>{LANGUAGE}) speaker"),
        worded("speaks", rf"(?i:i don't|i do not|i can't) speak (?:any )?(?P<detail>{LANGUAGE})"
               r"\b", negated=True),
    ]  # fmt: skip


def _work() -> list[Wording]:
    """Work and studies."""
    works = rf"(?:{WHO}{SOFTLY} work|{AM}{SOFTLY} working|(?i:i've|i have) (?:been working|worked))"
    job = r"(?i:i|i've)(?: just| finally| recently)? (?:got|landed|found|started|accepted|have) "
    # "A good driver", "a former nurse", "an aspiring chef": nobody's work, or not theirs now.
    no_work = (
        "(?!(?:at|for|in|good|great|bad|better|best|worse|terrible|horrible|lousy|awful|decent|poor"
        "|slow|fast|quick|careful|careless|nervous|cautious|confident|excellent|amazing|fantastic"
        "|big|huge|avid|keen|natural|born|lifelong|heavy|hard|bit|kind|sort|vegetarian|vegan|former"
        "|ex|retired|aspiring|wannabe|would-be|budding|future|failed|frustrated|secret|hobby"
        "|amateur|armchair|team|group|pair|couple|unit|rule|joke|result|hobby|favou?r) )"
    )
    an = rf"(?P<value>an? (?!(?:team|group|couple|unit|joke) )(?:{no_work}[\w-]+ ){{0,2}}?"
    # "As a nurse at Bosch": what follows is another wording's.
    role = (
        r"(?! (?:at heart|in (?:the making|training|disguise|spirit)|by (?:heart|night)|for a day))"
        rf"(?:{END}|(?= (?:at|for|in|by) ))"
    )
    head = (
        r"(?P<value>(?:the )?(?:CEO|CTO|CFO|COO|head|director|owner|(?:co-?)?founder|president)"
        r" (?:of|at) (?!(?:me|my|our|this|that)\b|the (?:day|family|house|household|class|table"
        r"|list|line|pack)\b)[\w'&-]+(?: [\w'&-]+){0,3}?)"
    )
    return [
        worded("works_at", works, "(?: full-time| part-time)?(?: in [A-Z]{2,3})? (?:at|for)"
               r" (?!The End)", PLACE),
        worded("works_at", works, r" as an? (?:[\w-]+ ){1,3}?(?:at|for) ", PLACE, shared=True),
        worded("works_at", rf"{AM}{SOFTLY} an? (?:[\w-]+ ){{0,2}}?(?!student)(?:{OCCUPATION})"
               r" (?:at|for) ",
               PLACE, shared=True),
        worded("works_at", rf"(?:{AM} employed (?:at|by|with)|(?i:my employer is)"
               r"|(?i:my (?:new |current )?job is) (?:at|with))"
               r" (?!The End)", PLACE),
        worded("works_at", r"(?i:i|i've)", SOFTLY,
               r" started(?: working| a job| work)? (?:at|for) ", PLACE, change=True),
        worded("works_at", job, r"(?:a |my )?(?:new )?(?:job|work|working|position)"
               r"(?: as an? [\w -]{3,30}?)? (?:at|with) ", PLACE, change=True, shared=True),
        worded("works_as", works, rf" as {an}[\w-]+)", role),
        worded("works_as", rf"{AM}{SOFTLY} {an}(?:{OCCUPATION}))", role),
        worded("works_as", rf"{AM}{SOFTLY} ", head, END),
        worded("works_as", rf"(?i:i've|i have) been {an}(?:{OCCUPATION}))(?= (?:for|since)\b)",
               change=True),
        worded("works_as", rf"(?i:i|i've)(?: recently| just)? (?:became|become)"
               rf" {an}(?:{OCCUPATION}))",
               role, change=True),
        worded("works_as", job, rf"(?:a |my )?(?:new )?(?:job|work|working) as {an}[\w-]+)",
               role, change=True),
        worded("works_as", r"(?i:my (?:job|occupation|profession) is|i make a living) (?:as )?", an,
               r"[\w-]+)", role),
        worded("studies", rf"(?:{WHO}{SOFTLY} study|{AM}{SOFTLY} studying)"
               r" (?!for|at|in|abroad|hard)",
               r"(?P<value>[a-z]+(?: [a-z]+)?)(?= (?:at|in) [A-Z])"),
        worded("studies", rf"(?:{WHO}{SOFTLY} study|{AM}{SOFTLY} (?:studying|majoring in"
               r"|doing a (?:PhD|master's|bachelor's|degree) in)|(?i:my major is))"
               r" (?!for|at|in|abroad|hard|the\b|my\b|this\b)", thing("value", 3)),
        worded("studies_at", rf"(?:{WHO} study|{AM} studying|(?i:i go to))"
               r"(?: (?!at\b|in\b|for\b)[a-z]+){0,2}(?: at)? (?=[\w ]{0,30}(?:University|College"
               r"|School|Institute))", PLACE, shared=True),
        worded("studies_at", rf"{AM}{SOFTLY} an? (?:[\w-]+ ){{0,2}}?student at ", PLACE,
               shared=True),
        worded("studies_at", rf"(?:{WHO} study|{AM} studying)"
               r"(?: (?!at\b|in\b|for\b)[a-z]+){0,2} at ",
               PLACE, shared=True),
    ]  # fmt: skip


@cache
def wordings() -> tuple[Wording, ...]:
    """All of them; compiled when first asked for, which takes longer than loading the driver."""
    return (
        *ending_wordings(),
        *(*_names(), *_family(), *_homes_and_days(), *_work()),
        *habit_wordings(),
        *instruction_wordings(),
    )
