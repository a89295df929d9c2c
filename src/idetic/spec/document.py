"""YAML text to plain data, with the line of every key and nothing silently lost.

PyYAML's own constructor keeps the last of two equal keys, follows aliases into bombs and
turns `2024-13-45` into an exception. So the data are built from its nodes here, and each surprise
becomes a finding with a line.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

import yaml
from yaml.events import AliasEvent
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from yaml.reader import ReaderError

from idetic.spec.plain import MAX_BYTES, MAX_DEPTH
from idetic.spec.problems import WHOLE, Finding, SpecInvalid, SpecProblem, Steps

_TAG = "tag:yaml.org,2002:"
# A plain `2024-01-01`, `<<` or `=` is text here; a spec has no key that holds a date.
_TEXT_TAGS = {_TAG + name for name in ("str", "timestamp", "merge", "value")}
_PLAIN_TAGS = {_TAG + name for name in ("null", "bool", "int", "float")}


@dataclass(slots=True)
class YamlDocument:
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
    """A node that a spec does not need; its arguments are the message, the remedy and the line."""


class _SpecLoader(yaml.SafeLoader):
    """A loader that refuses aliases and deep nesting before they can cost anything."""

    _depth = 0

    def compose_node(self, parent: Node | None, index: int) -> Node | None:
        """Compose one node, or say why a spec does not need it."""
        line = self.peek_event().start_mark.line + 1  # type: ignore[no-untyped-call]
        if self.check_event(AliasEvent):
            message = "A YAML alias (`*name`) is used."
            remedy = "Write the value out: a spec says each answer where it is asked."
            raise _NodeRefused(message, remedy, line)
        if self._depth >= MAX_DEPTH:
            message = f"The YAML is nested more than {MAX_DEPTH} levels deep."
            remedy = "Remove the extra brackets or indentation; no key of a spec is that deep."
            raise _NodeRefused(message, remedy, line)
        self._depth += 1
        node: Node | None = super().compose_node(parent, index)
        self._depth -= 1
        return node


def read(text: str, source: str | None = None) -> YamlDocument:
    """The document a YAML text holds. What is not a YAML mapping at all raises `SpecInvalid`."""
    most = f"{MAX_BYTES // 1024} KB"
    if len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        remedy = f"Keep a spec under {most}; it holds answers, not content."
        _refuse(source, f"The file is larger than {most}.", remedy)
    loader, node = _compose(text, source)
    if node is None:
        _refuse(source, "The file is empty.", "Start from `idetic spec new`, or a shipped spec.", 1)
    line = node.start_mark.line + 1
    if not isinstance(node, MappingNode) or node.tag != _TAG + "map":
        message = "The file is not a mapping of keys to answers."
        _refuse(source, message, "Begin with `agent: my_agent` on a line of its own.", line)
    reader = _NodeReader(loader, lines={(): line})
    data = reader.mapping(node, ())
    return YamlDocument(data, reader.lines, reader.findings)


def _compose(text: str, source: str | None) -> tuple[_SpecLoader, Node | None]:
    """The YAML as a tree of nodes, with its loader; the parser's errors become problems."""
    try:
        loader = _SpecLoader(text)
        return loader, loader.get_single_node()
    except _NodeRefused as refused:
        _refuse(source, *refused.args)
    except ReaderError as error:
        message = "The file holds a character that YAML does not allow."
        remedy = "Remove the control character; save the file as UTF-8."
        _refuse(source, message, remedy, text.count("\n", 0, error.position) + 1)
    except yaml.MarkedYAMLError as error:
        _refuse(source, *_syntax_fault(text, error))
    except (ValueError, OverflowError):
        # PyYAML passes on what int() and chr() say of `%YAML 9…` and "\UFFFFFFFF".
        message = "The YAML holds an escape or a number that is out of range."
        _refuse(source, message, "Write the character itself instead of its escape.")


def _syntax_fault(text: str, error: yaml.MarkedYAMLError) -> tuple[str, str, int]:
    """Message, remedy and line of a syntax error; a tab in the indentation is named."""
    mark = error.problem_mark or error.context_mark
    line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
    rows = text.splitlines()
    row = rows[line - 1] if line <= len(rows) else ""
    if "\t" in row[: len(row) - len(row.lstrip())]:
        message = f"A tab stands where YAML wants spaces, in column {row.index(chr(9)) + 1}."
        return message, "Indent with spaces; two per level.", line
    said = ", ".join(part for part in (error.context, error.problem) if part)
    remedy = "Look at this line and the one above: a missing colon, quote, bracket or space."
    return f"The YAML is not well formed at column {column}: {said}.", remedy, line


def _refuse(source: str | None, message: str, remedy: str, line: int | None = None) -> NoReturn:
    """Raise the one problem that keeps the whole text from being read."""
    # The parser's own traceback would only bury what is said here.
    raise SpecInvalid([SpecProblem(WHOLE, "", message, remedy, line)], source=source) from None


@dataclass(slots=True)
class _NodeReader:
    """Builds data from nodes, noting the line of each path and what cannot be read."""

    loader: _SpecLoader
    lines: dict[Steps, int]
    findings: list[Finding] = field(default_factory=list)

    def mapping(self, node: MappingNode, steps: Steps) -> dict[str, Any]:
        """A mapping as data; a key that is no text, or stands twice, is noted and left out."""
        data: dict[str, Any] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, ScalarNode):
                remedy = "Write a plain word before the colon."
                self._note(steps, f"Line {line} has no text as its key.", remedy)
                continue
            key = key_node.value
            inner = (*steps, key)
            if key in data:
                message = f"`{key}` is given twice, in lines {self.lines[inner]} and {line}."
                self._note(inner, message, "Keep one of them, delete the other.")
                continue
            self.lines[inner] = line
            data[key] = self._value(value_node, inner)
        return data

    def _value(self, node: Node, steps: Steps) -> Any:
        """A node as data, or None with a finding where it cannot be read."""
        self.lines.setdefault(steps, node.start_mark.line + 1)
        if isinstance(node, MappingNode) and node.tag == _TAG + "map":
            return self.mapping(node, steps)
        if isinstance(node, SequenceNode) and node.tag == _TAG + "seq":
            return [self._value(item, (*steps, i)) for i, item in enumerate(node.value)]
        if isinstance(node, ScalarNode) and node.tag in _TEXT_TAGS:
            return node.value
        if isinstance(node, ScalarNode) and node.tag in _PLAIN_TAGS:
            try:
                return self.loader.construct_object(node)
            except (ValueError, KeyError, IndexError):
                pass  # an explicit `!!int abc`, or a number of thousands of digits: said below
        tag = node.tag.replace(_TAG, "!!")
        remedy = "Remove the `!` tag and write plain text, a number, a list or a mapping."
        return self._note(steps, f"The value cannot be read as `{tag}`.", remedy)

    def _note(self, steps: Steps, message: str, remedy: str) -> None:
        """Keep a finding and go on: one fault must not hide another."""
        self.findings.append(Finding(steps, message, remedy))
