"""What several checks share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from idetic.spec.plain import View
from idetic.spec.problems import Finding


def repeated(views: Iterable[View], what: str) -> Iterator[Finding]:
    """A finding for each view whose text an earlier one already had."""
    seen: set[str] = set()
    for view in views:
        if view.text is None:
            continue
        if view.text in seen:
            yield view.finding(
                f"The {what} `{view.text}` is named twice.",
                f"Keep one `{view.text}`, and rename or delete the other.",
            )
        seen.add(view.text)


def unanswered(view: View, wanted: Iterable[str], what: str, remedy: str) -> Iterator[Finding]:
    """A finding for each key that a mapping has to answer and does not; `{key}` in the remedy.

    A mapping that is not there at all is left to the shape: it is reported there, once.
    """
    if not isinstance(view.data, dict):
        return
    for key in wanted:
        if key not in view.data:
            yield view[key].finding(
                f"No answer is given for the {what} `{key}`.", remedy.format(key=key)
            )
