"""The demo's story: a payments world, its rules, and what an agent and an operator note there.

All of it is made up. Rules are canonical content; notes refer to them and never restate them.
"""

from __future__ import annotations

from dataclasses import dataclass

from idetic.model import Claim, Origin
from idetic.spec.primitives import SourceStrength

AGENT = "world_agent"
WORLD = "Payments compliance"
EXPLORER = "explorer"
OPERATOR = "ada"
MODEL_VERSION = "2026.1"


@dataclass(frozen=True)
class StoryRule:
    """One canonical rule and how strong its source is."""

    name: str
    text: str
    strength: SourceStrength


@dataclass(frozen=True)
class Note:
    """One observation: what was seen, what it is about, which rules it refers to."""

    text: str
    topic: str
    tags: tuple[str, ...]
    activity: str
    rules: tuple[str, ...] = ()
    heard_from: Origin | None = None


@dataclass(frozen=True)
class StorySession:
    """One session: what happens in its interaction, and what is noted at its own tier."""

    name: str
    interaction: tuple[Note, ...]
    session: tuple[Note, ...]


RULES = (
    StoryRule(
        "dual release",
        "Every outgoing wire transfer of 10,000 EUR or more must be released by two different "
        "operators, and the second release must follow a finished sanctions screening.",
        SourceStrength.AUTHORITATIVE,
    ),
    StoryRule(
        "high-risk hold",
        "A payment to a beneficiary bank in a jurisdiction on the high-risk list is held in the "
        "queue until enhanced due diligence on the beneficiary is complete.",
        SourceStrength.AUTHORITATIVE,
    ),
    StoryRule(
        "stale screening",
        "A sanctions screening result older than twenty-four hours is stale; the payment must be "
        "screened again before anyone may release it.",
        SourceStrength.CURATED,
    ),
    StoryRule(
        "refund route",
        "A refund goes back to the card that was charged, unless the customer's identity has been "
        "confirmed anew and the original charge has settled.",
        SourceStrength.DISTILLED,
    ),
    StoryRule(
        "payroll window",
        "Corporate customers tend to upload payroll files on the last two working days of a "
        "month, so velocity alerts weigh less in that window.",
        SourceStrength.OBSERVED,
    ),
)

SESSIONS = (
    StorySession(
        "Coverage scan",
        interaction=(
            Note(
                "Of 40 sampled Friday wires, 6 had their second sign-off before the check ended.",
                "payments/wire",
                ("friday", "sign-off-order"),
                "coverage_scan",
                ("dual release",),
            ),
            Note(
                "The corpus is silent on repairs: does a corrected wire keep its first sign-off?",
                "payments/wire/repair",
                ("gap",),
                "coverage_scan",
                ("dual release", "stale screening"),
            ),
        ),
        session=(
            Note(
                "The order is enforced for new wires, not for those that come back from repair.",
                "payments/wire/repair",
                ("gap", "sign-off-order"),
                "coverage_scan",
                ("dual release",),
            ),
        ),
    ),
    StorySession(
        "Repair queue",
        interaction=(
            Note(
                "3 of 11 repaired wires went out on a check made more than a day earlier.",
                "payments/wire/repair",
                ("screening-age",),
                "replay",
                ("stale screening",),
            ),
            Note(
                "The screening service reports ages in local time, so a day can have 25 hours.",
                "payments/screening",
                ("screening-age", "clock"),
                "tool_call",
                heard_from=Origin.TOOL,
            ),
        ),
        session=(
            Note(
                "Candidate: look at the age of the check at release, not when a wire is queued.",
                "payments/wire/repair",
                ("candidate",),
                "proposal",
                ("stale screening",),
            ),
        ),
    ),
)

REPEATED = "Sampling of the repair queue is done."
REPEATED_KEY = "repair-queue-sampled"

# The first rule again with a word changed: what a model writes when it means to be helpful.
RESTATED = RULES[0].text.replace("Every outgoing", "Each outgoing")
ASSERTED = "Repaired wires are released on stale screenings."

PREFERRED = (
    ("Report findings with every sample you looked at.", Claim("findings", "detail", "full")),
    (
        "Report a finding as one sentence with a count; keep the samples for the appendix.",
        Claim("findings", "detail", "brief"),
    ),
)

ACTION = "change_set_acceptance"
ACTION_REASON = "the change set on repaired wires rests on these"
