"""Phrases that wordings end with: a place, a name, a thing. Each is a pattern with named groups.

A phrase ends where a clause may end, or there is none: half a phrase is worse than nothing. All
repetitions are bounded or possessive, so that no text takes more than its length.
"""

from __future__ import annotations

import re
from functools import cache

from .clauses import COVER

# Words that point to something else in the conversation: what holds them says nothing alone.
_POINTING = (
    "it|its|it's|you|you're|your|yours|he|she|they|they're|him|his|her|hers|them|their|theirs|this"
    "|that|that's|these|those|us|our|ours|we|me|my|mine|there|here|one|ones|everyone|everything"
    "|anything|something|someone|nothing|such|another|how|what|whatever|why|where|who|both|each"
    "|all|I|i|i'm|I'm|I've|I'll|im"
)
_FINITE = (
    "is|are|was|were|am|be|been|isn't|aren't|has|have|had|do|does|did|don't|can|can't|could|will"
    "|would|should|might|must|makes?|made|helps?|helped|gives?|keeps?|brings?|feels?|reminds?|got"
    "|began|started|grew|gets|takes?|seems?|looks?|sounds?|if|than|not|let|lets|led|inspires?|means"
)
# After these words a clause goes on to something else.
_BREAKS = (
    "and|but|so|because|cuz|since|as|when|whenever|while|which|who|whom|though|although|especially"
    "|too|also|either|anymore|any more|now|nowadays|lately|right|currently|recently|again|already"
    "|these days|at the moment|at the minute|a lot|so much|very much|more than|even|just|where|or"
    "|for a while|for years|for ages|by the way|btw|with|since|for now|today|lol|thanks|then|yet"
    "|this (?:week|month|year|summer|winter|spring|fall|morning|semester)|last|every|each"
    "|in (?=\\d)|after|before|during|until|unless|whose"
    "|to (?=help|get|relax|keep|stay|be|unwind|clear|make)"
)
END = rf"(?=\s*(?:$|[,.;:!?()\n\"\u2026]|\s[-\u2013\u2014]|-{{2,}}|\s(?:{_BREAKS})\b))"
# The end of all that is said, for what may not go on at all.
HARD_END = r"(?=\s*(?:$|[,.;:!?()\n\"\u2026]|\s[-\u2013\u2014]))"
WORD = rf"(?!(?i:{_POINTING}|{_FINITE}|{_BREAKS})\b)[\w'&/{COVER}-]++"


def thing(group: str, most: int = 4) -> str:
    """A phrase of a few words of any kind."""
    return rf"(?P<{group}>{WORD}(?: {WORD}){{0,{most - 1}}}?){END}"


@cache
def list_pattern() -> re.Pattern[str]:
    """Further things after a first one: "pizza, pasta and sushi". The last one ends the clause."""
    return re.compile(
        rf"(?P<more>(?:, {WORD}(?: {WORD})?){{0,4}},? (?:and|or) {WORD}(?: {WORD})?){HARD_END}"
    )


LIST_JOINTS = re.compile(r",? and |,? or |, ")
_CAPITAL = r"[A-Z\u00c0-\u00de][\w'.-]*+"
# Words with a capital that are no names.
_NO_NAMES = (
    r"(?:I|I'm|I've|I'll|I'd|Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)(?:day)?s?\b|(?:January|February"
    r"|March|April|May|June|July|August|September|October|November|December|Christmas|Easter"
    r"|Thanksgiving|God|OMG|OK|LOL|Maybe|TV|AI|The|And|But|So|She|He|They|It|We|You|My|Yes|No"
    r"|Mom|Dad|Mum|Thanks|BTW|Uber|Crazy|Sir|Hey|Also|Just|What|How)\b"
)


def name(group: str = "value", most: int = 2) -> str:
    """A name of a person or a pet: words with a capital."""
    word = r"[A-Z\u00c0-\u00de][a-z\u00df-\u00ff-]++[A-Za-z]*+"
    return rf"(?P<{group}>(?!{_NO_NAMES}){word}(?: (?!{_NO_NAMES}){word}){{0,{most - 1}}})(?!\w)"


