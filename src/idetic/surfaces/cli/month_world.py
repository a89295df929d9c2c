"""The month's world: its rules, and everything that is said there, by label. All of it made up."""

from __future__ import annotations

from idetic.model import Claim, Origin
from idetic.spec.primitives import SourceStrength
from idetic.surfaces.cli.month_script import MonthRule, Saying

RULES = {
    "dual-release": MonthRule(
        "A wire of 10,000 EUR or more leaves the bank only after two different operators have "
        "released it, the second of them after the sanctions screening has ended.",
        SourceStrength.AUTHORITATIVE,
    ),
    "high-risk-hold": MonthRule(
        "Money for a beneficiary bank on the high-risk list waits in the hold queue until the due "
        "diligence file of the beneficiary is complete and signed.",
        SourceStrength.AUTHORITATIVE,
    ),
    "stale-screening": MonthRule(
        "The result of a sanctions screening may be relied on for twenty-four hours; after that "
        "the payment goes through the screening once more.",
        SourceStrength.AUTHORITATIVE,
    ),
    "refund-route": MonthRule(
        "Refunds return to the card that was charged. Another route needs a fresh check of the "
        "customer's identity and a charge that has settled.",
    ),
    "payroll-window": MonthRule(
        "In the last two working days of a month, velocity alerts on corporate accounts weigh "
        "half, because payroll files are uploaded then.",
        SourceStrength.OBSERVED,
    ),
    "instant-limit": MonthRule(
        "An instant payment above 15,000 EUR is declined, and the customer is offered an ordinary "
        "transfer for the next working day instead.",
    ),
    "mule-pattern": MonthRule(
        "An account that receives from more than five strangers within a day and empties itself "
        "the same day is flagged as a possible mule account.",
        SourceStrength.DISTILLED,
    ),
    "dormant-account": MonthRule(
        "The first outgoing payment of an account without movement for a year is confirmed with "
        "its holder by telephone before it is booked.",
    ),
    "name-check": MonthRule(
        "When the payee's name and the account holder's name differ in more than two letters, "
        "the payer is warned and has to confirm the payment again.",
    ),
    "evidence-file": MonthRule(
        "Whoever closes an alert files the evidence that the decision rests on, in a form that a "
        "second reviewer can read without asking back.",
    ),
}
INSTANT_LIMIT_2 = MonthRule(
    "An instant payment above 25,000 EUR is declined. Between 15,000 and 25,000 EUR the customer "
    "confirms it in the app within five minutes, or it lapses.",
)
RESCREENING_RULE = MonthRule(
    "A wire that comes back from repair must be screened again whenever the name or the bank of "
    "its beneficiary was changed, before it is queued for release.",
)

SAYINGS = {
    "cutoff-16": Saying(
        "The partner bank takes EUR wires until 16:00.",
        Claim("partner bank", "EUR cut-off", "16:00"),
    ),
    "cutoff-15": Saying(
        "Under the new clearing contract, the partner bank takes EUR wires until 15:00.",
        Claim("partner bank", "EUR cut-off", "15:00"),
    ),
    "friday-order": Saying(
        "Friday wires get their second release before the screening has ended.",
        Claim("Friday wires", "second release", "before the screening ends"),
        ("dual-release",),
        again="On Fridays nobody waits for the screening with the second release.",
    ),
    "local-time": Saying(
        "The screening service counts the age of a result in local time.",
        Claim("screening service", "age of a result", "in local time"),
        ("stale-screening",),
    ),
    "retries-3": Saying(
        "The payment gateway gives up after 3 tries.",
        Claim("payment gateway", "tries", "3"),
        again="After the third try the gateway drops the payment.",
    ),
    "retries-5": Saying(
        "The gateway's status page promises 5 tries.",
        Claim("payment gateway", "tries", "5"),
        heard_from=Origin.TOOL,
    ),
    "mules-night": Saying(
        "Most flagged mule accounts were opened at night.",
        Claim("flagged mule accounts", "opened", "at night"),
        ("mule-pattern",),
    ),
    "mules-noon": Saying(
        "Of 31 flagged accounts, 24 were opened around noon.",
        Claim("flagged mule accounts", "opened", "around noon"),
    ),
    "splitting": Saying(
        "Customers split instant payments to stay below the limit.",
        Claim("instant payments", "evasion", "splitting"),
        ("instant-limit",),
    ),
    "rescreening": Saying(
        "A wire that comes back from repair is screened again whenever the name or the bank of "
        "its beneficiary was changed, before it is queued for release.",
        Claim("repaired wires", "screened again", "when the beneficiary changed"),
        ("stale-screening",),
    ),
    "payroll-25": Saying(
        "The three largest customers upload payroll on the 25th.",
        Claim("payroll files", "first day", "25th"),
        ("payroll-window",),
    ),
    "dormant-abroad": Saying(
        "Dormant accounts that wake up send their first payment abroad.",
        Claim("dormant accounts", "first payment", "abroad"),
        ("dormant-account",),
    ),
    "prepaid-lag": Saying(
        "Refunds to prepaid cards settle after nine days.",
        Claim("prepaid refunds", "settle after", "nine days"),
        ("refund-route",),
    ),
    "fee-deducted": Saying(
        "The correspondent bank deducts its fee from the amount.",
        Claim("correspondent bank", "fee", "deducted"),
    ),
    "two-surnames": Saying(
        "Payees with two surnames fail the comparison of names.", rules=("name-check",)
    ),
    "repair-gap": Saying(
        "The corpus is silent on repairs: does a corrected wire keep its first release?",
        rules=("dual-release",),
    ),
    "holiday-pile": Saying(
        "Alerts pile up on the first day after a bank holiday.",
        again="On the first day after a bank holiday, alerts pile up.",
    ),
    "weekend-dip": Saying(
        "Card refunds dip at weekends.", Claim("card refunds", "dip", "at weekends")
    ),
    "alerts-40": Saying(
        "Velocity alerts fire from 40 payments an hour.",
        Claim("velocity alerts", "fire from", "40 an hour"),
    ),
    "alerts-60": Saying(
        "Velocity alerts fire from 60 payments an hour.",
        Claim("velocity alerts", "fire from", "60 an hour"),
    ),
    "call-lifts-hold": Saying(
        "Three holds were lifted after a call to jan.novak@example.com; nobody noted why.",
        rules=("high-risk-hold",),
    ),
    "hold-slipped": Saying("A payment to a listed bank went out without waiting."),
    "by-hand": Saying("Batch 7 was released by hand, with both releases on paper."),
    "screenshots": Saying(
        "The second reviewer asked for screenshots again.",
        Claim("second reviewer", "prefers evidence", "screenshots"),
    ),
    "plain-words": Saying(
        "The second reviewer sent a summary back for its jargon.",
        Claim("second reviewer", "prefers language", "plain"),
    ),
    "report-brief": Saying(
        "Report a finding in one sentence with a count.", Claim("findings", "detail", "brief")
    ),
    "report-full": Saying(
        "Report a finding with every sample behind it.", Claim("findings", "detail", "full")
    ),
    "slow-dashboard": Saying("The dashboard was slow today."),
    "sampling-done": Saying("Sampling is done."),
    "oldest-first": Saying("Began with the oldest alerts."),
}
