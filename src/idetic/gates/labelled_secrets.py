"""Secrets known by what stands before them: `password = …`, `Authorization: Bearer …`, `--token …`.

The words are those of detect-secrets' keyword plugin and some more languages. Its expressions
are made for lines of code: a value without quotes reaches to the end of the line, and only the
first on a line is seen. In a note the value is one word, and there may be several.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from detect_secrets.plugins.keyword import DENYLIST

from idetic.gates.redaction import SECRET, Detection

_PASSWORDS = (
    *(word for word in DENYLIST if "pass" in word or "pwd" in word),
    *("passphrase", "passcode", "pass_?word", r"(?<![a-z])pass(?=:)", r"(?<![a-z])pw(?![a-z])"),
    *("passwort", "kennwort", r"mot\ de\ passe", "contrasena", "senha", "wachtwoord", "haslo"),
    *("密码", "密碼", "パスワード", "비밀번호", "пароль"),
)
_OTHERS = (
    *(word for word in DENYLIST if word not in _PASSWORDS and word.isascii()),
    *("access_?key", "signing_?key", "encryption_?key", "token", "credentials?"),
)


def _any_of(words: tuple[str, ...]) -> str:
    """An expression for any of the words; `_?` in them is one separator or none."""
    return "|".join(word.replace("_?", "[ _-]?") for word in words)


_LABELLED = re.compile(
    rf"""
    (?: (?P<password>{_any_of(_PASSWORDS)}) | {_any_of(_OTHERS)} )
    (?P<suffix>[\w\-]{{0,24}}?) ['"`\]]{{0,2}}
    (?: [ \t]* (?P<sign> :=|[=-]>|={{1,3}}|!==?|: ) (?P<gap>[ \t]*)
      | [ \t]+ (?P<verb> (?:(?:is|was)[ ])? (?:now|(?:changed|re?set)[ ]to)
                       | is|was|ist|war|est|es|to ) [ \t]+ )
    (?: (?P<quote>["'`]) (?P<quoted>(?:(?!(?P=quote))[^\n]){{3,200}}) (?P=quote)
      | (?P<bare>[^\s"'`]{{4,200}}) )
    """,
    re.IGNORECASE | re.VERBOSE,
)
_PIECES = (
    *("pass", "pwd", "pw", "key", "secret", "token", "credential", "wort", "contrasena", "senha"),
    *("wachtwoord", "haslo", "密码", "密碼", "パスワード", "비밀번호", "пароль"),
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
    r"(?:none|null|nil|true|false|undefined|required|optional|missing|empty|string|str|bytes|bool|int|"
    r"varchar|text|unset|hidden|masked|redacted|removed)[,;.)]*|\w+://.*|"
    r"(?:~|\.{1,2})?/(?:(?-i:[a-z])[\w.\-]*/)+[\w.\-]*|"
    r"[a-z_][\w.]*[(\[](?:b?|.*[)\]])[,;:.)]*|[a-z_]+(?:\.[a-z_]+)+[,;:.)]*",
    re.IGNORECASE,
)
_LAST = re.compile(r"[ \t]*(?:\n|\Z)")
_TRAILING = ".,;:!?)]}>\"'"
_NUMBER_AND_UNIT = re.compile(r"[\d.,/:_\-]+[A-Za-z%]{0,5}")

# What follows a label when the sentence is about the state of things.
_STATES = frozenset(
    """
    required reset changed expired missing unknown correct incorrect wrong invalid valid rotated
    weak strong forgotten unchanged same rotation policy recovery protected encrypted hashed
    """.split()
)


def labelled_secrets(text: str) -> Iterator[Detection]:
    """Values that the words before them call a secret."""
    low = text.lower()
    if any(piece in low for piece in _PIECES):
        yield from filter(None, map(_value, _LABELLED.finditer(text)))


def _value(found: re.Match[str]) -> Detection | None:
    """The secret that stands after a label, or None if it is none."""
    if _ABOUT.fullmatch(found["suffix"]) or _goes_on(found):
        return None
    if value := found["quoted"]:
        # Passwords may be anything; of the rest, one word or a mixture.
        secret = found["password"] or " " not in value.strip() or mixed(value)
        hidden = secret and ELSEWHERE.fullmatch(value) is None
        return Detection(*found.span("quoted"), SECRET) if hidden else None
    bare = found["bare"].rstrip(_TRAILING)
    if len(bare) < 4 or ELSEWHERE.fullmatch(found["bare"]) or not _bare_secret(found, bare):
        return None
    start = found.start("bare")
    return Detection(start, start + len(bare), SECRET)


def _goes_on(found: re.Match[str]) -> bool:
    """Whether the label is but the beginning of another word, like `tokenizer`."""
    suffix = found["suffix"]
    if not suffix[:1].isalpha() or suffix.lower() in ("s", "word", "words", "phrase"):
        return False
    last = found.string[found.start("suffix") - 1]
    return suffix[0].islower() or last.isupper()


def _bare_secret(found: re.Match[str], value: str) -> bool:
    """Whether one word after a label is a value, or just how the sentence or the code goes on."""
    if _NUMBER_AND_UNIT.fullmatch(value):
        return bool(found["password"]) and value.isdigit() and (len(value) > 5 or not found["verb"])
    if found["verb"]:
        return len(value) > 5 and mixed(value)
    if mixed(value) or not found["password"]:
        return mixed(value)
    if found["sign"] == ":" and found["gap"]:
        # `password: qwerty` ends there, `password: ask the owner` goes on.
        ends = _LAST.match(found.string, found.end()) is not None
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
_PART = re.compile(r"[A-Z]?[a-z]*[aeiouy][a-z]*")


def wordiness(name: str) -> float:
    """The share of a name that reads as words: 0.1 for random base64, 0.8 for names in code."""
    return sum(len(part) for part in _PART.findall(name) if len(part) > 3) / max(1, len(name))


# --- handed to a program ------------------------------------------------------------------

_HEADER = re.compile(
    r"\b(?:bearer|basic|token)[ \t]+(?P<value>[\w\-.~+/]{16,}=*)", re.ASCII | re.IGNORECASE
)
_OPTION = re.compile(
    r"(?:--?(?:pass(?:word|wd|phrase)?|token|secret|api-?key)[ \t]+|-u[ \t]+[^\s:]+:)"
    r"(?P<value>[^\s\"'-][^\s\"']{3,200})",
    re.IGNORECASE,
)
_CODE = re.compile(
    r"(?<![a-z])(?:pin|otp|cvv|cvc)(?:[ \-]?(?:code|number|no\.?))?[ \t]*(?:is|was|:|=)[ \t]*"
    r"(?P<value>\d{3,8})(?![\d.,]*\d)",
    re.IGNORECASE,
)


def handed_over(text: str) -> Iterator[Detection]:
    """Values after an authorization scheme, a command's option, or the name of a code."""
    low = text.lower()
    if any(piece in low for piece in ("bearer ", "basic ", "token ")):
        for found in _HEADER.finditer(text):
            if mixed(found["value"]):
                yield Detection(*found.span("value"), SECRET)
    if " -" in text or text.startswith("-"):
        for found in _OPTION.finditer(text):
            if not ELSEWHERE.fullmatch(found["value"]):
                yield Detection(*found.span("value"), SECRET)
    if any(piece in low for piece in ("pin", "otp", "cvv", "cvc")):
        for found in _CODE.finditer(text):
            yield Detection(*found.span("value"), SECRET)
