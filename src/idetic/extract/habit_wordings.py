"""Wordings of what people do and like: health and food, tastes, pursuits, tools."""

from __future__ import annotations

from .clauses import COVER
from .phrases import (
    CONDITION,
    END,
    FOOD,
    HARD_END,
    HEAD,
    INSTRUMENT,
    LANGUAGE,
    LASTS,
    OUTING,
    PRACTICE,
    SPORT,
    WORD,
    thing,
)
from .wording import AM, HAVE, SOFTLY, WE_ARE, WHO, WHO_HAS, Wording, worded

_HOW = "severely|deathly|very|highly|extremely|mildly|slightly|terribly|badly|a bit|a little"
# How somebody with an illness says so, and what the illness is called.
_ILL = {
    "diabetic": "diabetes",
    "asthmatic": "asthma",
    "epileptic": "epilepsy",
    "dyslexic": "dyslexia",
    "autistic": "autism",
    "an(?:a)?emic": "anemia",
    "colou?r[- ]?blind": "colour blindness",
}
_HABITS = {
    "run": "running",
    "jog": "jogging",
    "swim": "swimming",
    "cycle": "cycling",
    "meditate": "meditation",
    "go to the gym": "sport at the gym",
}
_REGULARLY = (
    r"(?=(?:every|each) (?:\w+ )?(?:day|morning|evening|night|week|weekend|month|[A-Z]\w+day)"
    r"|daily\b|(?:once|twice|three times|\d times) a (?:day|week|month))"
)


def habit_wordings() -> tuple[Wording, ...]:
    """All of them."""
    return (*_body(), *_tastes(), *_pursuits(), *_tools())


def _body() -> list[Wording]:
    """Health and food."""
    to = thing("detail", 3)
    no_more = r"(?i:i'm not|i am not|im not|i'm no longer|i am no longer)"
    diet = (
        r"(?:an? )?(?P<value>vegetarian|vegan|pescatarian|lacto-vegetarian|kosher|keto"
        r"|gluten-free|gluten free|halal|paleo|plant-based|low-carb|flexitarian|pescetarian)"
    )
    # "Allergic to work" is no illness.
    no_joke = (
        r"(?!(?:work|working|mondays?|mornings?|people|exercise|bullshit|stupid\w*"
        r"|nonsense|drama)\b)"
    )
    sick = rf"(?P<detail>(?i:{CONDITION}))\b"
    return [
        worded("allergic_to", rf"{AM}{SOFTLY} (?:(?:{_HOW}) )?allergic to ", no_joke, to,
               listed=True),
        worded("allergic_to", rf"(?:{HAVE}|(?i:i've|i) (?:developed|got)) (?:an?|an? \w+)"
               r" allergy to ",
               to),
        worded("allergic_to", rf"(?:{HAVE} allergies to|(?i:my allergies):) ", to, listed=True),
        worded("allergic_to", rf"(?:{HAVE}|(?i:i suffer from)) an? (?:\w+ )?"
               r"(?P<detail>\w+) allergy\b"),
        worded("allergic_to", no_more, r" allergic to ", to, negated=True, listed=True),
        worded("intolerant_to", rf"{AM}{SOFTLY} (?P<detail>lactose|gluten|fructose|histamine)"
               r"[- ]intolerant"),
        worded("intolerant_to", no_more, r" (?P<detail>lactose|gluten|fructose|histamine)"
               r"[- ]intolerant", negated=True),
        worded("diet", rf"(?:{AM}{SOFTLY}|(?i:my diet is)) (?:an? )?(?:strict(?:ly)? )?",
               diet, LASTS, END),
        worded("diet", rf"(?:{AM}{SOFTLY} on|{WHO}{SOFTLY} (?:follow|eat|keep)) ", diet,
               rf"(?: diet| food| meals)?{LASTS}{END}"),
        worded("diet", r"(?i:i|i've)(?: just| recently)? (?:became|went|become|gone|turned) ",
               diet, LASTS, rf"(?:{END}|(?= in ))", change=True),
        worded("diet", r"(?i:i've|i have) been ", diet, rf"(?:{END}|(?= (?:in|for) ))",
               change=True),
        worded("condition", HAVE, SOFTLY, " (?:chronic |severe |mild |bad )?", sick, LASTS, END,
               listed=True),
        worded("condition", rf"{WHO}{SOFTLY} (?:suffer from|live with) ", sick, LASTS, END,
               listed=True),
        worded("condition", r"(?i:i've|i have) had ", sick, r"(?= (?:since|for)\b)"),
        *(
            worded("condition", rf"{AM}{SOFTLY} (?:an? )?(?:{said})\b", END, detail=named)
            for said, named in _ILL.items()
        ),
        worded("condition", r"(?i:i was|i've been|i got|i have been)(?: just| recently)?"
               r" diagnosed with ", thing("detail", 3), change=True),
        worded("eats", rf"{WHO} (?i:don't|do not|never|can't|cannot|no longer) (?:eat|drink) ",
               r"(?:any )?(?!(?:alone|fast|slowly|out|well|much|late|early|together|enough|like|too"
               r"|before|after|until|in|on|at|as|more|less|lunch)\b)", thing("detail", 2),
               negated=True, listed=True),
        worded("eats", rf"{WHO_HAS}{SOFTLY} (?:stopped|quit|given up|gave up)"
               r" (?:eating|drinking) ",
               r"(?:any )?", thing("detail", 2), negated=True, change=True),
        worded("eats", rf"{WHO_HAS}{SOFTLY} (?:avoid|quit|given up|gave up|cut out|can't have"
               rf"|eat no|drink no) (?:all )?(?P<detail>{FOOD})\b", negated=True),
        worded("eats", rf"{WHO} (?:don't|do not) drink(?: at all| any ?more)?", HARD_END,
               detail="alcohol", negated=True),
    ]  # fmt: skip


