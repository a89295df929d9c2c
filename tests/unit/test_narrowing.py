"""Capabilities of a scope only narrow: whatever they say, the spec is the most there is."""

from __future__ import annotations

from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idetic import Capability, Principal, Scope, errors
from idetic.model import PrincipalKind
from idetic.spec.loader import load
from idetic.verbs.authorization import allows, bind, require

SPEC = load("world_agent")
ANCHOR = {"org_id": uuid4(), "domain_id": uuid4()}

some = st.frozensets(st.sampled_from(list(Capability)))
kinds = st.sampled_from(sorted(SPEC.visibility.principals))


@given(kinds, st.none() | some, st.sampled_from(list(Capability)))
def test_a_scope_allows_what_the_spec_grants_and_it_was_left(
    kind: PrincipalKind, only: frozenset[Capability] | None, asked: Capability
) -> None:
    scope = bind(SPEC, ANCHOR, Principal(kind, "x"), only)
    wanted = SPEC.may(kind, asked) and (only is None or asked in only)
    assert allows(SPEC, scope, asked) is wanted
    # What a customer may, it may through its gate; nothing else is for a customer.
    if wanted and kind is not PrincipalKind.CUSTOMER:
        require(SPEC, scope, asked)
    else:
        with pytest.raises(errors.CapabilityRefused):
            require(SPEC, scope, asked)


@given(kinds, st.lists(some, max_size=4))
def test_narrowing_again_never_gives_back(
    kind: PrincipalKind, steps: list[frozenset[Capability]]
) -> None:
    scope = bind(SPEC, ANCHOR, Principal(kind, "x"))
    for step in steps:
        before = {each for each in Capability if allows(SPEC, scope, each)}
        scope = scope.narrowed(step)
        assert {each for each in Capability if allows(SPEC, scope, each)} == before & step


def test_a_key_without_read_across_cannot_leave_an_anchor_key_open() -> None:
    auditor = Principal.auditor("ben")
    open_anchor = {"org_id": ANCHOR["org_id"]}
    assert bind(SPEC, open_anchor, auditor).anchor["domain_id"] is None
    with pytest.raises(errors.AnchorRefused):
        bind(SPEC, open_anchor, auditor, frozenset({Capability.READ}))


def test_the_refusal_says_whether_the_spec_or_the_key_left_it_out() -> None:
    narrow = bind(SPEC, ANCHOR, Principal.operator("ada"), frozenset({Capability.READ}))
    with pytest.raises(errors.CapabilityRefused, match="The spec would allow it"):
        require(SPEC, narrow, Capability.ARCHIVE)
    with pytest.raises(errors.CapabilityRefused, match="operator principal may not maintain"):
        require(SPEC, narrow, Capability.MAINTAIN)


def test_a_scope_made_without_them_is_as_before() -> None:
    assert Scope("a", ANCHOR, Principal.agent("x")).capabilities is None