_JOINING = r"(?:of|upon|de|la|del|am|the|and)"
PLACE = (
    rf"(?P<value>(?:the )?(?!{_NO_NAMES}){_CAPITAL}"
    rf"(?:,? (?:{_JOINING} )?(?!{_NO_NAMES}){_CAPITAL}){{0,3}})"
)
# Of those who never use a capital: a word or two up to the end, and no figure of speech.
LOWER_PLACE = (
    r"(?P<value>(?!(?:a|an|the|my|fear|peace|hope|harmony|denial|luxury|poverty|pain|love|here|town"
    r"|this|that|our|his|her|your|their|bed|work|school|home|house|sin|shame|misery|and|constant"
    rf"|complete|total)\b)[a-z]{{3,20}}+(?: (?!(?:{_BREAKS})\b)[a-z]{{3,20}}+)?){END}"
)
NUMBER = "one|two|three|four|five|six|seven|eight|nine|ten|\\d{1,2}"
RELATION = (
    "husband|wife|spouse|fianc\u00e9e?|fiancee?|boyfriend|girlfriend|partner|son|daughter|brother"
    "|sister|stepson|stepdaughter|stepbrother|stepsister|twin brother|twin sister|niece|nephew"
    "|cousin|uncle|aunt|auntie|grandma|grandmother|grandpa|grandfather|granddaughter|grandson|baby"
    "|mother-in-law|father-in-law|sister-in-law|brother-in-law|mother|father|mom|mum|dad"
)
SPECIES = (
    "dog|cat|puppy|pup|kitten|kitty|rabbit|bunny|hamster|guinea pig|parrot|budgie|bird|horse|pony"
    "|turtle|tortoise|snake|lizard|gecko|goldfish|ferret|rat|mouse|chicken|goat|cow|pig"
    "|golden retriever|labrador|german shepherd|border collie|poodle|beagle|dachshund|corgi|bulldog"
    "|husky|chihuahua|terrier|greyhound|spaniel"
)
# Of what has several words, the one that a key holds.
SAME = {"puppy": "dog", "pup": "dog", "kitten": "cat", "kitty": "cat", "bunny": "rabbit"}
SAME |= {"sisters": "sister", "brothers": "brother", "sons": "son", "daughters": "daughter"}
SAME |= {"auntie": "aunt", "mom": "mother", "mum": "mother", "dad": "father"}
# Whom one may no longer be together with.
FAMILY_BY_CHOICE = "husband|wife|spouse|partner|boyfriend|girlfriend|fianc\u00e9e?|fiancee?"
# What somebody is with a capital, beside a name.
DEMONYM = (
    r"(?:(?:Not|Back|Here|Ready|Done|Sorry|Fine|Good|Great|Happy|Sad|Tired|Busy|Sure|Jewish|Muslim"
    r"|Catholic|Christian|Buddhist|Hindu|Protestant|Orthodox|Mormon|Sikh|American|African|Asian"
    r"|European|German|Austrian|Australian|Canadian|Indian|Iranian|Italian|Russian|Ukrainian|Mexican"
    r"|Brazilian|Argentinian|Colombian|Peruvian|Chilean|Cuban|Korean|Romanian|Hungarian|Bulgarian"
    r"|Croatian|Serbian|Bosnian|Albanian|Belgian|Norwegian|Egyptian|Nigerian|Kenyan|Ghanaian"
    r"|Ethiopian|Moroccan|Tunisian|Syrian|Palestinian|Jordanian|Indonesian|Malaysian|Latvian"
    r"|Lithuanian|Estonian|Czech|Slovak|Greek|French|Dutch|Swiss|Welsh|Thai|Iraqi|Israeli|Pakistani"
    r"|Bangladeshi|Hispanic|Latino|Latina|Black|White|Gen|Aries|Taurus|Gemini|Cancer|Virgo|Libra"
    r"|Scorpio|Sagittarius|Capricorn|Aquarius|Pisces)\b|[A-Z][a-z]+(?:ish|ese)\b)"
)
FOOD = (
    "alcohol|beer|wine|sugar|dairy|milk|cheese|gluten|wheat|bread|carbs|meat|red meat|pork|beef"
    "|fish|seafood|shellfish|eggs|nuts|peanuts|soy|coffee|caffeine|soda|chocolate|sweets|salt"
    "|fast food|processed food|junk food|spicy food|fried food"
)
LANGUAGE = (
    "English|German|French|Spanish|Italian|Portuguese|Dutch|Polish|Russian|Ukrainian|Turkish|Greek"
    "|Swedish|Norwegian|Danish|Finnish|Czech|Hungarian|Romanian|Arabic|Hebrew|Persian|Farsi|Hindi"
    "|Urdu|Bengali|Tamil|Chinese|Mandarin|Cantonese|Japanese|Korean|Vietnamese|Thai|Indonesian"
    "|Swahili|Latin|Catalan|Irish|Welsh|Serbian|Croatian|Bulgarian|Tagalog|Malay|Esperanto"
)
INSTRUMENT = (
    "guitar|piano|violin|cello|drums|bass|flute|clarinet|saxophone|sax|trumpet|trombone|harp|banjo"
    "|ukulele|keyboard|oboe|accordion|viola|harmonica|organ|bass guitar|electric guitar"
)
SPORT = (
    "soccer|football|basketball|baseball|tennis|table tennis|volleyball|badminton|golf|hockey"
    "|ice hockey|rugby|cricket|chess|poker|squash|lacrosse|handball|softball|pool|darts|video games"
    "|board games|card games|bridge"
)
OCCUPATION = (
    "nurse|doctor|teacher|engineer|lawyer|attorney|chef|cook|baker|artist|painter|writer|author"
    "|journalist|photographer|musician|singer|dancer|actor|actress|designer|architect|accountant"
    "|analyst|consultant|developer|programmer|scientist|researcher|professor|lecturer|student"
    "|therapist|counselor|counsellor|psychologist|psychiatrist|dentist|vet|veterinarian|pharmacist"
    "|paramedic|firefighter|police officer|soldier|pilot|driver|mechanic|electrician|plumber"
    "|carpenter|farmer|gardener|barista|bartender|waiter|waitress|cashier|salesperson|manager"
    "|director|editor|librarian|translator|interpreter|coach|trainer|freelancer|entrepreneur|founder"
    "|surgeon|midwife|social worker|secretary|receptionist|banker|broker|realtor|blogger|streamer"
    "|gamer|athlete|basketball player|football player|soccer player|screenwriter|filmmaker|producer"
    "|stay-at-home mom|stay-at-home dad|homemaker|retiree|pensioner|intern|postdoc|phd student"
    "|data scientist|software engineer|product manager|project manager|personal trainer|banker"
)
CONDITION = (
    "asthma|diabetes|type [12] diabetes|epilepsy|migraines|arthritis|celiac disease|coeliac disease"
    "|adhd|autism|depression|anxiety|high blood pressure|hypertension|eczema|psoriasis|ibs|crohn's"
    "|crohn's disease|lupus|cancer|ptsd|ocd|dyslexia|insomnia|sleep apnea|hay fever|anemia|gout"
    "|back pain|chronic fatigue|high cholesterol"
    "|multiple sclerosis|parkinson's|tinnitus|vertigo|endometriosis|pcos|gastritis"
)

POSSESSION = (
    "car|truck|van|motorcycle|motorbike|bike|bicycle|boat|house|apartment|flat(?! t[iy]re)|garden"
    "|guitar|piano|violin|camera|laptop|drone|tent|campervan|record collection|book collection"
    "|studio|cottage"
)
PRACTICE = (
    "yoga|pilates|karate|judo|taekwondo|kickboxing|boxing|crossfit|meditation|aerial yoga|ballet"
    "|martial arts|weightlifting|gymnastics"
)
OUTING = (
    "hiking|running|jogging|swimming|cycling|biking|climbing|rock climbing|skiing|snowboarding"
    "|surfing|fishing|camping|dancing|bowling|kayaking|sailing|skating|birdwatching"
)
