"""Which tests say nothing about a given server, and why: the one list of them.

They are deselected by name and reported with their number, before the run and after it; no test
decides for itself. A name is the beginning of a node id.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from tests.support.given_server import look_at
from tests.support.servers import Kind

_EMBEDDED = "about the embedded server itself"
_STAND_IN = "puts a stand-in where Citus is"
# Seen there as 0A000, "complex joins are only supported when all distributed tables are co-located
# and joined on their distribution columns": the tenant's condition sends a statement to its shard.
_NO_TENANT = "Citus refuses a statement whose tenant is taken away, which is the sabotage"

_BY_COPY = "Citus brings INSERT … SELECT by COPY, which it refuses under row-level security"
_CANARIES = "tests/security/test_canaries.py::test"

# What is listed as plain holds for every given server.
NOT_APPLICABLE: dict[Kind, dict[str, str]] = {
    Kind.PLAIN: {
        "tests/integration/test_embedded.py": _EMBEDDED,
        "tests/security/test_server_log.py": "reads the log file of the embedded server",
        "tests/surfaces/test_cli_db.py": _EMBEDDED,
        "tests/surfaces/test_cli_distribute.py::test_a_memory_with_rows_moves_by_its_dump": (
            "dumps with the embedded server's programs, for a server of their version"
        ),
    },
    Kind.POOLER: {},
    Kind.CITUS: {
        "tests/integration/test_baseline.py": "restores the dump of a plain server",
        "tests/integration/test_distribution.py": _STAND_IN,
        "tests/integration/test_nodes.py": _STAND_IN,
        "tests/integration/test_stand_in.py": _STAND_IN,
        "tests/integration/test_compiler.py::test_extensions_may_live_in_a_schema_of_their_own": (
            "databases of a cluster are made with their extensions"
        ),
        "tests/integration/test_compiler.py::test_the_guard_reaches_its_index_when_the_appl": (
            "reads the coordinator's own plans, where the guard does not run"
        ),
        "tests/integration/test_prepared.py::test_a_recall_answers_when_the_server_forgot_some": (
            "there one statement is prepared: who enters is said in a call of a function"
        ),
        "tests/security/test_append_only.py::test_control_without_triggers_the_owner_could_"
        "change_them[TRUNCATE": "Citus empties shards by a trigger, which the control switches off",
        f"{_CANARIES}_each_layer_holds_alone[only_no_predicate": _NO_TENANT,
        "tests/security/test_cli_isolation.py::test_control_with_neither": _NO_TENANT,
        "tests/security/test_cli_isolation.py::test_nor_with_the_predicate": _NO_TENANT,
        "tests/security/test_keys.py::test_control_with_neither": _NO_TENANT,
        "tests/security/test_keys.py::test_nor_with_the_predicate": _NO_TENANT,
        "tests/security/test_mcp_isolation.py::test_without_either": _NO_TENANT,
        "tests/security/test_roles.py::test_a_row_of_another_tenant_cannot_be": _BY_COPY,
        "tests/security/test_roles.py::test_nor_can_one_of_another_anchor_of": _BY_COPY,
        "tests/security/test_tenancy.py::test_control_with_neither_layer": _NO_TENANT,
        "tests/security/test_tenancy.py::test_row_level_security_holds_without": _NO_TENANT,
        "tests/surfaces/test_cli_distribute.py": _STAND_IN,
    },
}


class NotApplicable:
    """Deselects what is listed for the given server, and says so."""

    def __init__(self) -> None:
        self._server = look_at()
        listed = (NOT_APPLICABLE[kind] for kind in Kind if kind in self._server.kinds)
        self._reasons = {name: why for part in listed for name, why in part.items()}
        self._counts: Counter[str] = Counter()
        self._elsewhere: Counter[str] = Counter()

    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        out = [item for item in items if self._name_of(item.nodeid)]
        if out:
            self._counts = Counter(self._name_of(item.nodeid) or "" for item in out)
            items[:] = [item for item in items if not self._name_of(item.nodeid)]
            config.hook.pytest_deselected(items=out)

    def pytest_report_header(self) -> list[str]:
        kinds = ", ".join(sorted(self._server.kinds))
        listed = f"not applicable there: {len(self._reasons)} names"
        return [f"server: PostgreSQL {self._server.version}, given ({kinds}); {listed}"]

    def pytest_report_collectionfinish(self) -> list[str]:
        return list(self._lines())

    # Under xdist each process collects, and deselects the same; the one that reports does neither.

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        output = getattr(session.config, "workeroutput", None)
        if output is not None:
            output["not_applicable"] = dict(self._counts)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: object) -> None:
        self._elsewhere = Counter(getattr(node, "workeroutput", {}).get("not_applicable", {}))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._elsewhere:
            self._counts = self._elsewhere
            terminalreporter.section("not applicable")
            for line in self._lines():
                terminalreporter.line(line)

    def _name_of(self, nodeid: str) -> str | None:
        return next((name for name in self._reasons if nodeid.startswith(name)), None)

    def _lines(self) -> Iterator[str]:
        if self._counts:
            yield f"not applicable on this server: {self._counts.total()} tests"
        for name, count in sorted(self._counts.items()):
            yield f"  {count:4} {name}: {self._reasons[name]}"
