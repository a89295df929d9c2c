"""What a release has frozen: its migrations, and the tables that its shipped specs compile to.

A frozen file is never edited, because databases have run it. A frozen table may be written
differently in its template only if a later family migration alters it. `make freeze` writes down
what the tree holds now as the release's.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import idetic
from idetic.context import shipped_contexts
from idetic.spec.loader import load, shipped
from idetic.store.compiler import Extensions, compile_spec
from idetic.store.family_migration import FOLDER, STRUCTURAL, family_migration
from idetic.store.migrator import digest_of, migrations

ROOT = Path(__file__).parents[2]
FROZEN = ROOT / "src" / "idetic" / "store" / "sql" / "frozen.json"

Frozen = dict[str, Any]


def now() -> Frozen:
    """What the tree holds, in the form of a frozen release."""
    return {
        **{f: {name: digest_of(name, f) for _, name in migrations(f)} for f in ("core", FOLDER)},
        "contexts": {c.schema: _digest(c.ddl) for c in shipped_contexts()},
        "tables": {agent: _tables(agent) for agent in shipped()},
    }


def frozen() -> dict[str, Frozen]:
    """Every frozen release."""
    found: dict[str, Frozen] = json.loads(FROZEN.read_text("utf-8"))
    return found


def problems(releases: Mapping[str, Frozen], here: Frozen) -> list[str]:
    """Where a tree has changed what a release froze, and what to do instead."""
    return [
        problem
        for release, held in releases.items()
        for problem in (
            *_files(release, held, here, "core"),
            *_files(release, held, here, FOLDER),
            *_contexts(release, held, here),
            *_altered(release, held, here),
        )
    ]


def _files(release: str, held: Frozen, here: Frozen, folder: str) -> Iterator[str]:
    number = max((n for n, _ in migrations(folder)), default=0) + 1
    for name, digest in held[folder].items():
        if here[folder].get(name) != digest:
            what = "is edited" if name in here[folder] else "is missing"
            yield (
                f"sql/{folder}/{name} {what}, and {release} froze it: put it back as it was, and "
                f"write a new numbered migration instead, sql/{folder}/{number:04}_….sql"
            )


def _contexts(release: str, held: Frozen, here: Frozen) -> Iterator[str]:
    for name, digest in held["contexts"].items():
        if here["contexts"].get(name) != digest:
            yield (
                f"The context {name} is not what {release} froze. Contexts have no migrations yet: "
                "put it back, or give them some"
            )


def _altered(release: str, held: Frozen, here: Frozen) -> Iterator[str]:
    later = [each for each in migrations(FOLDER) if each[1] not in held[FOLDER]]
    for agent, tables in held["tables"].items():
        done = [family_migration(*each, load(agent), Extensions()) for each in later]
        told = {f"{kind} {name}" for m in done for kind, name in (*m.alters, *m.drops)}
        for name, digest in tables.items():
            if here["tables"].get(agent, {}).get(name) != digest and name not in told:
                yield (
                    f"The {name} of {agent} is not what {release} froze, and no later migration in "
                    f"sql/{FOLDER} alters it: write one, with `-- alters: {name}` as a template"
                )


def _tables(agent: str) -> dict[str, str]:
    objects = compile_spec(load(agent))
    return {f"{o.kind} {o.name}": o.digest for o in objects if o.kind in STRUCTURAL}


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _is_released(version: str) -> bool:
    """Whether the changelog gives a version a date."""
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    return re.search(rf"^## \[{re.escape(version)}\] - unreleased$", text, re.MULTILINE) is None


def main(*options: str) -> int:
    """Freeze this version; `--anew` overwrites one that is frozen and not yet released."""
    version = idetic.__version__
    releases = frozen() if FROZEN.exists() else {}
    if version in releases and "--anew" not in options:
        wrong = problems({version: releases[version]}, now())
        print("\n".join(wrong) or f"{version} is frozen, and the tree agrees with it.")
        return int(bool(wrong))
    if version in releases and _is_released(version):
        print(f"{version} is released: databases have run its files. Write a new migration.")
        return 1
    FROZEN.write_text(json.dumps({**releases, version: now()}, indent=1) + "\n", "utf-8")
    print(f"{version} is frozen in {FROZEN.relative_to(ROOT)}.")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
