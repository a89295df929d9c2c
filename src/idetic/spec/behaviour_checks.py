"""Checks of primitives 6 to 12: deviations from the defaults, retention, the prompt's budget."""

from __future__ import annotations

from collections.abc import Iterator

from idetic.model import Tier, Typology
from idetic.spec.acting import inert
from idetic.spec.plain import SpecNode
from idetic.spec.primitives import Injection, Presence
from idetic.spec.problems import Finding
from idetic.spec.retention import (
    MEMORY,
    NEVER_DELETED,
    RETENTION,
    TYPOLOGY_OF,
    Disposal,
    RetainedEntity,
    RetentionOverride,
)
from idetic.spec.shape import fit, meant
from idetic.spec.typology import DEFAULTS, LIFECYCLE, ArchiveCause, Cell, SpecPart, cell_of


def deviations(spec: SpecNode) -> Iterator[Finding]:
    """Each deviation changes something that exists, once, in a cell the agent produces."""
    produced = {
        cell_of(tier, Typology(name))
        for tier in Tier
        for name in spec["typology"][tier].texts()
        if name in set(Typology)
    }
    for section, table in DEFAULTS.items():
        seen: set[tuple[Cell, str]] = set()
        for deviation in spec[section]["deviations"].each():
            cell = _cell(deviation["cell"])
            if cell is None:
                continue
            if produced and cell not in produced:
                yield deviation["cell"].finding(
                    f"The typology mix produces no `{cell}` memory.",
                    f"Remove the deviation, or use one of: {', '.join(sorted(produced))}.",
                )
            for key, value in deviation["set"].fields():
                yield from _changed(value, key, table[cell], cell)
                if (cell, key) in seen:
                    yield value.finding(
                        f"An earlier deviation sets `{key}` for `{cell}` already.",
                        "Keep one of the two, with one justification.",
                    )
                seen.add((cell, key))


def _cell(view: SpecNode) -> Cell | None:
    """The cell that a deviation names, or None; the shape's check reports an unknown name."""
    return Cell(view.text) if view.text in set(Cell) else None


def _changed(value: SpecNode, key: str, default: SpecPart, cell: Cell) -> Iterator[Finding]:
    """Findings about one key that a deviation sets: unknown, unfit, or equal to the default."""
    standing = default.model_dump(mode="json")
    if key not in standing:
        yield value.finding(
            f"`{key[:60]}` is not a key of this policy.",
            f"{meant(key, standing)}Its keys: {', '.join(standing)}.",
        )
        return
    policy = fit(type(default), {**standing, key: value.data}, value.steps[:-1])
    if not isinstance(policy, SpecPart):
        # With the keys named, a wrong value is also an occasion to see what else there is.
        keys = ", ".join(standing)
        for found in policy:
            yield Finding(found.steps, found.message, f"{found.remedy} The policy's keys: {keys}.")
        return
    now, before = getattr(policy, key), getattr(default, key)
    # Causes have no order.
    if (
        sorted(map(str, now)) == sorted(map(str, before))
        if isinstance(now, tuple)
        else now == before
    ):
        yield value.finding(
            f"This equals the default for `{cell}`, so it deviates from nothing.",
            "Remove it: defaults are accepted by saying nothing.",
        )


def acting_deviations(spec: SpecNode) -> Iterator[Finding]:
    """Each deviation changes what the engine does; one that could not is refused."""
    yield from _unmet(spec)
    yield from _without_versions(spec)
    episodes = Typology.EPISODIC in spec["typology"][Tier.PERSISTENT].texts()
    leaving = Cell.EPISODIC_PERSISTENT if episodes else Cell.EPISODIC_TRANSIENT
    for section, table in DEFAULTS.items():
        listed = list(spec[section]["deviations"].each())
        for cell, default in table.items():
            own = [one["set"] for one in listed if _cell(one["cell"]) is cell]
            standing = default.model_dump(mode="json")
            given = {key: value for one in own for key, value in one.fields() if key in standing}
            policy = {**standing, **{key: value.data for key, value in given.items()}}
            if not isinstance(fit(type(default), policy), SpecPart):
                continue
            for key, value in given.items():
                if (why := inert(section, cell, key, policy, leaving)) is not None:
                    remedy = "Remove it, or write a value that changes something."
                    yield value.finding(f"This could not act. {why}", remedy)


