"""The `secrets` gate: what opens something must not be remembered.

Tokens are known by their form, with the expressions of detect-secrets' plugins and the forms they
miss. The plugins are asked for positions rather than through `analyze_string`, which gives back
only the group an expression happens to have: of a GitHub token just `ghp`. Nothing is verified
over the network.
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
from detect_secrets.plugins.npm import NpmDetector
from detect_secrets.plugins.openai import OpenAIDetector
from detect_secrets.plugins.pypi_token import PypiTokenDetector
from detect_secrets.plugins.sendgrid import SendGridDetector
from detect_secrets.plugins.slack import SlackDetector
from detect_secrets.plugins.square_oauth import SquareOAuthDetector
from detect_secrets.plugins.stripe import StripeDetector
from detect_secrets.plugins.telegram_token import TelegramBotTokenDetector
from detect_secrets.plugins.twilio import TwilioKeyDetector

from idetic.gates.first_look import HANDED_OVER, SECRET_LABEL, TOKEN
from idetic.gates.labelled_secrets import handed_over, labelled_secrets, wordiness
from idetic.gates.redaction import SECRET, Detection, Recogniser, each, signed, when

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
            at = 0
            while match := pattern.search(text, at):
                # 64 characters back at most: beyond that it is no token but a wall of text.
                before = _TOKEN_BEFORE.search(text, max(0, match.start() - 64), match.start())
                after = _TOKEN_AFTER.match(text, match.end())
                start = before.start() if before else match.start()
                # The next look begins behind the whole token: from within it, a wall of tokens
                # would be read to its end once for each.
                at = max(after.end() if after else 0, match.end(), at + 1)
                yield Detection(start, at, SECRET)

    return find


def _value(*patterns: re.Pattern[str]) -> Recogniser:
    """Only the value that the expression captures: a URL without its password stays useful."""

    def find(text: str) -> Iterator[Detection]:
        """Detect each captured value, except for the words that examples use."""
        for pattern in patterns:
            for match in pattern.finditer(text):
                value = _UNBROKEN.match(text, *match.span(1))
                if value and value[0].lower() not in _EXAMPLES:
                    yield Detection(*value.span(), SECRET)

    return find


# The plugin stops at the first sign that a URL reserves, and so in the middle of `p@ss!word`.
_USERINFO = re.compile(r"://[^\s/:@]{0,64}:([^\s/]{1,256})@")

# A header is short. Without the bound a text of nothing but "eyJ" is read to its end from each of
# them: 51,000 characters took 2.2 s.
_JWT = re.compile(r"eyJ[\w\-=]{1,1024}+\.[\w\-=]+(?:\.[\w\-=+/]*)*", re.ASCII)


def _web_tokens(text: str) -> Iterator[Detection]:
    """Web tokens with their signature, which the plugin's lazy expression leaves standing.

    The header alone is asked to be JSON: the claims of an encrypted token are not.
    """
    for match in _JWT.finditer(text):
        if JwtTokenDetector.is_formally_valid(match[0].split(".", 1)[0]):
            yield Detection(*match.span(), SECRET)


# Twilio's two expressions have no left edge and would match inside any upper-case word.
_TWILIO = re.compile(
    "|".join(rf"(?<![A-Za-z0-9])(?:{form.pattern})" for form in TwilioKeyDetector.denylist)
)

# Forms that came after detect-secrets 1.5, or that it knows only inside a certain file; and ours.
# The digit of an "sk-" key is looked for near its beginning: else 48,000 characters took 9.6 s.
_NEWER = re.compile(
    r"""(?<![A-Za-z0-9])(?:
      github_pat_\w{22,} | sk-(?=[\w\-]{0,200}\d)[\w\-]{20,} | (?:sk|rk)_(?:live|test)_\w{10,}
    | whsec_[\w+/=]{16,} | AIza[\w\-]{35} | ya29\.[\w\-]{20,} | GOCSPX-[\w\-]{20,}
    | hf_[A-Za-z0-9]{30,} | npm_[A-Za-z0-9]{36,} | pypi-Ag[\w\-]{50,}
    | xox[a-z](?:\.xox[a-z])?-[\w\-]{10,} | xapp-\d-[\w\-]{10,}
    | (?:dop|doo|dor)_v1_[0-9a-f]{64} | shp(?:at|ca|pa|ss)_[0-9A-Fa-f]{32}
    | dckr_pat_[\w\-]{20,} | hv[sbr]\.[\w\-]{24,} | lin_(?:api|oauth)_\w{32,}
    | AGE-SECRET-KEY-1[A-Z0-9]{50,} | EAA[A-Za-z0-9]{60,}
    | idk_[a-z2-7]{26}_[a-z2-7]{20,}
    | dapi[0-9a-f]{32}(?:-\d)? | dose[0-9a-f]{32} | glsa_\w{32,} | glc_[A-Za-z0-9+/=]{32,}
    | gl(?:rt|dt|ptt|soat|ft|cbt|imt|agent)-[\w\-]{20,} | sntry[su]_[\w+/=]{32,}
    | ATATT3x[\w\-=]{40,} | ATBB[A-Za-z0-9]{28,} | AKCp[A-Za-z0-9]{20,} | oy2[a-z0-9]{43}
    | PMAK-[0-9a-f]{24}-[0-9a-f]{34} | figd_[\w\-]{30,} | ntn_[A-Za-z0-9]{40,}
    | secret_[A-Za-z0-9]{43} | gsk_[A-Za-z0-9]{40,} | pplx-[A-Za-z0-9]{40,} | r8_[A-Za-z0-9]{36,}
    | xai-[A-Za-z0-9]{60,} | sbp_[0-9a-f]{40} | nfp_[A-Za-z0-9]{30,} | rnd_[A-Za-z0-9]{24,}
    | pscale_(?:tkn|pw|oauth)_[\w\-.=]{30,} | NRAK-[A-Z0-9]{27} | NRII-[\w\-]{32}
    | pat[A-Za-z0-9]{14}\.[0-9a-f]{64} | pat-(?:na|eu)\d-[0-9a-f\-]{36} | CFPAT-[\w\-]{40,}
    | xkeysib-[0-9a-f]{64}-[A-Za-z0-9]{16} | key-[0-9a-f]{32} | re_[A-Za-z0-9]{8}_[A-Za-z0-9]{20,}
    | rubygems_[0-9a-f]{48} | dp\.(?:pt|st|ct|sa)\.[\w\-.]{40,} | pul-[0-9a-f]{40}
    | pnu_[A-Za-z0-9]{36} | rdme_[a-z0-9]{70} | sgp_[\w]{40,} | tfp_[\w\-.=]{40,}
    | ph[cx]_[A-Za-z0-9]{40,} | sk\.eyJ[\w\-]{20,}\.[\w\-]{20,} | LTAI[A-Za-z0-9]{16,20}
    | sq0(?:atp|idp)-[\w\-]{22,} | EAAA[\w\-]{60} | EZ[AT]K[A-Za-z0-9]{54}
    | (?:duffel|shippo)_(?:live|test)_[\w\-=]{30,} | amzn\.mws\.[0-9a-f\-]{36}
    | ops_eyJ[\w\-]{40,} | fm2_[\w+/=]{40,} | v1\.0-[0-9a-f]{24}-[0-9a-f]{100,}
    | [A-Za-z0-9]{14}\.atlasv1\.[\w\-]{60,} | 1//0[\w\-]{40,} | mfa\.[\w\-]{80,}
    )""",
    re.VERBOSE | re.ASCII,
)
_NEWER_PIECES = tuple(
    "github_pat_ sk- k_live_ k_test_ whsec_ AIza ya29. GOCSPX- hf_ npm_ pypi-Ag xox xapp- _v1_ "
    "shpat_ shpca_ shppa_ shpss_ dckr_pat_ hvs. hvb. hvr. lin_ AGE-SECRET-KEY EAA idk_ dapi dose "
    "glsa_ glc_ glrt- gldt- glptt- glsoat- glft- glcbt- glimt- glagent- sntry ATATT3x ATBB AKCp "
    "oy2 PMAK- figd_ ntn_ secret_ gsk_ pplx- r8_ xai- sbp_ nfp_ rnd_ pscale_ NRAK- NRII- pat "
    "CFPAT- xkeysib- key- re_ rubygems_ dp. pul- pnu_ rdme_ sgp_ tfp_ phc_ phx_ sk. LTAI sq0 EZ "
    "duffel_ shippo_ amzn. ops_ fm2_ v1.0- atlasv1 1//0 mfa.".split()
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


# --- keys without a form, known only by looking random ------------------------------------

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
# A look back to the start of the text, from each of many keys, would take the square of its length.
_URL_LONGEST = 2048


def random_looking(text: str) -> Iterator[Detection]:
    """Stretches that look random enough to be keys."""
    for match in _CANDIDATE.finditer(text):
        before = text[max(0, match.start() - _LOOK_BACK) : match.start()]
        # The steps of a path add up to something that looks random; each is taken alone.
        scheme = text.rfind("://", max(0, match.start() - _URL_LONGEST), match.start())
        in_url = scheme >= 0 and _BLANK.search(text, scheme, match.start()) is None
        steps = _STEP if in_url else _WHOLE
        for step in steps.finditer(text, *match.span()):
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


_TOKENS: tuple[Recogniser, ...] = (
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
)
SECRETS: tuple[Recogniser, ...] = (
    *signed(TOKEN, *_TOKENS, random_looking),
    *signed(SECRET_LABEL, labelled_secrets),
    *signed(HANDED_OVER, handed_over),
)
