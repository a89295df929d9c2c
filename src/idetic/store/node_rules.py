"""What is the matter where a node has something otherwise, in words, with what to do about it."""

from __future__ import annotations

from dataclasses import dataclass

_THERE = "on that node, after `SET citus.enable_ddl_propagation = off`."
_AGAIN = "Run `idetic distribute AGENT`, for any agent that is distributed: it is sent again."


@dataclass(frozen=True, slots=True)
class NodeFinding:
    """What one node has otherwise than the coordinator, and what to do about it."""

    node: str
    kind: str
    name: str
    aspect: str
    message: str
    remedy: str


_ANSWER = (
    "Start the node, or let in the role that asks: `idetic distribute AGENT` lets ours log in, "
    "and pg_hba.conf of the node has to let the coordinator in as them."
)
_RESTORE = "Restore the node from a backup, or move the shard's group away and back."
_INSTALL = "Install one version on every node; for an extension, then `ALTER EXTENSION … UPDATE`."
# By aspect: what is the matter, and the way out of it.
_RULES = {
    "silent": ("It does not answer: {found}.", _ANSWER),
    "missing": ("It has no {kind} {name}.", _AGAIN),
    "besides": (
        "It has the {kind} {name}, which the coordinator does not have.",
        f"Drop it {_THERE}",
    ),
    "presence": ("The shard {name} is not there, though Citus believes so.", _RESTORE),
    "version": ("{name} is {found} there, {state} on the coordinator.", _INSTALL),
    "attributes": ("The role {name} is {found} there, {state} on the coordinator.", _AGAIN),
    "memberships": (
        "The role {name} is a member of {found} there, of {state} on the coordinator.",
        f"{_AGAIN} One too many: REVOKE it {_THERE}",
    ),
    "grants": (
        "The {kind} {name} has another owner or other grants there.",
        f"{_AGAIN} One too many: REVOKE it {_THERE}",
    ),
    "public": ("PUBLIC may execute the function {name}.", _AGAIN),
    "definition": ("The {kind} {name} is not the coordinator's: its definition differs.", _AGAIN),
    "security": ("{name} has {found}, the coordinator {state}.", _AGAIN),
    "policies": ("The policies of {name} are not the coordinator's.", _AGAIN),
    # What enables a trigger, and all about one on TRUNCATE, Citus hands on to no shard.
    "triggers": (
        "The triggers of {name} are not the coordinator's.",
        f"{_AGAIN} One that is disabled, or on TRUNCATE: enable or make it {_THERE}",
    ),
}
_SHAPE = (
    "The {aspect} of {name} are not the coordinator's.",
    f"Compare the two with `\\d`, and say the missing ALTER TABLE or CREATE INDEX {_THERE}",
)
_TYPE = f"Say the ALTER TYPE or ALTER DOMAIN {_THERE}"


def finding(
    node: str,
    kind: str,
    name: str,
    aspect: str,
    state: str,
    found: str = "",
    shard: str | None = None,
) -> NodeFinding:
    """One difference, in words; `name` is the table's, and `shard` what is told of it."""
    message, remedy = _RULES.get(aspect, _SHAPE)
    if kind == "type":
        remedy = _TYPE
    said = {"kind": kind, "name": shard or name, "aspect": aspect}
    said |= {"state": state or "none", "found": found or "none"}
    return NodeFinding(node, kind, name, aspect, message.format(**said), remedy)