def _unmet(spec: SpecNode) -> Iterator[Finding]:
    """Findings about keys of promotion that count what this spec's memory never has."""
    broader = spec["tiers"]["broader"].present
    canonical = list(spec["references"]["canonical"].each())
    versions = bool(canonical) and bool(spec["anchor"]["provenance"].texts())
    mix, procedural = spec["typology"][Tier.PERSISTENT].texts(), Cell.PROCEDURAL
    patterns = Typology.PROCEDURAL in mix and not any(
        one["cell"].text == procedural and one["set"]["auto_extract"].data is False
        for one in spec["writes"]["deviations"].each()
    )
    no_broader = "No broader tier stands above the persistent one.", "declare `tiers.broader`"
    no_version = (
        "No fact is known under two versions of anything that it refers to.",
        "name the version in `anchor.provenance` and the tables in `references.canonical`",
    )
    no_candidate = "What leaves a session is an episode here, and no candidate.", "extract patterns"
    for cell, key, met, (why, instead) in (
        (Cell.SEMANTIC, "min_anchors", broader, no_broader),
        (Cell.SEMANTIC, "min_versions", versions, no_version),
        (Cell.SEMANTIC, "min_corroborations", versions, no_version),
        (Cell.EPISODIC_PERSISTENT, "candidates", patterns, no_candidate),
    ):
        for deviation in spec["promotion"]["deviations"].each() if not met else ():
            value = deviation["set"][key]
            if deviation["cell"].text == cell and value.present:
                yield value.finding(f"This could not act. {why}", f"Remove it, or {instead}.")


def _without_versions(spec: SpecNode) -> Iterator[Finding]:
    """Findings about changes of canonical content where no canonical content has versions."""
    if any(one["versions"].present for one in spec["references"]["canonical"].each()):
        return
    for deviation in spec["lifecycle"]["deviations"].each():
        cell, value = _cell(deviation["cell"]), deviation["set"]["archive_on"]
        standing = () if cell is None else LIFECYCLE[cell].archive_on
        if cell and set(value.texts()) ^ set(standing) == {ArchiveCause.CANONICAL_CHANGE}:
            yield value.finding(
                "This could not act. No canonical table has versions that could change.",
                "Remove it, or declare `versions` and `version` in `references.canonical`.",
            )


def sampling(spec: SpecNode) -> Iterator[Finding]:
    """A rule says one of two ways to sample, of a kind that entries are told apart by."""
    declared = [name for name, _ in spec["retrieval"]["envelope"].fields()]
    for deviation in spec["writes"]["deviations"].each():
        rules = list(deviation["set"]["sampling"].each())
        for number, rule in enumerate(rules):
            if rule["share"].present == rule["every"].present:
                yield rule.finding(
                    "A rule of sampling keeps a share or every n-th: one of the two.",
                    "Write `{share: 0.1}` or `{every: 10}`, with `where: {…}` for one kind.",
                )
            for key, value in rule["where"].fields():
                if key not in declared:
                    yield value.finding(
                        f"`{key}` is no key of `retrieval.envelope`, so no entry has that kind.",
                        f"Declare it there, or use one of: {', '.join(declared) or 'none'}.",
                    )
            if not rule["where"].data and number + 1 < len(rules):
                yield rule.finding(
                    "It is about every kind, so no later rule is ever asked.",
                    "Put it last, or say in `where` of which kind it is.",
                )


def undeclared_blocks(spec: SpecNode) -> Iterator[Finding]:
    """No block of the prompt is for a tier that the model does not have."""
    block, static = spec["injection"][Tier.INTERACTION], Injection().at(Tier.INTERACTION)
    given = block.present and block.data != static.model_dump(mode="json")
    if given and spec["tiers"].present and not spec["tiers"][Tier.INTERACTION].present:
        yield block.finding(
            "The tier model has no `interaction` tier.", "Remove the block, or declare the tier."
        )


def injection_budgets(spec: SpecNode) -> Iterator[Finding]:
    """Every block fits under the ceiling, and what is always present fits together."""
    section, static = spec["injection"], Injection()
    ceiling = section["ceiling"].number if section["ceiling"].present else static.ceiling
    if ceiling is None:
        return
    always, known = 0.0, True
    for name in ("core", *Tier):
        block, default = section[name], static.at(name)
        budget = block["budget"].number if block.present else default.budget
        always_here = name == "core" or _presence(block, static, Tier(name)) == Presence.ALWAYS
        if budget is None:
            known = False
            continue
        if budget > ceiling:
            place = block["budget"] if block.present else section["ceiling"]
            yield place.finding(
                f"The {name} block's budget of {budget:g} is above the ceiling of {ceiling:g}.",
                f"Lower `{name}.budget` to at most {ceiling:g}, or raise `ceiling`.",
            )
        if always_here:
            always += budget
    if known and always > ceiling:
        yield section["ceiling"].finding(
            f"The always-present blocks need {always:g} tokens; the ceiling is {ceiling:g}.",
            f"Raise `ceiling` to at least {always:g}, or lower the blocks' budgets.",
        )


