"""Private keys, from their first line to their last.

detect-secrets' plugin says only that a key begins (and says so of prose that names the header);
what has to go is everything up to its end. A key without an end was cut, so it goes to the end.
"""

from __future__ import annotations

import re

from idetic.gates.spans import SECRET, Recogniser, each, when

_ARMOURED = re.compile(
    r"-{4,5} ?BEGIN[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}"
    r".*?(?:-{4,5} ?END[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}|\Z)",
    re.DOTALL,
)
_PUTTY = re.compile(r"PuTTY-User-Key-File-\d:.*?(?:Private-MAC: ?[0-9a-fA-F]+|\Z)", re.DOTALL)

PRIVATE_KEYS: tuple[Recogniser, ...] = (
    when(("PRIVATE KEY",), each(_ARMOURED, SECRET)),
    when(("PuTTY-User-Key-File",), each(_PUTTY, SECRET)),
)
