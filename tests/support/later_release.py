"""A release of Idetic after this one: the package itself in another place, with what it brings.

It is run as a process of its own, as somebody does who has installed it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import idetic
from idetic.store.family_migration import FOLDER, newest
from idetic.store.migrator import migrations
from tests.conftest import TestDatabase
from tests.support.children import child
from tests.surfaces.cli_runner import Ran

VERSION = "9.0.0"
CORE = f"{migrations()[-1][0] + 1:04}_later.sql"
FAMILY = f"{newest() + 1:04}_later.sql"
LAST = f"{newest() + 2:04}_last.sql"

_CORE = """-- What a later release adds to the core, and changes there.
CREATE TABLE idetic.later (
    number integer NOT NULL,
    CONSTRAINT later_pkey PRIMARY KEY (number)
);
GRANT SELECT ON idetic.later TO idetic_app;
ALTER TABLE idetic.embedding_profiles ADD COLUMN later_name text;
CREATE FUNCTION idetic.later_v1() RETURNS integer LANGUAGE sql AS $$ SELECT 1 $$;
"""
# A column that is filled, an index that is built anew, one that goes.
_FAMILY = """-- alters: table {name}_memory
-- alters: index {name}_memory_claim
-- drops: index {name}_memory_transient
ALTER TABLE {family}_memory ADD COLUMN later_by text NOT NULL DEFAULT '';
UPDATE {family}_memory SET later_by = created_by;
DROP INDEX {schema}.{name}_claim_idx;
CREATE INDEX {name}_claim_idx ON {family}_memory
    ({tenant}, anchor_id, claim_subject, claim_attribute, typology)
    WHERE claim_subject IS NOT NULL;
DROP INDEX {schema}.{name}_transient_idx;
"""
_LAST = """-- for each noun:
-- alters: table {name}_memory_{noun}_refs
ALTER TABLE {family}_memory_{noun}_refs ADD COLUMN later_at timestamptz;
-- end
"""
_FROZEN = "from tests.support.freeze import *; print(*problems(frozen(), now()), sep='\\n', end='')"
# The same in the templates: a pattern of the file, and what stands there then. A column comes last.
_TEMPLATES = (
    ("noun", r"(created_at timestamptz NOT NULL,\n)(    CONSTRAINT \{name\}_\{noun\}_refs_pkey)",
     r"\1    later_at timestamptz,\n\2"),
    ("tables", r"(created_by text NOT NULL,\n)(    CONSTRAINT \{name\}_memory_pkey)",
     r"\1    later_by text NOT NULL DEFAULT '',\n\2"),
    ("tables", "(WHERE claim_subject IS NOT NULL) AND superseded_at IS NULL", r"\1"),
    ("tables", r"-- object: index \{name\}_memory_transient\n.*?;\n", ""),
)  # fmt: skip


class LaterRelease:
    """The package with one core migration more and two of families, and templates that agree."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.sql = place / "idetic" / "store" / "sql"
        shutil.copytree(Path(idetic.__file__).parent, place / "idetic")
        (self.sql / FOLDER).mkdir(exist_ok=True)
        self.write(f"core/{CORE}", _CORE)
        self.write(f"{FOLDER}/{LAST}", _LAST)
        self.write(f"{FOLDER}/{FAMILY}", _FAMILY)
        self._edit("../../__init__.py", f'"{idetic.__version__}"', f'"{VERSION}"')
        for file, pattern, text in _TEMPLATES:
            self._edit(f"family/{file}.sql", pattern, text)

    def _edit(self, file: str, pattern: str, text: str) -> None:
        path = self.sql / file
        edited, count = re.subn(pattern, text, path.read_text("utf-8"), flags=re.DOTALL)
        assert count == 1, f"{pattern} stands {count} times in {file}"
        path.write_text(edited, "utf-8")

    def write(self, file: str, text: str) -> None:
        """Put a file below the package's `sql`."""
        (self.sql / file).write_text(text, "utf-8")

    def frozen_problems(self) -> list[str]:
        """What `make freeze` would say in this release's tree."""
        found = subprocess.run(
            [sys.executable, "-c", _FROZEN], env={**os.environ, "PYTHONPATH": str(self.place)},
            capture_output=True, text=True, check=True, timeout=60,
        )  # fmt: skip
        return found.stdout.splitlines()

    def run(self, database: TestDatabase, *arguments: str) -> Ran:
        """Run a command of this release, with both logins of a database."""
        (ran,) = self.run_all(database, [arguments])
        return ran

    def run_all(self, database: TestDatabase, commands: Sequence[Sequence[str]]) -> list[Ran]:
        """Run several at once."""
        environment = {
            **os.environ, "COLUMNS": "200", "PYTHONUTF8": "1", "PYTHONPATH": str(self.place),
            "IDETIC_DSN": database.dsn, "IDETIC_ADMIN_DSN": database.admin_dsn,
        }  # fmt: skip
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        with ExitStack() as stack:
            running = [
                stack.enter_context(
                    child([sys.executable, "-m", "idetic", *each], env=environment, **pipes)
                )
                for each in commands
            ]
            said = [each.communicate() for each in running]
        return [
            Ran(each.returncode, out, err) for each, (out, err) in zip(running, said, strict=True)
        ]
