"""Names of deployments, labelled: what a pattern must lose before it leaves, and what it must keep.

Each name stands in a sentence that still says something without it. `shape` are names that the gate
must know by itself, `declared` those that only the spec of their deployment can know.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from idetic.gates.gate import Gates, Pipeline
from idetic.spec.loader import load
from idetic.spec.primitives import Boundary


class NamedCase(NamedTuple):
    """A sentence, the name in it (none in one that must stay), and the row it counts in."""

    row: str
    text: str
    name: str = ""


_SENTENCES = (
    "Retries on {} hide slow queries whenever nightly imports start late",
    "Operators of {} override the weekend limit because queues grow",
    "Refunds in {} wait for a second approver after limits were raised",
    "Caches at {} stay cold overnight and make the first searches slow",
)

_ENVIRONMENTS = """
acme-prod-eu-1 globex-prod acme-staging initech-uat prod-globex hooli-prod-us-east-1 stg-umbrella
acme_prod globex_production acme-dev-2 wonka-preprod umbrella-staging-eu acme.prod.eu soylent-qa
tyrell-prod-apac cyberdyne-prod-2 prod-eu-acme vandelay-sandbox oscorp-development acme-eu-1
globex-us-2 initech-euw1-prod massive-prod-emea-3 stark-production wayne-prd acme-prod-db
payments-prod-acme prod-umbrella-web dunder-stg hooli-canary-1 acme-test-eu-2 globex-live-3
umbrella-corp-prod-k8s-02 nakatomi-plaza-uat prod-cluster-eu aperture-prod-use1 blackmesa-dev
weyland-production-us gringotts_stg_eu monarch-qa-3 lexcorp-prod-backup acme-west-4
""".split()
_PARTS = """
deployment_7 tenant_12 deployment-3 node_4 cluster-2 customer_881 tenant-9 workspace_3 shard-12
site_5 store-44 user_7 replica-2 org_31 project_8 worker-15 instance_6 host-3 server_11 device_20
vpc-0a1b2c3d4e5f67890 sg-0123abcd subnet-9f8e7d6c i-0abc12345def67890 payments-7d9f8b6c5d-x2x4z
db-prod-01 web-03 ip-10-0-3-17 node-eu-17 kafka-12 redis-cache-02 SUP-889 ORD-12345 acct_1NffrFe9
""".split()
_LABELLED = """
Tenant globex|tenant initech|tenant Umbrella|customer Initech|client Hooli|workspace vandelay
namespace: tyrell|cluster kraken|org wonka|tenant=soylent|customer "oscorp"|Tenant cyberdyne
project 'bluebird'|account: Massive-4|tenant wayne|cluster named borg|environment: acmelive
company Vandelay|merchant Wonka|vendor Initrode|partner Gekko|site Springfield|branch Scranton
store Riverside|bucket=globexdata|host=kestrel|database: umbrelladb|tenant id=hooli
""".strip().replace("\n", "|").split("|")  # fmt: skip
_PEOPLE = """
jane.doe john.smith m.keller maria.garcia peter.parker2 j.roe @jdoe @maria_g anna.schmidt
wei.chen tom.b.jones sarah.connor lisa.simpson @oncall-kim david.bowman
""".split()
_DECLARED = {
    "names": ["Borealis", "Zephyr Foods", "Kestrel", "Blue Harbor", "Nordwind", "Mapleworks"],
    "patterns": ["kunde-*", "mandant #", "lager?", "*.werk", "plant-#-*", "box#"],
}
_DECLARED_NAMES = (
    *("Borealis", "borealis", "BOREALIS", "Zephyr Foods", "zephyr-foods", "ZephyrFoods", "Kestrel"),
    *(
        "zephyr_foods",
        "kestrel",
        "Blue Harbor",
        "blue-harbor",
        "BlueHarbor",
        "Nordwind",
        "nordwind",
    ),
    *(
        "Mapleworks",
        "MAPLEWORKS",
        "kunde-ost",
        "kunde-west",
        "Kunde-Nord",
        "kunde-a.b",
        "mandant 12",
    ),
    *(
        "Mandant 9",
        "mandant_44",
        "mandant-3",
        "lagerA",
        "lager7",
        "LagerX",
        "sued.werk",
        "ost.werk",
    ),
    *("plant-4-north", "plant-12-a", "Plant-7-x1", "box9", "BOX4711", "box007", "kunde-99"),
)

_KEPT = """
Tenant isolation fails when caches are shared between background jobs
Non-prod environments drift from production after every quarter
Customers complain when refunds take more than 10 days to arrive
Client libraries retry too early and cause load spikes at midnight
The staging environment gets stale data because syncs are skipped
A/B-test results differ when traffic is below 500 sessions per day
Test-driven changes break less often than late hotfixes on Fridays
Cluster upgrades on Mondays cause fewer incidents than on Fridays
Server restarts clear the queue but hide the real memory leak
Load-test numbers are too low because warmup requests are counted
Account managers approve discounts faster near the end of quarters
Org charts are outdated in most audits that were done by hand
The tenant boundary is checked twice and still leaks in exports
Pre-prod checks find fewer errors than canary releases do
Namespace quotas are too small for batch jobs with many workers
Project deadlines slip when reviews wait longer than 3 days
User sessions end early whenever tokens expire after 15 minutes
Operators prefer manual approval over automatic rules at night
Database migrations with locks fail under load more than 9 of 10 times
End-to-end tests are flaky when clocks drift by more than 2 seconds
Real-time dashboards lag behind nightly exports during peak hours
Deployment windows before holidays double the number of rollbacks
Live-stream outages follow certificate renewals by one day
Store managers close tickets without notes in every third case
Partner discounts are applied twice when carts are merged
The environment variable is read once and never refreshed later
Workspace settings are lost when plans are downgraded mid-month
Site reliability improves when alerts have one owner each
Host names change after failover and break cached connections
Bucket policies with wildcards are the usual cause of leaks
Dev teams ship faster when reviews take less than one day
UTF-8 and ISO-8601 mismatches cause most of the import errors
Version 3.2 fails more often than version 2.9 under load
Refunds above the limit need a second approval on weekends
Retries after a timeout of 30 seconds succeed in 9 of 10 cases
Customers with 12 or more returns should be reviewed by hand
When an order has more than 500 units checks are skipped too often
In 2023 about 120000 requests per day were normal for this season
Stage-gate reviews delay launches without fewer defects afterwards
Production incidents follow config changes made after 6 pm
Multi-tenant queues starve small tenants when large ones import
Team leads overrule the risk score mostly for known customers
Vendor invoices arrive late in months with public holidays
Instance sizes are chosen too large in first deployments
Company policy forbids refunds in cash above the daily limit
Use json.loads and os.environ only behind the settings module
The config.yaml file wins over environment variables at start
QA sign-off before release halves the number of hotfixes
Client side caching hides price changes for up to 24 hours
Login failures rise after password rotations on Mondays
""".strip().split("\n")


def cases() -> Iterator[NamedCase]:
    """Every labelled case."""
    for row, names in (
        ("shape: environment", _ENVIRONMENTS),
        ("shape: part with a number", _PARTS),
        ("shape: behind its label", _LABELLED),
        ("shape: account of a person", _PEOPLE),
        ("declared in the spec", _DECLARED_NAMES),
    ):
        for number, name in enumerate(names):
            yield NamedCase(row, _SENTENCES[number % len(_SENTENCES)].format(name), name)
    for text in _KEPT:
        yield NamedCase("pattern without a name, touched", text)


def stripping(declared: bool) -> Pipeline:
    """The aggregation gate of the world agent, with what these deployments declare or without."""
    data = load("world_agent").as_data()
    for gate in data["gates"]:
        if declared and gate["boundary"] == Boundary.AGGREGATION:
            gate["identifiers"] = _DECLARED
    return Gates(load(data)).at(Boundary.AGGREGATION)


def is_right(gate: Pipeline, case: NamedCase) -> bool:
    """Whether the name is gone and the sentence is still one; of one without a name, untouched."""
    passed = gate.apply(case.text)
    if not case.name:
        return passed.text == case.text
    own = case.name.split()[-1].strip("\"'").rpartition("=")[2]
    return own not in passed.text and passed.refused is None


def rows() -> Iterator[dict[str, Any]]:
    """Per row how many names are gone, and how many sentences then read alike."""
    with_, without = stripping(True), stripping(False)
    every = list(cases())
    for row in dict.fromkeys(case.row for case in every):
        mine = [case for case in every if case.row == row]
        right = sum(is_right(with_, case) for case in mine)
        told: dict[str, Any] = {"set": "identifiers", "type": row, "texts": len(mine)}
        if row.startswith("declared"):
            undeclared = sum(is_right(without, case) for case in mine)
            yield told | {
                "type": f"{row}, left out",
                "found": undeclared,
                "share": undeclared / len(mine),
            }
        found = right if mine[0].name else len(mine) - right
        yield told | {"found": found, "share": found / len(mine)}
    named = [case for case in every if case.name and "label" not in case.row]
    # Each sentence is one pattern, whoever says it: four sentences, so four groups at best.
    groups = {" ".join(with_.apply(case.text).text.casefold().split()) for case in named}
    yield {
        "set": "identifiers",
        "type": "patterns left of names without a label",
        "texts": len(named),
        "found": len(groups),
    }