def _tastes() -> list[Wording]:
    """Likes, dislikes and favourites."""
    # A thing that is defined by what was said before says nothing alone: "the color of it".
    known = (
        r"(?!the (?!beach|ocean|sea|outdoors|great outdoors|mountains|rain|snow|piano|violin|guitar"
        rf"|gym|countryside|sun|water|theat(?:er|re)|arts|cold|heat|{COVER}))"
    )
    more = known + thing("detail", 4)
    # "Fantasy and sci-fi movies" is one thing: the first word alone would be another.
    blend = (
        rf"(?P<detail>[a-z-]+(?<!ing)(?<!s) and {WORD} (?:[a-z]+s|music|photography|food|art"
        r"|cuisine|fiction|cooking|poetry|history|culture|comedy))"
    )
    fond = (
        rf"(?:{WHO}{SOFTLY} (?:love|like|enjoy|adore)(?: both)?"
        rf"|{AM}{SOFTLY} (?:(?:a )?(?:big|huge|massive"
        rf"|total) fan of|fond of|into|passionate about|crazy about)|{WHO}{SOFTLY} (?:have|'ve got)"
        rf" a passion for|{AM}{SOFTLY} all about"
        r"|(?i:i've|i have) (?:always |really )?(?:loved|liked|enjoyed|adored|been into)"
        r"|(?i:my (?:biggest |main |other |favou?rite )*(?:passion is|hobby is|hobbies are)))"
    )
    averse = (
        rf"(?:{WHO}{SOFTLY} (?:hate|dislike|can't stand|despise|detest|loathe"
        r"|no longer (?:like|enjoy))"
        rf"|(?i:i|we) (?:don't|do not)(?: really| particularly)? (?:like|enjoy|care for)"
        r"|(?i:i'm|i am) (?:not|no longer)(?: really| much| exactly)? "
        r"(?:(?:a )?(?:big |huge )?fan of|into|fond of|keen on))"
    )
    kinds = rf"(?P<detail>(?!part\b|thing\b|time\b|moment|memor|one\b){WORD}(?: {WORD}){{0,2}}?)"
    subject = rf"(?P<detail>{WORD}(?: (?:(?:and|of|the|in) )?{WORD}){{0,4}}?)"
    degree = r"(?:definitely |probably |still |always |also )?"
    is_ = r"(?:,? (?:is|are|has to be|would be|was always)|'s)"
    return [
        worded("likes", fond, " ", blend, END),
        worded("likes", fond, " (?!to\\b)", more, listed=True),
        worded("likes", fond, r" (?P<detail>to [a-z]+(?: [a-z]+)?)", END),
        worded("likes", r"(?i:my) (?:(?:shared|great|deep|growing) )?",
               r"(?i:love|passion) (?:for|of) ", more, anywhere=True),
        worded("likes", subject, r" (?:is|are) ", degree,
               r"(?:one of )?my (?:all-time |absolute )?",
               r"(?:favou?rites?|faves?|passions?|main hobbies|hobby|hobbies|top pick)", END,
               first=True),
        worded("likes", subject, r" (?:is|are) ", degree,
               r"(?:one|some) of my (?:all-time )?(?:favou?rite|fave) [\w' -]{3,30}?", END,
               first=True),
        worded("favourite", subject.replace("detail", "value"), r" (?:is|are) ", degree,
               r"my (?:all-time |absolute )?(?:favou?rite|fave) ", kinds, END, first=True),
        worded("likes", averse, " (?!to\\b)", more, negated=True, listed=True),
        worded("likes", averse, r" (?P<detail>to (?!say|admit|break|ask|bother|interrupt|think|see"
               r"|hear|tell|be\b)[a-z]+(?: [a-z]+)?)", END, negated=True),
        worded("favourite", r"(?i:my|our)(?: all-time| absolute)? (?i:favou?rite|fave) ", kinds,
               is_, r" (?:probably |definitely |still |always )?", thing("value", 5)),
    ]  # fmt: skip


