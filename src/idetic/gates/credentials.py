"""The `secrets` gate: what opens something must not be remembered.

Tokens are known by their form, with the expressions of detect-secrets' plugins and the forms they
miss. The plugins are asked for positions rather than through `analyze_string`, which gives back
only the group an expression happens to have: of a GitHub token just `ghp`. Nothing is verified
over the network. Keys without a form are known only by looking random.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from detect_secrets.plugins.aws import AWSKeyDetector
from detect_secrets.plugins.azure_storage_key import AzureStorageKeyDetector
from detect_secrets.plugins.basic_auth import BasicAuthDetector
from detect_secrets.plugins.discord import DiscordBotTokenDetector
from detect_secrets.plugins.github_token import GitHubTokenDetector
from detect_secrets.plugins.gitlab_token import GitLabTokenDetector
from detect_secrets.plugins.high_entropy_strings import (
    Base64HighEntropyString,
    HexHighEntropyString,
)
from detect_secrets.plugins.jwt import JwtTokenDetector
from detect_secrets.plugins.keyword import DENYLIST
from detect_secrets.plugins.npm import NpmDetector
from detect_secrets.plugins.openai import OpenAIDetector
from detect_secrets.plugins.pypi_token import PypiTokenDetector
from detect_secrets.plugins.sendgrid import SendGridDetector
from detect_secrets.plugins.slack import SlackDetector
from detect_secrets.plugins.square_oauth import SquareOAuthDetector
from detect_secrets.plugins.stripe import StripeDetector
from detect_secrets.plugins.telegram_token import TelegramBotTokenDetector
from detect_secrets.plugins.twilio import TwilioKeyDetector

from idetic.gates.redaction import SECRET, Detection, Recogniser, each, when

# --- secrets known by what stands before them: `password = …`, `Authorization: Bearer …` ---

# The words are those of detect-secrets' keyword plugin and some more languages. Its expressions
# are made for lines of code: a value without quotes reaches to the end of the line, and only the
# first on a line is seen. In a note the value is one word, and there may be several.
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
        yield from filter(None, map(_labelled, _LABELLED.finditer(text)))


def _labelled(found: re.Match[str]) -> Detection | None:
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


# --- tokens -------------------------------------------------------------------------------

_TOKEN_BEFORE = re.compile(r"[A-Za-z0-9_\-]*\Z")
_TOKEN_AFTER = re.compile(r"[A-Za-z0-9_\-]*")
_UNBROKEN = re.compile(r"\S+")
_EXAMPLES = frozenset({"pass", "password", "passwd", "pwd", "secret", "token"})  # of `user:pass@`


def _whole(*patterns: re.Pattern[str]) -> Recogniser:
    """The whole match and the rest of its word: half a token helps to guess the other half."""

    def find(text: str) -> Iterator[Detection]:
        """Detect each match together with the rest of the token it stands in."""
        for pattern in patterns:
            for found in pattern.finditer(text):
                # 64 characters back at most: beyond that it is no token but a wall of text.
                before = _TOKEN_BEFORE.search(text, max(0, found.start() - 64), found.start())
                after = _TOKEN_AFTER.match(text, found.end())
                start = before.start() if before else found.start()
                yield Detection(start, after.end() if after else found.end(), SECRET)

    return find


def _value(*patterns: re.Pattern[str]) -> Recogniser:
    """Only the value that the expression captures: a URL without its password stays useful."""

    def find(text: str) -> Iterator[Detection]:
        """Detect each captured value, except for the words that examples use."""
        for pattern in patterns:
            for found in pattern.finditer(text):
                value = _UNBROKEN.match(text, *found.span(1))
                if value and value[0].lower() not in _EXAMPLES:
                    yield Detection(*value.span(), SECRET)

    return find


# The plugin stops at the first sign that a URL reserves, and so in the middle of `p@ss!word`.
_USERINFO = re.compile(r"://[^\s/:@]{0,64}:([^\s/]{1,256})@")

_JWT = re.compile(r"eyJ[\w\-=]+\.[\w\-=]+(?:\.[\w\-=+/]*)*", re.ASCII)


def _web_tokens(text: str) -> Iterator[Detection]:
    """Web tokens with their signature, which the plugin's lazy expression leaves standing.

    The header alone is asked to be JSON: the claims of an encrypted token are not.
    """
    for found in _JWT.finditer(text):
        if JwtTokenDetector.is_formally_valid(found[0].split(".", 1)[0]):
            yield Detection(*found.span(), SECRET)


# Twilio's two expressions have no left edge and would match inside any upper-case word.
_TWILIO = re.compile(
    "|".join(rf"(?<![A-Za-z0-9])(?:{form.pattern})" for form in TwilioKeyDetector.denylist)
)

# Forms that came after detect-secrets 1.5, or that it knows only inside a certain file; and ours.
_NEWER = re.compile(
    r"""(?<![A-Za-z0-9])(?:
      github_pat_\w{22,} | sk-(?=[\w\-]*\d)[\w\-]{20,} | (?:sk|rk)_(?:live|test)_\w{10,}
    | whsec_[\w+/=]{16,} | AIza[\w\-]{35} | ya29\.[\w\-]{20,} | GOCSPX-[\w\-]{20,}
    | hf_[A-Za-z0-9]{30,} | npm_[A-Za-z0-9]{36,} | pypi-Ag[\w\-]{50,}
    | xox[a-z](?:\.xox[a-z])?-[\w\-]{10,} | xapp-\d-[\w\-]{10,}
    | (?:dop|doo|dor)_v1_[0-9a-f]{64} | shp(?:at|ca|pa|ss)_[0-9A-Fa-f]{32}
    | dckr_pat_[\w\-]{20,} | hv[sbr]\.[\w\-]{24,} | lin_api_\w{32,}
    | AGE-SECRET-KEY-1[A-Z0-9]{50,} | EAA[A-Za-z0-9]{60,}
    | idk_[a-z2-7]{26}_[a-z2-7]{20,}
    )""",
    re.VERBOSE | re.ASCII,
)
_NEWER_PIECES = tuple(
    "github_pat_ sk- k_live_ k_test_ whsec_ AIza ya29. GOCSPX- hf_ npm_ pypi-Ag xox xapp- _v1_ "
    "shpat_ shpca_ shppa_ shpss_ dckr_pat_ hvs. hvb. hvr. lin_api_ AGE-SECRET-KEY EAA "
    "idk_".split()
)

_KEY_ID, _SECRET_KEY = AWSKeyDetector.denylist

# --- private keys -------------------------------------------------------------------------

# detect-secrets' plugin says only that a key begins, and says so of prose that names the header.
# What has to go is everything up to its end; a key without an end was cut, so it goes to the end.
_ARMOURED = re.compile(
    r"-{4,5} ?BEGIN[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}"
    r".*?(?:-{4,5} ?END[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}|\Z)",
    re.DOTALL,
)
_PUTTY = re.compile(r"PuTTY-User-Key-File-\d:.*?(?:Private-MAC: ?[0-9a-fA-F]+|\Z)", re.DOTALL)

# --- random-looking keys ------------------------------------------------------------------

# The measure is detect-secrets'; its plugins ask for quotes around a candidate, as code has them,
# and a note has none. Without quotes a random look alone would take hashes, UUIDs, paths and long
# names, so more is asked here.
_BASE64 = Base64HighEntropyString()
_HEX = HexHighEntropyString()

_CANDIDATE = re.compile(r"[A-Za-z0-9+/_\-]{24,}={0,2}")
_SEPARATOR = re.compile(r"[-_/=]")
_HEX_ONLY = re.compile(r"[0-9A-Fa-f]{32,128}")
_BLANK = re.compile(r"\s")
_WHOLE = re.compile(r".+")
_STEP = re.compile(r"[^/]{24,}")

# A hash or a public key says what it is; neither opens anything.
_PUBLIC = re.compile(
    r"(?:sha\d{1,3}|md5|blake\w{1,3}|digest|checksum|integrity|etag|fingerprint|commit|"
    r"ssh-(?:rsa|dss|ed25519)|ecdsa-\S{5,30}|public key)[-:=\s'\"]{0,4}\Z",
    re.IGNORECASE,
)
# A run of hex digits is a hash or an id unless the words before it say otherwise.
_SAID_SECRET = re.compile(
    r"(?:token|secret|credential|bearer|(?:api|auth|access|signing|encryption|private|master)"
    r"[ _\-]?key)s?\b[^\n]{0,24}\Z",
    re.IGNORECASE,
)
_LOOK_BACK = 48


def random_looking(text: str) -> Iterator[Detection]:
    """Stretches that look random enough to be keys."""
    for found in _CANDIDATE.finditer(text):
        before = text[max(0, found.start() - _LOOK_BACK) : found.start()]
        # The steps of a path add up to something that looks random; each is taken alone.
        scheme = text.rfind("://", 0, found.start())
        in_url = scheme >= 0 and _BLANK.search(text, scheme, found.start()) is None
        steps = _STEP if in_url else _WHOLE
        for step in steps.finditer(text, *found.span()):
            if _is_key(step[0], before):
                yield Detection(*step.span(), SECRET)


def _is_key(candidate: str, before: str) -> bool:
    """Whether a stretch looks like a key, and not like a hash, an id or words."""
    own_name = candidate[: candidate.find("-") + 1]  # the `sha384-` of `sha384-oqVu…`
    if _PUBLIC.search(before) or _PUBLIC.match(own_name):
        return False
    if _HEX_ONLY.fullmatch(candidate):
        random = _HEX.calculate_shannon_entropy(candidate) > _HEX.entropy_limit
        return random and _SAID_SECRET.search(before) is not None
    return (
        any(map(str.isdigit, candidate))
        and candidate.lower() != candidate != candidate.upper()
        and wordiness(candidate) < 0.5
        # Slugs and UUIDs consist of short parts, or of words.
        and any(len(p) > 12 and wordiness(p) < 0.5 for p in _SEPARATOR.split(candidate))
        and _BASE64.calculate_shannon_entropy(candidate) > _BASE64.entropy_limit
    )


SECRETS: tuple[Recogniser, ...] = (
    when(("PRIVATE KEY",), each(_ARMOURED, SECRET)),
    when(("PuTTY-User-Key-File",), each(_PUTTY, SECRET)),
    when(("AKIA", "ASIA", "A3T", "ABIA", "ACCA"), _whole(_KEY_ID)),
    when(("aws", "AWS", "Aws"), _value(_SECRET_KEY)),
    when(("AccountKey=",), _whole(*AzureStorageKeyDetector.denylist)),
    when(("://",), _value(*BasicAuthDetector.denylist, _USERINFO)),
    when(("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), _whole(*GitHubTokenDetector.denylist)),
    when(("gl", "GR1348941"), _whole(*GitLabTokenDetector.denylist)),
    when(("eyJ",), _web_tokens),
    when((":_authToken",), _value(*NpmDetector.denylist)),
    when(("T3BlbkFJ",), _whole(*OpenAIDetector.denylist)),
    when(("pypi-",), _whole(*PypiTokenDetector.denylist)),
    when(("SG.",), _whole(*SendGridDetector.denylist)),
    when(("xox", "hooks.slack.com"), _whole(*SlackDetector.denylist)),
    when(("sq0csp-",), _whole(*SquareOAuthDetector.denylist)),
    when(("k_live_",), _whole(*StripeDetector.denylist)),
    when((":",), _whole(*TelegramBotTokenDetector.denylist)),
    when(("AC", "SK"), each(_TWILIO, SECRET)),
    when((".",), _whole(*DiscordBotTokenDetector.denylist)),
    when(_NEWER_PIECES, each(_NEWER, SECRET)),
    labelled_secrets,
    handed_over,
    random_looking,
)
