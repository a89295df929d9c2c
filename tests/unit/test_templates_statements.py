"""A text of several statements comes apart where one ends, and nowhere else."""

from __future__ import annotations

from idetic.spec.loader import load, shipped
from idetic.store.compiler import compile_spec
from idetic.store.templates import split_statements

BODY = "CREATE FUNCTION f() RETURNS void LANGUAGE sql AS $$ SELECT 1; SELECT 2 $$;"


def test_bodies_strings_names_and_comments_end_nothing() -> None:
    text = f"""-- One; two.
DROP INDEX a;
CREATE INDEX a ON t (b) WHERE c = 'it''s; so'; {BODY}
COMMENT ON TABLE "odd;name" IS ';'; -- last; of all
"""
    first, second, third, fourth = split_statements(text)
    assert first.endswith("DROP INDEX a;")
    assert second.strip() == "CREATE INDEX a ON t (b) WHERE c = 'it''s; so';"
    assert third.strip() == BODY
    assert fourth.strip() == """COMMENT ON TABLE "odd;name" IS ';';"""


def test_nothing_of_a_shipped_agent_is_lost() -> None:
    for name in shipped():
        for made in compile_spec(load(name)):
            parts = split_statements(made.ddl)
            assert parts, made.name
            assert made.ddl.startswith("".join(parts)), made.name
            assert all(part.count("$$") in (0, 2) for part in parts), made.name
