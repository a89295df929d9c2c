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
    "|all|I|i|i'm|I'm|I've|I'll|im|neither|only|options?|suggestions?|versions?|approach|proposals?"
    "|ideas?|answers?|latter"
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
# A point behind an initial ends nothing: "Ursula K. Le Guin".
END = (
    rf"(?=\s*(?:$|(?<!\s[A-Z])\.|[,;:!?()\n\"\u2026]|\s[-\u2013\u2014]|-{{2,}}|\s(?:{_BREAKS})\b))"
)
# The end of all that is said, for what may not go on at all.
HARD_END = r"(?=\s*(?:$|[,.;:!?()\n\"\u2026]|\s[-\u2013\u2014]))"
_DOES = (
    "loves?|likes?|hates?|needs?|wants?|goes|went|comes?|came|runs?|ran|eats?|ate|sleeps?|slept"
    "|lives?|works?|says|said|plays?|sits?|sat|stays?|took|broke|bit|barks?|kept|knows?|enjoys?"
    "|always|never|often|usually|sometimes|still|really|finally|every|almost|won't|would|together"
    "|in|on|at|to|of|for|from|with|without|into|onto|over|under|up|down|off|out|by|around|about"
    "|near|past|through|across|along|outside|inside|home|away|daily|myself|back|here|there"
    "|(?!bed|feed|seed|shed|sled|speed|breed)[a-z]+ed"
)
# What may follow a thing. After any other word it may be no thing at all: a car seat is no car.
HEAD = (
    rf"(?![\w-])(?=\s*(?:$|[,.;:!?()\n\"\u2026]|'s?\s|\s[-\u2013\u2014]|-{{2,}}"
    rf"|\s(?:{_BREAKS}|{_FINITE}|{_DOES})\b))"
)
# How what is denied altogether may go on: "I don't eat meat on Fridays" denies something else.
DENIED_END = re.compile(
    r"\s*(?:$|[.;:!?()\n\"\u2026]|\s[-\u2013\u2014]|-{2,}"
    r"|,(?! (?:as (?:much|often|well)|except|unless|only (?:on|in|at|when)|when|on|in|at)\b)"
    r"|\s(?:and|but|so(?! (?:much|often|well))|because|cuz|since|though|although|any ?more"
    r"|any longer|either|at all|now|nowadays|these days|lately|currently|yet|which|or|personally"
    r"|for (?:years|ages|(?:religious|health|medical|ethical) reasons)|btw|thanks|lol)\b)",
    re.IGNORECASE,
)
# Of a state that passes nothing is kept: "I'm vegan this month".
LASTS = (
    r"(?! (?:this|today|tonight|right now|at the m|until|till|except"
    r"|for (?:now|an?|one|two|three|the|\d+|[A-Z]\w+)\b))"
)
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
    r"|Thanksgiving|God|OMG|OK|LOL|Maybe|TV|AI|Team|Type|Plan|Option|The|And|But|So|She|He|They|It"
    r"|We|You|My|Yes|No|Dr|Mr|Mrs|Ms|Prof|Mom|Dad|Mum|Thanks|BTW|Uber|Crazy|Sir|Hey|Also|Just|What|How)\b"
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
# What else has a capital that one may be "in", "from" or "moved to".
_NO_HOME = (
    r"(?:Room|Apartment|Apt|Unit|Flat|Building|Block|Suite|House|Teams?|Product|Engineering|Sales"
    r"|Marketing|Finance|Legal|Support|Design|Operations|Research|Tech|Hell|Heaven|Agile|Scrum|Kanban"
    r"|Dark Mode|Slack|Zoom|Notion|Jira|Linear|Discord|Telegram|Signal|Outlook|Gmail|Windows|Linux"
    r"|Ubuntu|Debian|Fedora|Android|Mac|Chrome|Firefox|Safari|Python|Rust|Go|Java|Kotlin|Swift|Ruby"
    r"|Rails|Django|React|Vue|Angular|Svelte|Docker|Kubernetes|Terraform|Postgres|Oracle|Redis"
    r"|Kafka|Snowflake|Databricks|Spark|Azure|Heroku|Vercel|Google|Apple|Amazon|Microsoft|Stripe"
    r"|Shopify|Netflix|Facebook|Instagram|Mastodon|Bluesky|Obsidian|Emacs|Vim|Neovim|Claude)\b"
)
# A place to live in: no abbreviation but a few, no capital within, no number behind it.
HOME = (
    r"(?!(?:the )?(?!(?:US|USA|UK|UAE|NYC|LA|DC|SF|NZ|NJ|NY|HK)\b)[A-Z]{2,4}\b)"
    r"(?!(?:[A-Z]\w* ){0,3}\w*\d)"
    rf"(?!(?:the )?(?!Mc|Mac|De|La|Le|Du|O')\w*[a-z][A-Z])(?!(?:the )?{_NO_HOME}){PLACE}"
    r"(?! (?:half|part|most|some) of\b)"
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
