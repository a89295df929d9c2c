"""Primitive 6, `lifecycle.retention`: what a spec may say about how long something is kept."""

from __future__ import annotations

from collections.abc import Iterator

from idetic.spec.plain import View
from idetic.spec.problems import Finding
from idetic.spec.retention import MEMORY, NEVER_DELETED, RETENTION, Disposal, RetainedEntity

_TYPOLOGY_OF = {entity: typology for typology, entity in MEMORY.items()}


def retention(spec: View) -> Iterator[Finding]:
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
                _stays(entity),
            )
        elif entity not in _TYPOLOGY_OF:
            yield override.finding(
                f"`{entity}` has no retention of its own: its rows go the way of the entry they "
                "belong to, or stay for the audit.",
                f"Remove it, or set the retention of memory: {', '.join(_TYPOLOGY_OF)}.",
            )
        else:
            yield from _memory(spec, entity, override)


def _stays(entity: RetainedEntity) -> str:
    if entity in _TYPOLOGY_OF:
        return "Write `disposal: STRIP_PAYLOAD`: what it says goes, the row and its history stay."
    return "Remove it: these rows hold no content, and they stay."


def _memory(spec: View, entity: RetainedEntity, override: View) -> Iterator[Finding]:
    mix = spec["typology"]["persistent"].texts()
    if mix and _TYPOLOGY_OF[entity] not in mix:
        kept = ", ".join(e for t, e in MEMORY.items() if t in mix)
        yield override.finding(
            f"The persistent tier holds no {_TYPOLOGY_OF[entity]} memory.",
            f"Remove it, or use one of: {kept}.",
        )
    standing = RETENTION[entity].model_dump(mode="json")
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


CHECKS = (retention,)