def _pursuits() -> list[Wording]:
    """What is played, learnt, done and chosen."""
    how = "(?: how)?(?: to (?:play|speak))?"
    return [
        worded("plays", rf"{WHO}{SOFTLY} play (?:the )?(?P<detail>{INSTRUMENT}|{SPORT})", HEAD),
        worded("learns", rf"(?:{WE_ARE}{SOFTLY} (?:trying to learn|teaching myself)"
               rf"|{WHO_HAS} been (?:learning|studying)){how} (?:the )?"
               rf"(?P<detail>{INSTRUMENT}|{LANGUAGE})\b", change=True),
        worded("plays", r"(?i:i don't|i do not|i no longer) play (?:the )?",
               rf"(?P<detail>{INSTRUMENT}|{SPORT})\b", negated=True),
        worded("learns", rf"{WE_ARE}{SOFTLY} (?:learning|studying)", how,
               rf" (?:the )?(?P<detail>{INSTRUMENT}|{LANGUAGE})\b"),
        worded("plays", r"(?i:i've|i have) been playing (?:the )?"
               rf"(?P<detail>{INSTRUMENT}|{SPORT})", HEAD),
        worded("learns", rf"{WHO}(?:'ve| have)?{SOFTLY} (?:started|begun|began) ",
               "(?:learning|studying)", how, rf" (?:the )?(?P<detail>{INSTRUMENT}|{LANGUAGE})\b",
               change=True),
        worded("learns", rf"(?:{AM}{SOFTLY} taking|(?i:i|i've){SOFTLY} (?:started|been taking"
               r"|signed up for)) (?:taking )?(?:an? )?(?!group|private|online)",
               rf"(?P<detail>{WORD}(?: {WORD})?) (?:class|classes|lessons)\b",
               change=True),
        worded("does", rf"(?:{WHO}{SOFTLY} (?:do|practice|practise|teach)",
               rf"|{WE_ARE}{SOFTLY} doing",
               rf"|{WHO}(?:'ve| have) (?:started|been) (?:doing|practicing))"
               rf" (?P<detail>{PRACTICE})", HEAD),
        worded("does", rf"{WHO} (?:often |usually |regularly |always |sometimes )?go"
               rf" (?P<detail>{OUTING})(?! (?:for compliments|away|around)\b)", HEAD),
        *(
            worded("does", rf"{WHO}{SOFTLY} (?:usually |often )?{verb} ", _REGULARLY, detail=doing)
            for verb, doing in _HABITS.items()
        ),
        worded("prefers", rf"{WHO}{SOFTLY} prefer ", thing("value", 4),
               # "Simple, minimal dependencies": the first of several adjectives is nothing yet.
               r"(?!, (?!(?:but|and|so|because|which|though|please|i)\b)[a-z-]+ [a-z]+)"
               r"(?! (?:with|that|which|who|when|where)\b)"),
        # A correction: what is asked for, and what it is asked for instead of.
        worded("prefers", r"(?i:(?:(?:no|please|actually),? )+(?:use|write|send|show|give"
               r"|take|make|say|put)(?: me| it| them| us)?(?: with| as| in)? )",
               rf"(?P<value>{WORD}(?: {WORD}){{0,3}}? (?:instead of|rather than|and not)"
               rf" {WORD}(?: {WORD}){{0,3}}?){END}", first=True),
    ]  # fmt: skip


def _tools() -> list[Wording]:
    """What somebody works with."""
    named = (
        r"(?P<detail>(?!I\b|I'|And\b|But\b|The\b|God\b|Silent|Mute|Vibrate)(?:[a-z]{1,3}(?=[A-Z]))?"
        r"[A-Z][\w+#.-]*[\w+#]"
        r"(?: (?!I\b|I'|And\b|But\b)[A-Z][\w+#.-]*[\w+#]){0,2}|C|R)(?!\w|')"
    )
    part = (
        r"(?i:my|our) (?:\w+ )?(?:editor|ide|browser|phone|laptop|computer|operating system|os"
        r"|stack|database|framework|keyboard|camera|shell|terminal)(?: is| runs)(?: on)? (?:an? )?"
    )
    return [
        worded("uses", rf"(?:{WHO}{SOFTLY} use|{WE_ARE}{SOFTLY} using) (?:an? |the )?", named, END),
        worded("uses", rf"(?:{WHO}{SOFTLY} (?:code|program|develop)|{WE_ARE}{SOFTLY} (?:coding"
               r"|programming|developing))(?: mostly| mainly| only)? in ", named, END),
        worded("uses", part, named, END),
        worded("uses", rf"{WHO_HAS}{SOFTLY} (?:switched|migrated)(?: over| back)?"
               r"(?: from [\w+#. -]{1,30}?)? to ", named, END, change=True),
        worded("uses", rf"{WE_ARE}{SOFTLY} on "
               r"(?P<detail>Windows|Linux|macOS|Ubuntu|Android|iOS)\b"),
        worded("uses", rf"(?:{WHO} (?:don't|do not|no longer) use|{WHO_HAS}{SOFTLY} stopped using)"
               r" (?:an? |the )?", named, END, negated=True),
    ]  # fmt: skip
