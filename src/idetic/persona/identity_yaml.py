"""Identities written as YAML: from nothing, or into a file that an author has commented."""

from __future__ import annotations

from typing import Any

import yaml

from idetic.persona.errors import IdentityInvalid
from idetic.persona.identity import Identity


class _Dumper(yaml.SafeDumper):
    """Text of several lines as a block, which is how people write it."""


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.Node:
    # What YAML takes for a line break, or cannot print, survives in quotes alone.
    plain = all(c == "\n" or c.isprintable() for c in value)
    style = '"' if not plain else "|" if "\n" in value else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _text)


def dumped(identity: Identity) -> str:
    """An identity as YAML, from nothing."""
    data: dict[str, object] = {
        "agent_id": identity.agent_id,
        "name": identity.name,
        "version": identity.version,
        "instructions": identity.instructions,
        "actor": identity.actor.model_dump(mode="json"),
        "subconscious": identity.subconscious.model_dump(mode="json"),
        "prompt_tokens": identity.prompt_tokens,
    }
    if identity.model is not None:
        data["model"] = identity.model
    return _dump(data)


def rewritten(text: str, new: Identity) -> str:
    """The file's text with the new instructions and version, everything else as it stands."""
    try:
        changed = _with(_with(text, "instructions", new.instructions), "version", new.version)
        if Identity.parse(changed) == new:
            return changed
    except (IdentityInvalid, yaml.YAMLError):
        pass  # an author may write what this does not foresee; then the file is written anew
    return dumped(new)


def _with(text: str, key: str, value: object) -> str:
    """The text with one top-level key's value replaced, or the key added at its end."""
    line = _dump({key: value})
    for name, held in yaml.compose(text, Loader=yaml.SafeLoader).value:
        if name.value == key:
            before, old, rest = _cut(text, name.start_mark.index, held.end_mark.index)
            # A block ends after its line break, everything else before it.
            return before + (line if old.endswith("\n") else line.rstrip("\n")) + rest
    return text.rstrip("\n") + "\n" + line


def _cut(text: str, start: int, end: int) -> tuple[str, str, str]:
    return text[:start], text[start:end], text[end:]


def _dump(data: dict[str, Any]) -> str:
    written: str = yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True)
    return written
