"""Keys without a form, known only by looking random.

The measure is detect-secrets'; its plugins ask for quotes around a candidate, as code has them,
and a note has none. Without quotes a random look alone would take hashes, UUIDs, paths and long
names, so more is asked here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from detect_secrets.plugins.high_entropy_strings import (
    Base64HighEntropyString,
    HexHighEntropyString,
)

from idetic.gates.labelled_secrets import wordiness
from idetic.gates.redaction import SECRET, Detection

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
    for found in _CANDIDATE.finditer(text):
        before = text[max(0, found.start() - _LOOK_BACK) : found.start()]
        # The steps of a path add up to something that looks random; each is taken alone.
        scheme = text.rfind("://", max(0, found.start() - _URL_LONGEST), found.start())
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
