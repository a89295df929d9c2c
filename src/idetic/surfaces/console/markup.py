"""The templates of pages: what is read comes from them, what is pressed from `elements`.

Every value in a template is escaped, so content of memory is text to the browser, whatever it says.
"""

from __future__ import annotations

from datetime import UTC
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from nicegui import ui

from idetic.surfaces.console import drawings, wording
from idetic.surfaces.console.addresses import at

_TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_TEMPLATES.filters |= {
    "age": wording.age,
    # An answer of a spec; one that is missing says so.
    "answer": lambda value: "not given" if value is None else wording.one_line(value),
    "begins": drawings.begins,
    "chance": wording.chance,
    "day": wording.day,
    "ends": drawings.ends,
    "meaning": wording.meaning,
    "minute": wording.minute,
    "number": "{:,}".format,
    "reason": wording.refusal_of,
    "removed": wording.removed_of,
    "shortened": wording.shortened,
    "signal": wording.signal_of,
    "standing": wording.standing_of,
    "support": wording.support_of,
    "tail": wording.tail,
    "titled": wording.titled,
    "utc": lambda moment: moment.astimezone(UTC),
    "words": wording.words,
}
_TEMPLATES.globals |= {
    "at": at,
    "entry_at": lambda entry_id: at(f"/entries/{entry_id}"),
    "options": wording.options,
    "state_kinds": wording.KIND_OF_STATE,
    "zip": zip,
}


def rendered(template: str, **values: Any) -> str:
    """Fill a template in: `rendered("entry.html", entry=entry)`."""
    return _TEMPLATES.get_template(template).render(values)


def show(template: str, **values: Any) -> None:
    """Show a filled template here."""
    _put(rendered(template, **values))


def part(name: str, *values: Any, **options: Any) -> None:
    """Show one of the parts that pages share: `part("empty", "Nothing is due.", "…")`."""
    _put(getattr(_TEMPLATES.get_template("parts.html").module, name)(*values, **options))


def _put(html: str) -> None:
    """Put escaped HTML into the page, its elements as if they stood there themselves."""
    ui.html(str(html), sanitize=False).classes("shown")