def _presence(block: SpecNode, static: Injection, tier: Tier) -> str | None:
    """Whether a tier's block is always present, as the spec says or by default."""
    return block["presence"].text if block.present else static.at(tier).presence


def persistent_on_demand(spec: SpecNode) -> Iterator[Finding]:
    """Persistent memory enters a prompt by a question; there is no other way that it could."""
    presence = spec["injection"][Tier.PERSISTENT]["presence"]
    if presence.text == Presence.ALWAYS:
        yield presence.finding(
            "Persistent memory is recalled for a question, so it cannot always be present.",
            "Write `presence: on_demand`; what was paged in and tiers that end are always present.",
        )


def injection_reason(spec: SpecNode) -> Iterator[Finding]:
    """Static budgets are the default; tuning them is a deviation like any other."""
    section, static = spec["injection"], Injection().model_dump(mode="json")
    changed = [
        key
        for key, value in section.fields()
        if key in static and key != "justification" and value.data != static[key]
    ]
    if changed and not section["justification"].present:
        yield section["justification"].finding(
            f"Changed from the static defaults without a reason: `{'`, `'.join(changed)}`.",
            "Add a `justification`: which measured quality or pressure asks for it?",
        )
    if section["justification"].present and not changed:
        yield section["justification"].finding(
            "Nothing differs from the static defaults, so there is nothing to justify.",
            "Remove `injection`: defaults are accepted by saying nothing.",
        )


def retention(spec: SpecNode) -> Iterator[Finding]:
    """Each override is about memory that the agent has, changes something, and deletes nothing."""
    for name, override in spec["lifecycle"]["retention"].fields():
        if name not in set(RetainedEntity):
            continue  # the shape says so
        entity = RetainedEntity(name)
        deleted = override["disposal"].text == Disposal.HARD_DELETE
        if deleted and entity in NEVER_DELETED:
            yield override["disposal"].finding(
                f"`{entity}` is never deleted: what an action or an answer rested on would be "
                "gone from beneath it.",
                "Write `disposal: STRIP_PAYLOAD`: what it says goes, the row and its history stay."
                if entity in TYPOLOGY_OF
                else "Remove it: these rows hold no content, and they stay.",
            )
        elif entity not in TYPOLOGY_OF:
            yield override.finding(
                f"`{entity}` has no retention of its own: its rows go the way of the entry they "
                "belong to, or stay for the audit.",
                f"Remove it, or set the retention of memory: {', '.join(TYPOLOGY_OF)}.",
            )
        else:
            yield from _memory(spec, entity, override)


def _memory(spec: SpecNode, entity: RetainedEntity, override: SpecNode) -> Iterator[Finding]:
    """Findings about one retention override: memory that is not held, or nothing changed."""
    mix = spec["typology"]["persistent"].texts()
    if mix and TYPOLOGY_OF[entity] not in mix:
        kept = ", ".join(e for t, e in MEMORY.items() if t in mix)
        yield override.finding(
            f"The persistent tier holds no {TYPOLOGY_OF[entity]} memory.",
            f"Remove it, or use one of: {kept}.",
        )
    standing = {
        key: value
        for key, value in RETENTION[entity].model_dump(mode="json").items()
        if key in RetentionOverride.model_fields
    }
    given = {key: value for key, value in override.fields() if key in standing and value.present}
    for key, value in given.items():
        if value.data == standing[key]:
            yield value.finding(
                f"This equals the default for `{entity}`, so it changes nothing.",
                "Remove it: defaults are accepted by saying nothing.",
            )
    if not given and isinstance(override.data, dict):
        yield override.finding(
            f"Nothing about `{entity}` is changed.",
            f"Set one of {', '.join(standing)}, or remove it.",
        )


CHECKS = (
    deviations,
    acting_deviations,
    sampling,
    undeclared_blocks,
    persistent_on_demand,
    injection_budgets,
    injection_reason,
    retention,
)
