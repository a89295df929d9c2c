"""Nothing in the engine knows any particular agent.

The World Agent is one spec among others. Its words may stand in its own spec, in the reference
context that ships with it and in the demo; elsewhere only where people are told an example. What
counts is code: comments and docstrings are free.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import idetic

PACKAGE = Path(idetic.__file__).parent
ITS_OWN = ("spec/agents/", "context/", "surfaces/cli/demo",
           "surfaces/cli/serve", "world/")  # fmt: skip
# The remedies' examples: lines of YAML that are shown and never read.
EXAMPLES = ("spec/examples.py",)
# `open_world_hint` is the Model Context Protocol's word, and not about any agent.
SPECIAL = re.compile(r"(?<!^open_)world", re.IGNORECASE)
# A sentence that gives an example says so.
SAID_AS_EXAMPLE = re.compile(r"for example|e\.g\.|such as|[Ee]xample:")


def sources(suffix: str) -> list[Path]:
    found = sorted(PACKAGE.rglob(f"*{suffix}"))
    names = [path.relative_to(PACKAGE).as_posix() for path in found]
    return [
        path
        for path, name in zip(found, names, strict=True)
        if not name.startswith(ITS_OWN) and name not in EXAMPLES
    ]


def special_cases(text: str) -> Iterator[str]:
    """Every name and every string of a Python source that speaks of one agent."""
    tree = ast.parse(text)
    free = {id(node) for node in _docstrings(tree)} | {id(node) for node in _examples(tree)}
    for node in ast.walk(tree):
        for said in _words(node):
            if id(node) not in free and SPECIAL.search(said) and not SAID_AS_EXAMPLE.search(said):
                yield f"line {getattr(node, 'lineno', '?')}: {said!r}"


def _words(node: ast.AST) -> Iterator[str]:
    """What a node itself says: identifiers, imports, keywords, attributes, text."""
    for field in ("id", "attr", "arg", "name", "asname", "module"):
        value = getattr(node, field, None)
        if isinstance(value, str):
            yield value
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value


def _docstrings(tree: ast.AST) -> Iterator[ast.AST]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield node.value


def _examples(tree: ast.AST) -> Iterator[ast.AST]:
    """What a call of `examples` shows, and what is assigned to a name that only serves that."""
    shown = [
        node
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "examples"
        for node in ast.walk(call)
    ]
    yield from shown
    shown_ids = {id(node) for node in shown}
    read = {n.id for n in ast.walk(tree) if _is_read(n) and id(n) not in shown_ids}  # type: ignore[attr-defined]
    helps = {n.id for n in shown if _is_read(n)} - read | {"example"}  # type: ignore[attr-defined]
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and {ast.unparse(t) for t in node.targets} <= helps:
            yield from ast.walk(node.value)


def _is_read(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)


def without_comments(text: str) -> str:
    return re.sub(r"--[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)


@pytest.mark.parametrize("path", sources(".py"), ids=lambda p: p.relative_to(PACKAGE).as_posix())
def test_no_python_code_has_a_special_case(path: Path) -> None:
    assert list(special_cases(path.read_text("utf-8"))) == []


@pytest.mark.parametrize("path", sources(".sql"), ids=lambda p: p.relative_to(PACKAGE).as_posix())
def test_no_sql_has_a_special_case(path: Path) -> None:
    assert not SPECIAL.search(without_comments(path.read_text("utf-8")))


def test_there_is_something_to_look_at() -> None:
    assert len(sources(".py")) > 30
    assert len(sources(".sql")) > 10


@pytest.mark.parametrize(
    "code",
    [
        'if spec.agent == "world_agent":\n    pass',
        "import idetic.context.worlds",
        "from idetic.context import Worlds",
        "def for_world(): ...",
        "call(world_id=1)",
        "scope.world",
        'query = "SELECT FROM worlds.rules"',
        'f"worlds.{table}"',
        'match agent:\n    case "world_agent":\n        pass',
        "class WorldMemory: ...",
        'ARGS = "world_agent"\nepilog = examples(ARGS)\nrun(ARGS)',
    ],
)
def test_control_a_special_case_is_found(code: str) -> None:
    assert list(special_cases(code)) != []


@pytest.mark.parametrize(
    "code",
    [
        '"""The World Agent\'s memory."""',
        "# as the World Agent does\nx = 1",
        'def f():\n    """Like `world_agent`."""',
        'remedy = "Name a schema, for example `worlds`."',
        'example = "worlds.rules" if a else "b"',
        'epilog = examples("idetic spec render world_agent")',
        'ARGS = "--agent world_agent"\nepilog = examples(f"idetic list {ARGS}")',
    ],
)
def test_control_what_is_said_to_people_is_free(code: str) -> None:
    assert list(special_cases(code)) == []


def test_control_sql_is_looked_at_without_its_comments() -> None:
    assert SPECIAL.search(without_comments("SELECT FROM worlds.rules -- why"))
    assert not SPECIAL.search(without_comments("-- the World Agent\nSELECT 1 /* its\nworld */"))
