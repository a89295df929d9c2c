"""An identity's file as text, or why it cannot be read."""

from __future__ import annotations

from pathlib import Path

from idetic.persona.errors import IdentityError
from idetic.persona.identity_checks import invalid
from idetic.spec.plain import MAX_BYTES
from idetic.spec.problems import Finding


def text_of(path: Path) -> str:
    """The text of an identity file."""
    try:
        with path.open("rb") as file:
            # One byte more than allowed is enough to see that it is too much.
            raw = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise IdentityError(
            f"There is no file `{path}`.", remedy="Check the path of the identity file."
        ) from None
    except (OSError, ValueError):
        raise IdentityError(
            f"The file `{str(path)[:200]!r}` cannot be read.",
            remedy="Check that it is a file and that you may read it.",
        ) from None
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        problem = Finding((), f"Byte {error.start + 1} is not UTF-8.", "Save the file as UTF-8.")
        raise invalid([problem], str(path), None) from None
