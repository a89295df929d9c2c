"""YAML text to plain data, with the line of every key and nothing silently lost.

PyYAML's own constructor keeps the last of two equal keys, follows aliases into bombs and
turns `2024-13-45` into an exception. So only its composer is used here, and the data are
built from the nodes: each surprise becomes a finding with a line.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

import yaml
from yaml.composer import Composer
from yaml.constructor import SafeConstructor
from yaml.events import AliasEvent
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from yaml.parser import Parser
from yaml.reader import Reader, ReaderError
from yaml.resolver import Resolver
from yaml.scanner import Scanner

from idetic.spec.plain import MAX_BYTES, MAX_DEPTH
from idetic.spec.problems import WHOLE, Finding, Problem, SpecInvalid, Steps

_TAG = "tag:yaml.org,2002:"
# A plain `2024-01-01`, `<<` or `=` is text here; a spec has no key that holds a date.
_TEXT_TAGS = {_TAG + name for name in ("str", "timestamp", "merge", "value")}


@dataclass(slots=True)
class Document:
    """A YAML file read: its data, where each path stands, and what could not be read."""

    data: Mapping[str, Any]
    lines: dict[Steps, int] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)

    def line_of(self, steps: Steps) -> int | None:
        """The line of a path, or of the nearest thing around it that stands in the file."""
        for end in range(len(steps), -1, -1):
            if (line := self.lines.get(steps[:end])) is not None:
                return line
        return None


class _NodeRefused(yaml.YAMLError):
    def __init__(self, line: int, message: str, remedy: str):
        self.line, self.message, self.remedy = line, message, remedy
        super().__init__(message)


class _SpecComposer(Reader, Scanner, Parser, Composer, Resolver):
    """A composer that refuses aliases and deep nesting before they can cost anything."""

    def __init__(self, text: str):
        Reader.__init__(self, text)
        Scanner.__init__(self)
        Parser.__init__(self)
        Composer.__init__(self)
        Resolver.__init__(self)
        self._depth = 0

    def compose_node(self, parent: Node | None, index: int) -> Node | None:
        """Compose one node, or say why a spec does not need it."""
        line = self.peek_event().start_mark.line + 1  # type: ignore[no-untyped-call]
        if self.check_event(AliasEvent):
            raise _NodeRefused(
                line,
                "A YAML alias (`*name`) is used.",
                "Write the value out: a spec says each answer where it is asked.",
            )
        if self._depth >= MAX_DEPTH:
            raise _NodeRefused(
                line,
                f"The YAML is nested more than {MAX_DEPTH} levels deep.",
                "Remove the extra brackets or indentation; no key of a spec is that deep.",
            )
        self._depth += 1
        node: Node | None = super().compose_node(parent, index)
        self._depth -= 1
        return node


def read(text: str, source: str | None = None) -> Document:
    """The document a YAML text holds. What is not a YAML mapping at all raises `SpecInvalid`."""
    if len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        _refuse(
            source,
            f"The file is larger than {MAX_BYTES // 1024} KB.",
            f"Keep a spec under {MAX_BYTES // 1024} KB; it holds answers, not content.",
        )
    node = _compose(text, source)
    if node is None:
        _refuse(source, "The file is empty.", "Start from `idetic spec new`, or a shipped spec.", 1)
    if not isinstance(node, MappingNode) or node.tag != _TAG + "map":
        _refuse(
            source,
            "The file is not a mapping of keys to answers.",
            "Begin with `agent: my_agent` on a line of its own.",
            node.start_mark.line + 1,
        )
    document = Document(data={}, lines={(): node.start_mark.line + 1})
    document.data = _mapping(node, (), document)
    return document


def _compose(text: str, source: str | None) -> Node | None:
    try:
        composer = _SpecComposer(text)
        return composer.get_single_node()
    except _NodeRefused as refused:
        _refuse(source, refused.message, refused.remedy, refused.line)
    except ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        _refuse(
            source,
            "The file holds a character that YAML does not allow.",
            "Remove the control character; save the file as UTF-8.",
            line,
        )
    except yaml.MarkedYAMLError as error:
        _refuse_syntax(text, error, source)
    except (ValueError, OverflowError):
        # PyYAML passes on what int() and chr() say of `%YAML 9…` and "\UFFFFFFFF".
        _refuse(
            source,
            "The YAML holds an escape or a number that is out of range.",
            "Write the character itself instead of its escape.",
        )


def _refuse_syntax(text: str, error: yaml.MarkedYAMLError, source: str | None) -> NoReturn:
    mark = error.problem_mark or error.context_mark
    line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
    rows = text.splitlines()
    row = rows[line - 1] if line <= len(rows) else ""
    if "\t" in row[: len(row) - len(row.lstrip())]:
        _refuse(
            source,
            f"A tab stands where YAML wants spaces, in column {row.index(chr(9)) + 1}.",
            "Indent with spaces; two per level.",
            line,
        )
    said = ", ".join(part for part in (error.context, error.problem) if part)
    _refuse(
        source,
        f"The YAML is not well formed at column {column}: {said}.",
        "Look at this line and the one above: a missing colon, quote, bracket or space.",
        line,
    )


def _refuse(source: str | None, message: str, remedy: str, line: int | None = None) -> NoReturn:
    # The parser's own traceback would only bury what is said here.
    raise SpecInvalid([Problem(WHOLE, "", message, remedy, line)], source=source) from None


def _value(node: Node, steps: Steps, document: Document) -> Any:
    document.lines.setdefault(steps, node.start_mark.line + 1)
    if isinstance(node, MappingNode) and node.tag == _TAG + "map":
        return _mapping(node, steps, document)
    if isinstance(node, SequenceNode) and node.tag == _TAG + "seq":
        return [_value(item, (*steps, i), document) for i, item in enumerate(node.value)]
    if isinstance(node, ScalarNode):
        return _scalar(node, steps, document)
    return _refuse_tag(node, steps, document)


def _mapping(node: MappingNode, steps: Steps, document: Document) -> dict[str, Any]:
    data: dict[str, Any] = {}
    for key_node, value_node in node.value:
        line = key_node.start_mark.line + 1
        if not isinstance(key_node, ScalarNode):
            remedy = "Write a plain word before the colon."
            document.findings.append(Finding(steps, f"Line {line} has no text as its key.", remedy))
            continue
        key = key_node.value
        inner = (*steps, key)
        if key in data:
            message = f"`{key}` is given twice, in lines {document.lines[inner]} and {line}."
            document.findings.append(Finding(inner, message, "Keep one of them, delete the other."))
            continue
        document.lines[inner] = line
        data[key] = _value(value_node, inner, document)
    return data


def _scalar(node: ScalarNode, steps: Steps, document: Document) -> Any:
    if node.tag in _TEXT_TAGS:
        return node.value
    constructor = SafeConstructor()
    try:
        if node.tag == _TAG + "null":
            return None
        if node.tag == _TAG + "bool":
            return constructor.bool_values[node.value.lower()]
        if node.tag == _TAG + "int":
            return constructor.construct_yaml_int(node)
        if node.tag == _TAG + "float":
            return constructor.construct_yaml_float(node)
    except (ValueError, KeyError, IndexError):
        pass  # an explicit `!!int abc`, or a number of thousands of digits: said below
    return _refuse_tag(node, steps, document)


def _refuse_tag(node: Node, steps: Steps, document: Document) -> None:
    tag = node.tag.replace(_TAG, "!!")
    document.findings.append(
        Finding(
            steps,
            f"The value cannot be read as `{tag}`.",
            "Remove the `!` tag and write plain text, a number, a list or a mapping.",
        )
    )
