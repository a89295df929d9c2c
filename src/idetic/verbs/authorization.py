"""Authorization: a scope is bound once against the spec, and each verb asks what it may do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from idetic.errors import AnchorRefused, CapabilityRefused, InputError, TextRefused
from idetic.model import Capability, Principal, PrincipalKind, Scope
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.primitives import AnchorKey, KeyType
from idetic.verbs.arguments import SHORT, check_text, check_uuid
from idetic.verbs.declaration import Verb


def bind(
    spec: MemorySpec,
    values: Mapping[str, Any],
    principal: Principal,
    capabilities: frozenset[Capability] | None = None,
) -> Scope:
    """The immutable scope that everything else needs; `capabilities` can only narrow it."""
    if not isinstance(principal, Principal):
        raise AnchorRefused(
            "A scope needs a principal.", remedy='For example principal=Principal.agent("name").'
        )
    if principal.kind not in spec.visibility.principals:
        raise CapabilityRefused(f"The spec of {spec.agent} knows no {principal.kind} principal.")
    names = [key.name for key in spec.anchor.keys]
    unknown = [name for name in values if name not in names]
    if unknown:
        raise AnchorRefused(
            f"Unknown anchor key(s): {', '.join(unknown)}.",
            remedy=f"The anchor of {spec.agent} is ({', '.join(names)}).",
        )
    across = allows(spec, Scope(spec.agent, {}, principal, capabilities), Capability.READ_ACROSS)
    anchor = {key.name: _value(key, values, across=across) for key in spec.anchor.keys}
    return Scope(spec.agent, anchor, principal, capabilities)


def within(spec: MemorySpec, scope: Scope, anchor: Mapping[str, Any]) -> Scope:
    """The scope with its open keys filled in; a key that it already holds cannot change."""
    held = {name: value for name, value in scope.anchor.items() if value is not None}
    other = [name for name, value in held.items() if anchor.get(name, value) != value]
    if other:
        raise AnchorRefused(
            f"This scope has another value of {', '.join(other)}.",
            remedy="Use a key of that anchor, or one that leaves it open.",
        )
    return bind(spec, {**anchor, **held}, scope.principal, scope.capabilities)


def _value(key: AnchorKey, values: Mapping[str, Any], *, across: bool) -> Any:
    """One anchor key's value, checked by its type; only who reads across may leave a key out."""
    value = values.get(key.name)
    if value is None:
        if key.nullable_for_queries and across:
            return None
        raise AnchorRefused(
            f"The anchor key {key.name} is missing.",
            remedy=f"Give {key.name}=…; only a principal with read_across may leave out a key "
            "that the spec declares nullable_for_queries.",
        )
    if key.type is KeyType.UUID:
        try:
            return check_uuid(value, key.name)
        except InputError:
            raise AnchorRefused(f"The anchor key {key.name} is not a UUID.") from None
    if key.type is KeyType.BIGINT:
        # Not isinstance, for which True is a number.
        if type(value) is not int or not -(2**63) <= value < 2**63:
            raise AnchorRefused(f"The anchor key {key.name} is not a 64-bit whole number.")
        return value
    return check_key_text(value, key.name, f"The anchor key {key.name}")


def check_key_text(value: object, name: str, what: str) -> str:
    """A text as the key of an anchor: short, and one that the scope can carry."""
    try:
        text = check_text(value, SHORT, name)
    except TextRefused as error:
        raise AnchorRefused(error.message) from None
    # Control characters separate the parts of the scope that row-level security reads.
    if text == "*" or not text.isprintable():
        raise AnchorRefused(f"{what} may be neither '*' nor hold control characters.")
    return text


def allows(spec: MemorySpec, scope: Scope, capability: Capability) -> bool:
    """Whether the spec grants it to the scope's principal and the scope itself leaves it."""
    left = scope.capabilities is None or capability in scope.capabilities
    return left and spec.may(scope.principal.kind, capability)


def require(spec: MemorySpec, scope: Scope, capability: Capability) -> None:
    """Refuse what the scope's principal may not do, or what the scope was narrowed to leave out.

    A customer's `read` is the right to ask: rows, histories and evidence are an operator's tools.
    """
    if not allows(spec, scope, capability):
        refuse(spec, scope, capability)
    if scope.principal.kind is PrincipalKind.CUSTOMER:
        raise CapabilityRefused(
            "A customer may not read entries; a customer may only ask.",
            remedy="Ask: `await memory.ask(question)`.",
        )


def refuse(spec: MemorySpec, scope: Scope, capability: Capability) -> NoReturn:
    """Say why a scope may not do something, and who may."""
    kind = scope.principal.kind
    if spec.may(kind, capability):
        raise CapabilityRefused(
            f"This key or handle may not {capability.value.replace('_', ' ')}.",
            remedy="The spec would allow it: use a key or handle with this capability.",
        )
    holders = [k.value for k in PrincipalKind if spec.may(k, capability)]
    raise CapabilityRefused(
        f"{article(kind)} {kind} principal may not {capability.value.replace('_', ' ')} here.",
        remedy=f"The spec of {spec.agent} grants it to: {', '.join(holders) or 'nobody'}.",
    )


def require_whole_anchor(scope: Scope) -> None:
    """Refuse a scope that leaves an anchor key open, for writes and for what a chain says."""
    missing = [key for key, value in scope.anchor.items() if value is None]
    if missing:
        raise AnchorRefused(
            f"This needs one anchor with every key; {', '.join(missing)} is open.",
            remedy="Bind again with every key, once for each anchor.",
        )


def require_ungated(spec: MemorySpec, scope: Scope) -> None:
    """Refuse what is whole or nothing to a principal behind a gate that takes something out.

    A gated export would fit no chain, and a gated disclosure would not be everything.
    """
    removed = spec.removed_for(scope.principal.kind)
    if removed:
        kind = scope.principal.kind
        raise CapabilityRefused(
            f"{article(kind)} {kind} principal reads behind a gate here ({', '.join(removed)}), "
            "and this call would show the removed parts.",
            remedy="Use a principal without a gate that may do this, such as maintenance.",
        )


def check_authorized(spec: MemorySpec, scope: Scope, verb: Verb[..., Any]) -> None:
    """Refuse a verb that the scope's principal may not use, or that needs the whole anchor."""
    if verb.capabilities is not None:
        granted = (one for one in verb.capabilities if allows(spec, scope, one))
        require(spec, scope, next(granted, verb.capabilities[-1]))
    if verb.capabilities is not None and Capability.EXPORT in verb.capabilities:
        require_ungated(spec, scope)
    if verb.whole_anchor:
        require_whole_anchor(scope)


def article(word: str) -> str:
    """The article before a word that begins a sentence: "An agent", "A customer"."""
    return "An" if word[0] in "aeiou" else "A"


def reads_spec(spec: MemorySpec, scope: Scope) -> bool:
    """Whether a scope may know all that its spec speaks of: of two personas, not the Actor."""
    return None in spec.backend.personas or allows(spec, scope, Capability.READ_ACROSS)


def readable_spec(spec: MemorySpec, scope: Scope) -> MemorySpec:
    """The spec, for a scope that may know all that it speaks of."""
    if scope.principal.kind is PrincipalKind.CUSTOMER or not reads_spec(spec, scope):
        raise CapabilityRefused(
            "This key may not read the spec.",
            remedy="Use an operator's key.",
        )
    return spec
