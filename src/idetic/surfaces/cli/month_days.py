"""The script: thirty sessions in thirty days, what happens between them, and a look long after.

The spec is the shipped one, so its own constants decide: three sources and two sessions make a
fact, eight a habit; a candidate waits 30 days, a fact holds for 90 after it was last confirmed.
"""

from __future__ import annotations

from idetic.evidence import ContradictionStatus, Outcome, SourceType
from idetic.surfaces.cli.month_script import (
    Archive,
    Confirm,
    Contradict,
    Dispute,
    Event,
    Look,
    Prefer,
    Publish,
    Recover,
    Resolve,
    Review,
    Session,
    Undo,
    Verdict,
)
from idetic.surfaces.cli.month_world import INSTANT_LIMIT_2, RESCREENING_RULE

_FIRST_WEEK: tuple[Event, ...] = (
    Session(
        1,
        "Coverage scan",
        (
            "cutoff-16 friday-order friday-order~ friday-order",
            "cutoff-16 prepaid-lag",
            "prepaid-lag fee-deducted two-surnames",
        ),
    ),
    Session(2, "Repair queue", ("friday-order repair-gap", "friday-order~ local-time")),
    Prefer(2, "report-brief"),
    Session(3, "Calls to the bank", ("cutoff-16", "local-time slow-dashboard")),
    Session(4, "Screening logs", ("local-time", "retries-3 screenshots")),
    Session(5, "Gateway traces", ("retries-3 retries-3~", "mules-night"), twice=True),
    Session(
        6,
        "Release desk",
        ("retries-3 oldest-first", "by-hand mules-night screenshots"),
        acts_on="by-hand",
    ),
    Session(7, "Flagged accounts", ("mules-night", "rescreening screenshots")),
)
_SECOND_WEEK: tuple[Event, ...] = (
    Session(8, "Instant payments", ("rescreening splitting", "splitting"), notes="sampling-done"),
    Session(9, "Instant payments again", ("rescreening", "splitting screenshots")),
    Session(10, "Alert backlog", ("holiday-pile payroll-25", "holiday-pile~")),
    Confirm(10, "payroll-25", "ticket-81", times=2),
    Session(11, "Night shift", ("payroll-25 slow-dashboard",), dies=True),
    Recover(11),
    Session(12, "Status page", ("retries-5", "retries-5")),
    Prefer(12, "report-full"),
    Session(13, "Gateway contract", ("retries-3", "alerts-40 screenshots")),
    Session(14, "New clearing contract", ("cutoff-15 oldest-first", "cutoff-15 alerts-40")),
    Session(15, "Thresholds", ("retries-5", "alerts-40"), notes="slow-dashboard"),
)
_THIRD_WEEK: tuple[Event, ...] = (
    Publish(16, "instant-limit", INSTANT_LIMIT_2),
    Session(16, "Under the new model", ("local-time", "call-lifts-hold sampling-done")),
    Session(17, "Afternoon wires", ("cutoff-15", "screenshots")),
    Session(18, "Sleeping accounts", ("dormant-abroad", "oldest-first")),
    Confirm(18, "dormant-abroad", "inference-1", SourceType.AGENT_INFERENCE),
    Confirm(18, "dormant-abroad", "inference-2", SourceType.AGENT_INFERENCE),
    Session(19, "Flagged accounts, recounted", ("mules-noon", "slow-dashboard")),
    Publish(20, "repair-rescreening", RESCREENING_RULE),
    Session(20, "Velocity alerts", ("alerts-60", "alerts-60 oldest-first")),
    Session(21, "Velocity alerts again", ("alerts-60", "sampling-done")),
    Confirm(21, "mules-night", "audit-7", SourceType.OBSERVATION_EVENT, holds=False, times=2),
    Session(22, "Alert backlog", ("oldest-first", "sampling-done")),
    Confirm(22, "mules-night", "audit-9", SourceType.OBSERVATION_EVENT, holds=False),
)
_LAST_WEEK: tuple[Event, ...] = (
    Undo(23, "alerts-60", "promoted", "those alerts came from the test environment"),
    Archive(23, "alerts-60", "seen in the test environment only"),
    Session(
        23,
        "Hold queue",
        ("screenshots", "oldest-first"),
        notes="hold-slipped",
        disputes=Dispute("hold-slipped", "high-risk-hold", "the queue let it through"),
    ),
    Session(24, "Payroll calendar", ("slow-dashboard", "oldest-first")),
    Contradict(24, Dispute("payroll-25", "payroll-window", "payroll comes days earlier")),
    Resolve(
        25, ("hold-slipped", "payroll-25"), ContradictionStatus.SURFACED, "for the weekly round"
    ),
    Session(25, "Summaries", ("plain-words", "sampling-done")),
    Resolve(26, ("hold-slipped",), ContradictionStatus.DISMISSED, "the bank left the list"),
    Session(26, "After the holiday", ("holiday-pile", "plain-words")),
    Session(27, "Second review", ("screenshots", "sampling-done")),
    Session(28, "Friday sample", ("weekend-dip friday-order", "slow-dashboard")),
    Session(29, "Summaries again", ("plain-words", "oldest-first")),
    Resolve(29, ("payroll-25",), ContradictionStatus.PROMOTED, "the window begins too late"),
    Session(30, "Handover", ("sampling-done", "oldest-first")),
    Review(
        31,
        (
            Verdict(Outcome.PROMOTE, ("prepaid-lag",), "the card scheme's handbook says so"),
            Verdict(Outcome.ARCHIVE, ("fee-deducted",), "an old contract"),
        ),
    ),
    Look(31, "month"),
)
_LONG_AFTER: tuple[Event, ...] = (
    Review(
        110,
        (
            Verdict(Outcome.RECORROBORATE, ("cutoff-15", "retries-3"), "read in both contracts"),
            Verdict(Outcome.EXEMPT, ("local-time",), "the vendor documents it"),
            Verdict(Outcome.PROMOTE, ("dormant-abroad",), "the case review counted them"),
            Verdict(
                Outcome.ARCHIVE,
                ("two-surnames", "retries-5", "mules-noon", "weekend-dip"),
                "nobody saw it again",
            ),
        ),
    ),
    Look(110, "after"),
)

SCRIPT: tuple[Event, ...] = (
    *_FIRST_WEEK,
    *_SECOND_WEEK,
    *_THIRD_WEEK,
    *_LAST_WEEK,
    *_LONG_AFTER,
)
