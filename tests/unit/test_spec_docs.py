"""What the documentation says of the spec is what the spec is."""

from __future__ import annotations

import re

import yaml

from idetic.spec.loader import parse
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.problems import PRIMITIVES
from idetic.spec.shape import allowed, annotation_at, every_path, known_keys
from idetic.spec.typology import DEFAULTS
from tests.support.docs import DOCS, blocks

HOW_TO = DOCS / "how-to" / "write-a-spec.md"
REFERENCE = DOCS / "reference" / "spec.md"


def test_the_blocks_of_the_how_to_are_one_spec_in_the_documents_order() -> None:
    parts = [block.text for block in blocks(HOW_TO) if block.title == "clerk.yaml"]
    assert parse("".join(parts)).agent == "clerk"
    told = [key for text in parts for key in yaml.safe_load(text)]
    assert told == [key for key in MemorySpec.model_fields if key in told]


def test_the_how_to_works_the_primitives_in_order() -> None:
    headings = re.findall(r"^## ([\w ]+?)[:.]", HOW_TO.read_text("utf-8"), re.MULTILINE)
    numbers = ["1", "2", "3", "4", "5", "6 to 12", "13", "14", "15"]
    assert headings == [*numbers, "Leak defence", "Audit posture"]


def test_the_reference_names_every_key_and_every_value() -> None:
    text = REFERENCE.read_text("utf-8")
    words = set(re.findall(r"\w+", " ".join(re.findall(r"`([^`]+)`", text))))
    for path in every_path(MemorySpec):
        annotation = annotation_at(MemorySpec, path)
        for word in (path[-1], *known_keys(annotation)):
            assert word in words, ".".join(path)
        for value in allowed(annotation):
            assert set(re.findall(r"\w+", value)) <= words, ".".join(path)


def test_the_reference_shows_the_defaults_that_hold() -> None:
    text = REFERENCE.read_text("utf-8")
    for section, table in DEFAULTS.items():
        part = text.split(f"### {PRIMITIVES[section]}\n", 1)[1].split("\n#", 1)[0]
        head = next(iter(table.values())).model_dump()
        assert f"| cell | {' | '.join(f'`{key}`' for key in head)} |" in part
        for cell, policy in table.items():
            shown = (_shown(value) for value in policy.model_dump(mode="json").values())
            assert f"| `{cell}` | {' | '.join(shown)} |" in part


def _shown(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(f"`{item}`" for item in value) or "nothing"
    if isinstance(value, bool):
        return str(value).lower()
    return f"`{value}`" if isinstance(value, str) else f"{value:g}"
