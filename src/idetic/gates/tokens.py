"""Secrets known by their form: the detect-secrets plugins, and the forms they miss.

The plugins' own expressions are asked for positions rather than through `analyze_string`, which
gives back only the group an expression happens to have: of a GitHub token just `ghp`. Nothing
is verified over the network.
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

from idetic.gates.spans import SECRET, Recogniser, Span, each, when

_TOKEN_BEFORE = re.compile(r"[A-Za-z0-9_\-]*\Z")
_TOKEN_AFTER = re.compile(r"[A-Za-z0-9_\-]*")
_UNBROKEN = re.compile(r"\S+")
_EXAMPLES = frozenset({"pass", "password", "passwd", "pwd", "secret", "token"})  # of `user:pass@`


def _whole(*patterns: re.Pattern[str]) -> Recogniser:
    """The whole match and the rest of its word: half a token helps to guess the other half."""

    def find(text: str) -> Iterator[Span]:
        for pattern in patterns:
            for found in pattern.finditer(text):
                # 64 characters back at most: beyond that it is no token but a wall of text.
                before = _TOKEN_BEFORE.search(text, max(0, found.start() - 64), found.start())
                after = _TOKEN_AFTER.match(text, found.end())
                start = before.start() if before else found.start()
                yield Span(start, after.end() if after else found.end(), SECRET)

    return find


def _value(*patterns: re.Pattern[str]) -> Recogniser:
    """Only the value that the expression captures: a URL without its password stays useful."""

    def find(text: str) -> Iterator[Span]:
        for pattern in patterns:
            for found in pattern.finditer(text):
                value = _UNBROKEN.match(text, *found.span(1))
                if value and value[0].lower() not in _EXAMPLES:
                    yield Span(*value.span(), SECRET)

    return find


# The plugin stops at the first sign that a URL reserves, and so in the middle of `p@ss!word`.
_USERINFO = re.compile(r"://[^\s/:@]{0,64}:([^\s/]{1,256})@")

_JWT = re.compile(r"eyJ[\w\-=]+\.[\w\-=]+(?:\.[\w\-=+/]*)*", re.ASCII)


def _web_tokens(text: str) -> Iterator[Span]:
    """Web tokens with their signature, which the plugin's lazy expression leaves standing.

    The header alone is asked to be JSON: the claims of an encrypted token are not.
    """
    for found in _JWT.finditer(text):
        if JwtTokenDetector.is_formally_valid(found[0].split(".", 1)[0]):
            yield Span(*found.span(), SECRET)


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

TOKENS: tuple[Recogniser, ...] = (
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
