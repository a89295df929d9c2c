"""Names of deployments and of those who work there, by their shape or the word before them.

`acme-prod-eu-1` is an environment by its parts, `Tenant globex` by its label, `jane.doe` by a first
name. Words alone decide nothing: `tenant isolation` and `non-prod` are how people talk.
"""
# ruff: noqa: E501 - an expression reads better whole

from __future__ import annotations

import re
from collections.abc import Iterator

from idetic.gates.redaction import Detection

# --- environments -------------------------------------------------------------------------

_JOINED = re.compile(
    r"(?<![A-Za-z0-9_./@\-])[A-Za-z][A-Za-z0-9]{0,24}(?:[-_.][A-Za-z0-9]{1,24}){1,7}(?![A-Za-z0-9_/@])"
)
_SURE = frozenset("prod prd preprod stg uat qa".split())
_STAGES = frozenset(
    "production staging stage dev development test sandbox live demo canary".split()
)
_BETWEEN = re.compile(r"[-_.]")
_REGION = re.compile(
    r"(?:eu|us|uk|ap|apac|emea|amer|sa|af|me|na|ca|de|fr|jp|in|au|sg|gov|use|usw|euw|euc|"
    r"(?:north|south)?(?:east|west)|central|north|south)\d{0,2}[a-f]?"
)
# Words that stand beside such a word without naming anybody.
_ORDINARY = frozenset(
    """
    a b ab and api app as at auto based by ci cd close code cross cut driven end enabled env
    environment environments equivalent facing first free friendly full gate gated grade green hot
    in integration issue issues level like line live load local long mid mode multi near new non off
    old on one only open or out owner owners parity per pipeline post pre quality ready real recovery
    regression release run safe self server shadow side single smoke spec stack stream streaming
    stress style suite support system systems team teams testing tested tests the time to tool tools
    traffic two type unit up user users version wide with work x
    """.split()
)


def environments(text: str) -> Iterator[Detection]:
    """Names that say which environment they are: a name with a stage, and often a region."""
    for match in _JOINED.finditer(text):
        parts = _BETWEEN.split(match[0].lower())
        if _names_an_environment(parts):
            yield Detection(*match.span(), "hostname")


def _names_an_environment(parts: list[str]) -> bool:
    """Whether the parts are a stage and somebody's name, or a name, a region and a number."""
    plain = [part.rstrip("0123456789") for part in parts]
    own = [
        part for part in plain
        if len(part) > 1 and part not in _ORDINARY and part not in _STAGES and part not in _SURE
        and not _REGION.fullmatch(part)
    ]  # fmt: skip
    if not own:
        return False
    region = any(map(_REGION.fullmatch, parts[1:]))
    numbered = parts[-1].isdigit() or parts[-1][-1:].isdigit()
    if _SURE.intersection(plain):
        return True
    if _STAGES.intersection(plain):
        # `acme-staging`, `staging-acme-2`; of `test-fixtures` nobody can tell whose they are.
        return parts[-1] in _STAGES - {"test", "live", "demo", "stage"} or region or numbered
    return region and numbered and not plain[0].isdigit() and len(parts) > 2


# --- behind a label -----------------------------------------------------------------------

_LABELS = (
    r"(?P<strict>tenant|workspace|namespace|cluster|org|subsidiary|deployment|environment|env)"
    r"|customer|client|account|project|company|organi[sz]ation|merchant|vendor|partner|host|server|"
    r"database|bucket|instance|site|branch|store|team|operator|employee|user|username|login|owner"
)
_LABELLED = re.compile(
    rf"(?<![A-Za-z0-9_\-])(?i:{_LABELS})"
    r"(?P<mark>(?:[ _](?i:name|id|called|named))?(?:[ \t]?[:=#][ \t]?|[ ](?=[\"'`])|[ ]))"
    r"(?P<quote>[\"'`]?)(?P<name>[A-Za-z][A-Za-z0-9]{1,30}(?:[-_.][A-Za-z0-9]{1,30}){0,5})(?P=quote)"
    r"(?![A-Za-z0-9_])"
)
# What follows `tenant`, `cluster` or `environment` in a sentence about any of them.
_COMMON = frozenset(
    """
    a after all also an and any are as at at be because before but by can could data does during each
    every for from had has have if in into is it its key keys label level limit limits list load long
    map may might mode model more most must name names never new no nor not now of off often on only
    onto or out over own owner page per plan pool price quota rate role root rule same scope shape
    should since size so some space split stage state still such sync tag task than that the their
    then there they this tier time to too type under until up upon use used user users uses value
    values variable variables vault via view was were what when where which while who whose wide will
    with within without work would yet boundary boundaries churn drift health host hosts id ids index
    info job log logs nodes policy policies setup setups switch traffic upgrade upgrades file files
    script scripts step steps window windows chart charts config configs secret secrets side
    """.split()
)
_SUFFIXES = (
    *("tion", "sion", "ing", "ed", "ment", "ity", "ance", "ence", "ness", "able", "ible", "ally"),
    *("ful", "ship", "ism", "age", "ure", "s", "ly", "ive", "ory", "ical"),
)
# Capitals that stand for kinds of things and not for one.
_SHOUTED = re.compile(r"[A-Z]{2,5}s?")


