"""The `secrets` gate: what opens something must not be remembered."""

from __future__ import annotations

from idetic.gates.entropy import random_looking
from idetic.gates.handed_over import handed_over
from idetic.gates.keywords import labelled_secrets
from idetic.gates.private_keys import PRIVATE_KEYS
from idetic.gates.spans import Recogniser
from idetic.gates.tokens import TOKENS

SECRETS: tuple[Recogniser, ...] = (
    *PRIVATE_KEYS,
    *TOKENS,
    labelled_secrets,
    handed_over,
    random_looking,
)
