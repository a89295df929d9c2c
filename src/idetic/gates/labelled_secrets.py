"""Secrets known by what stands before them: `password = …`, `Authorization: Bearer …`, `--token …`.

The words are those of detect-secrets' keyword plugin and some more languages. Its expressions are
made for lines of code: a value without quotes reaches to the end of the line, and only the first on
a line is seen. In a note the value is one word, and there may be several.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from detect_secrets.plugins.keyword import DENYLIST

from idetic.gates.first_look import CODES, LABEL_PIECES, PHRASES, SCHEMES, holds
from idetic.gates.redaction import SECRET, Detection, folded

_PASSWORDS = (
    *(word for word in DENYLIST if "pass" in word or "pwd" in word),
    *("passphrase", "passcode", "pass_?word", r"(?<![a-z])pass(?=[ \t]*[:=])"),
    *(r"(?<![a-z])pw(?![a-z])", r"(?<![a-z])psw?d(?![a-z])", r"(?<![a-z])passw(?![a-z])"),
    *("passwort", "kennwort", r"mot\ de\ passe", "contrasena", "senha", "wachtwoord", "has[lł]o"),
    *(r"clave\ de\ acceso", r"palavra[ -]passe", r"parola\ d'ordine", "losenord", "adgangskode"),
    *("salasana", "passord", r"(?<![a-z])heslo", "jelszo", r"(?<![a-z])parola", r"(?<![a-z])sifre"),
    *(r"mat\ khau", r"kata\ sandi", "lozinka", "parool", "κωδικος", "κωδικός"),
    *("密码", "密碼", "口令", "パスワード", "暗証番号", "비밀번호", "암호", "парол[ья]", "סיסמה"),
    # Written as recognisers see them: folding takes the marks above and below.
    *(r"كلمة\ (?:المرور|السر)", folded("पासवर्ड").text, folded("รหัสผ่าน").text),
)
_OTHERS = (
    *(word for word in DENYLIST if word not in _PASSWORDS and word.isascii()),
    *("access_?key", "signing_?key", "encryption_?key", "token", "credentials?"),
    *(r"(?<![a-z])(?:php|j|asp)?sess(?:ion)?_?(?:id|key)", r"(?<![a-z])sid(?![a-z])"),
    *(r"(?<![a-z])(?:set-)?cookie", r"license_?key", r"master_?key", r"shared_?key"),
)
# How a sentence says that the value comes: a verb with spaces around it, or a particle without.
_VERBS = (
    r"(?:(?:is|was)[ ])? (?:now|(?:changed|re?set)[ ]to) | is|was|ist|war|lautet|est|es|era|e|to"
    r"|jest|ar|er|(?<=salasana[ ])on|je|la|adalah|это|είναι|ειναι|هي|है|คือ"
)


def _any_of(words: tuple[str, ...]) -> str:
    """An expression for any of the words; `_?` in them is one separator or none."""
    return "|".join(word.replace("_?", "[ _-]?") for word in words)


_LABELLED = re.compile(
    rf"""
    (?: (?P<password>{_any_of(_PASSWORDS)}) | {_any_of(_OTHERS)} )
    (?P<suffix>[\w\-]{{0,24}}?) ['"`\]]{{0,2}}
    (?: [ \t]{{0,8}} (?P<sign> :=|[=-]>|→|={{1,3}}|!==?|: ) (?P<gap>[ \t]{{0,8}})
      | [ \t]{{1,8}} (?P<verb> {_VERBS} ) [ \t]{{1,8}}
      | [ ]-[ ] (?P<dash> (?:это[ ])? )
      | [ \t]{{0,2}} (?P<particle>是|为|為|は|が|는|은|이|가) [ \t]{{0,2}} )
    (?: (?P<quote>["'`]) (?P<quoted>(?:(?!(?P=quote))[^\n]){{3,200}}) (?P=quote)
      | (?P<bare>[^\s"'`]{{4,200}}) )
    """,
    re.IGNORECASE | re.VERBOSE,
)
_PIECES = (
    *LABEL_PIECES,
    *("hasło", "κωδικ", "密码", "密碼", "口令", "パスワード", "暗証番号", "비밀번호", "암호"),
    *("парол", "סיסמה", "كلمة", folded("पासवर्ड").text, folded("รหัสผ่าน").text),
)

# `secret_name`, `token_count`: about a secret, not one.
_ABOUT = re.compile(
    r"s?_?(?:s|names?|ids?|len(?:gth)?|counts?|polic(?:y|ies)|age|days|expiry|expires?(?:_\w+)?|"
    r"resets?|fields?|ur[li]|types?|paths?|files?|dirs?|folders?|refs?|arn|versions?|managers?|"
    r"stores?|rotations?|attempts|history|min\w*|max\w*|limits?|budgets?|usage|window|used|total|"
    r"size|rate|ttl|columns?|prompt|hint|strength|status|state|settings?|style|class|encryption|"
    r"algorithm|method|scheme|per_\w+)|-(?:based|protected|free|less|only|related)",
    re.IGNORECASE,
)
# What a program writes where the value is elsewhere, or is not there at all.
ELSEWHERE = re.compile(
    r"[<{(\[].*|\$[{(].*|\$(?-i:[A-Z][A-Z0-9_]*)|%(?-i:[A-Z_]+)%|%[sd(].*|[*•#.|/-]+|x{3,}|"
    r"(?:none|null|nil|true|false|undefined|required|optional|missing|empty|string|str|bytes|bool|"
    r"int|"
    r"varchar|text|unset|hidden|masked|redacted|removed)[,;.)]*|\w+://.*|"
    r"(?:~|\.{1,2})?/(?:(?-i:[a-z])[\w.\-]*/)+[\w.\-]*|"
    r"[a-z_][\w.]*[(\[](?:b?|.*[)\]])[,;:.)]*|[a-z_]+(?:\.[a-z_]+)+[,;:.)]*",
    re.IGNORECASE,
)
_LAST = re.compile(r"[ \t]{0,8}(?:\n|\Z)")
_TRAILING = ".,;:!?)]}>\"'。、です니다"
_NUMBER_AND_UNIT = re.compile(r"[\d.,/:_\-]+[A-Za-z%]{0,5}")
_SESSION = re.compile(r"(?:php|j|asp)?sess|sid|(?:set-)?cookie", re.IGNORECASE)
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_SESSION_SHORTEST = 12

# What follows a label when the sentence is about the state of things.
_STATES = frozenset(
    """
    required reset changed expired missing unknown correct incorrect wrong invalid valid rotated
    weak strong forgotten unchanged same rotation policy recovery protected encrypted hashed
    """.split()
)


# A label with these behind it is the same label: `db_passwd`, `Lösenordet`.
_ENDINGS = frozenset("s word words wd code phrase et en n t ul mi ni".split())


def labelled_secrets(text: str) -> Iterator[Detection]:
    """Values that the words before them call a secret."""
    low = text.lower()
    if holds(low, _PIECES):
        yield from filter(None, map(_labelled, _LABELLED.finditer(text)))
        if holds(low, PHRASES):
            yield from _phrases(text)


def _labelled(match: re.Match[str]) -> Detection | None:
    """The secret that stands after a label, or None if it is none."""
    if _ABOUT.fullmatch(match["suffix"]) or _goes_on(match):
        return None
    if value := match["quoted"]:
        # Passwords may be anything; of the rest, one word or a mixture.
        secret = match["password"] or " " not in value.strip() or mixed(value)
        hidden = secret and ELSEWHERE.fullmatch(value) is None and not _is_session_name(match)
        return Detection(*match.span("quoted"), SECRET) if hidden else None
    bare = match["bare"].rstrip(_TRAILING)
    if len(bare) < 4 or ELSEWHERE.fullmatch(match["bare"]) or not _bare_secret(match, bare):
        return None
    start = match.start("bare")
    return Detection(start, start + len(bare), SECRET)


def _goes_on(match: re.Match[str]) -> bool:
    """Whether the label is but the beginning of another word, like `tokenizer`."""
    suffix = match["suffix"]
    if not suffix[:1].isalpha() or suffix.lower() in _ENDINGS:
        return False
    last = match.string[match.start("suffix") - 1]
    return suffix[0].islower() or last.isupper()


def _is_session_name(match: re.Match[str]) -> bool:
    """Whether a session's value only names it: a UUID, a word, a number."""
    if not _SESSION.match(match[0]):
        return False
    value = match["quoted"] or match["bare"].rstrip(_TRAILING)
    value = value.partition(";")[0].rpartition("=")[2]
    return (
        len(value) < _SESSION_SHORTEST
        or not any(map(str.isdigit, value))
        or (value.isdigit() and len(value) < 2 * _SESSION_SHORTEST)
        or _UUID.fullmatch(value) is not None
        or "-" in value  # `order-42-retry` is a name that a program gave
    )


def _bare_secret(match: re.Match[str], value: str) -> bool:  # noqa: PLR0911 - one case each
    """Whether one word after a label is a value, or just how the sentence or the code goes on."""
    if _is_session_name(match):
        return False
    if _SESSION.match(match[0]) and value.isdigit():
        return True  # longer than any number that a program counts sessions with
    if _NUMBER_AND_UNIT.fullmatch(value):
        return bool(match["password"]) and value.isdigit() and (len(value) > 5 or not match["verb"])
    if not match["sign"]:
        return len(value) > 5 and mixed(value)
    if mixed(value) or not match["password"]:
        return mixed(value)
    if match["sign"] == ":" and match["gap"]:
        # `password: qwerty` ends there, `password: ask the owner` goes on.
        ends = _LAST.match(match.string, match.end()) is not None
        return ends and value.islower() and value not in _STATES
    return "pass" not in value.lower()  # `password=password` hands a variable on


def mixed(value: str) -> bool:
    """Letters with digits, with signs, or with capitals inside that make no words."""
    if not any(map(str.isalpha, value)):
        return False
    inner = value[1:]
    return (
        any(map(str.isdigit, value))
        or any(sign in value for sign in "!@#$%^&*+=~\\")
        or (inner.lower() != inner and value.upper() != value and wordiness(value) < 0.5)
    )


# The words inside a name such as `getUserById`; a random string has hardly any.
_PART = re.compile(r"[A-Z]?[a-z]{3,}+")
_VOWEL = re.compile(r"[aeiouy]")


def wordiness(name: str) -> float:
    """The share of a name that reads as words: 0.1 for random base64, 0.8 for names in code."""
    words = (part for part in _PART.findall(name) if len(part) > 3 and _VOWEL.search(part))
    return sum(map(len, words)) / max(1, len(name))


# --- pass phrases -------------------------------------------------------------------------

_GAP = re.compile(r"[ \-,]+")
_PHRASE = re.compile(
    r"(?:pass[ _-]?phrase|(?:seed|recovery|backup|wallet|secret|mnemonic)[ _-](?:phrase|words)"
    r"|mnemonic)(?:[ \t](?:for|of|to)(?:[ \t][\w'\-]{1,20}){1,4})?[ \t]{0,4}"
    r"(?P<how>:|=|->|is(?: now)?\b|was\b)[ \t]{0,4}"
    r"(?P<words>[a-z]{2,16}(?:[ \-,]{1,2}[a-z]{2,16}){2,23})(?=[.!?;\n(\"']| - |[ \t]{0,8}(?:\n|"
    r"\Z))",
    re.IGNORECASE,
)
# A sentence that goes on has one of these; words drawn by lot hardly ever do.
_SENTENCE = frozenset(
    """
    a an the is are was were be been must should may can will not never only by in on at of for from
    with to and or as it its your our their my this that stored kept required changed rotated asked
    written known shared used needed missing wrong correct expired empty unknown same longer
    """.split()
)


def _phrases(text: str) -> Iterator[Detection]:
    """Phrases of plain words that a label calls a secret."""
    for match in _PHRASE.finditer(text):
        words = _GAP.split(match["words"])
        plain = sum(word.lower() in _SENTENCE for word in words)
        # After a colon one small word may be part of it: `blue monkey dances at noon`.
        least = 0 if match["how"].lower().startswith(("is", "was")) else 1
        if plain <= least and words[0].lower() not in _SENTENCE:
            yield Detection(*match.span("words"), SECRET)


# --- handed to a program ------------------------------------------------------------------

_HEADER = re.compile(
    r"\b(?:bearer|basic|token)[ \t]{1,8}(?P<value>[\w\-.~+/]{16,}+=*)", re.ASCII | re.IGNORECASE
)
_OPTION = re.compile(
    r"(?:--?(?:pass(?:word|wd|phrase)?|token|secret|api-?key)[ \t]{1,8}|-u[ \t]{1,8}[^\s:]{1,128}:)"
    r"(?P<value>[^\s\"'-][^\s\"']{3,200})",
    re.IGNORECASE,
)
_CODE = re.compile(
    r"(?<![a-z])(?:pin|otp|cvv|cvc)(?:[ \-]?(?:code|number|no\.?))?[ \t]{0,8}(?:is|was|:|=)"
    r"[ \t]{0,8}(?P<value>\d{3,8})(?![\d.,]{0,8}\d)",
    re.IGNORECASE,
)


def handed_over(text: str) -> Iterator[Detection]:
    """Values after an authorization scheme, a command's option, or the name of a code."""
    low = text.lower()
    if holds(low, SCHEMES):
        for match in _HEADER.finditer(text):
            if mixed(match["value"]):
                yield Detection(*match.span("value"), SECRET)
    if " -" in text or text.startswith("-"):
        for match in _OPTION.finditer(text):
            if not ELSEWHERE.fullmatch(match["value"]):
                yield Detection(*match.span("value"), SECRET)
    if holds(low, CODES):
        for match in _CODE.finditer(text):
            yield Detection(*match.span("value"), SECRET)