def labelled_names(text: str) -> Iterator[Detection]:
    """Names behind the word for what they name: `Tenant globex`, `customer Initech`."""
    for match in _LABELLED.finditer(text):
        if _is_name(match, match["name"]):
            yield Detection(*match.span("name"), "name")


def _is_name(match: re.Match[str], name: str) -> bool:
    """Whether the word behind a label is a name; without a mark it must look like one."""
    low = name.lower()
    if low in _COMMON or _SHOUTED.fullmatch(name):
        return False
    if match["quote"] or any(sign in match["mark"] for sign in "#="):
        return True
    if any(sign in name for sign in "-_.") and any(map(str.isdigit, name)):
        return True
    if name[0].isupper():
        return not low.endswith(_SUFFIXES[:3]) or ":" not in match["mark"]
    if ":" in match["mark"] and match["strict"]:
        return low not in _STAGES and low not in _SURE
    # A word in small letters is a name only where hardly any other word can stand.
    return bool(match["strict"]) and len(name) > 2 and not low.endswith(_SUFFIXES)


# --- people -------------------------------------------------------------------------------

_FIRST_NAMES = frozenset(
    """
    aaron adam ahmed alan albert alex alice amanda amy ana andrea andrew angela anita ann anna anne
    anton barbara ben bob brian carl carla carlos carol charles chen chris christine claire daniel
    dave david deepak diana diego dirk donna doris edward elena elise emily emma eric erik eva felix
    fiona frank fred gary george gina grace greg hanna hannah hans harry heidi helen henry ian igor
    ines ingrid irene ivan jack jacob jake james jan jane janet jason jean jeff jen jennifer jens
    jerry jessica jim joan joe johan john jon jonas jose joseph juan julia julie karen karl kate
    katja kevin kim klaus kumar lars laura lea lee lena leo linda lisa luca lucas lucy luis maria
    marie mario mark marko marta martin mary matt max megan mia michael mike mohamed monica nancy
    natalie nick nicole nina olga oliver olivia omar oscar pablo pam patricia paul paula pedro peter
    petra phil priya rachel raj ralf ravi rebecca rita robert rosa ruth ryan sam samuel sandra sara
    sarah scott sean simon sofia sophie stefan stephen steve sue susan sven tanja thomas tim tina
    tobias tom tony ursula victor viktor walter wei will wolfgang yan yuki yusuf zoe
    """.split()
)
_DOTTED = re.compile(
    r"(?<![A-Za-z0-9_./@\-])(?P<first>[A-Za-z]{1,15})\.[A-Za-z]{2,20}\d{0,3}(?![\w(/@]|\.\w)"
)
_WHO = re.compile(
    r"(?:by|from|user|users|login|account|owner|assignee|operator|analyst|reviewer|approver|agent|"
    r"assigned to|ask|told|ping|cc|author|signed in as)[ :=\"'`]{1,3}\Z",
    re.IGNORECASE,
)
# The second half of a file's or a module's name is no family name.
_ENDINGS = frozenset(
    """
    csv doc docx env exe gif go gz html ini java jpg js json log md org pdf php png py rb rs sh sql
    svg tar toml ts tsx txt xls xlsx xml yaml yml zip com net io dev app test main utils config
    """.split()
)
_HANDLE = re.compile(r"(?<![\w@./])@(?P<name>[a-z][a-z0-9_\-]{2,30})(?![\w/(.]\w|\()")
_DECORATORS = frozenset(
    "property staticmethod classmethod override cache dataclass pytest app media import".split()
)


def accounts_of_people(text: str) -> Iterator[Detection]:
    """What people are called in a system: `jane.doe`, `@jdoe`."""
    if "." in text:
        for match in _DOTTED.finditer(text):
            ending = match[0].rpartition(".")[2].lower()
            label = _WHO.search(text, max(0, match.start() - 24), match.start())
            if ending not in _ENDINGS and (match["first"].lower() in _FIRST_NAMES or label):
                yield Detection(*match.span(), "name")
    if "@" in text:
        for match in _HANDLE.finditer(text):
            if match["name"] not in _DECORATORS:
                yield Detection(*match.span(), "name")
