"""How a namespace and a key are written down: exactly, so that no two names are ever one."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from urllib.parse import unquote

from idetic.errors import InputError
from idetic.verbs.arguments import SHORT

Namespace = tuple[str, ...]


def path_of(namespace: Sequence[str]) -> str:
    """The namespace as a path of the envelope, whose matching knows whole segments only."""
    path = "/".join(map(_segment, namespace))
    if not path or len(path) > SHORT:
        raise InputError(
            f"The namespace is {len(path)} characters long as a path; 1 to {SHORT} can be kept.",
            remedy="Use fewer or shorter labels; nothing was written.",
        )
    return path


def _segment(label: str) -> str:
    if not label.strip():
        # The envelope takes no blank segment; a label of blanks is one all the same.
        return "".join(f"%{byte:02X}" for byte in label.encode())
    return label.replace("%", "%25").replace("/", "%2F")


def namespace_of(path: str) -> Namespace:
    """The namespace that a path was made of."""
    return tuple(map(unquote, path.split("/")))


def subject_of(namespace: Sequence[str], key: str) -> str:
    """What a document's claim is about: its name, as a hash.

    Claims are compared without regard to case, width and spacing, and names of documents are not.
    """
    name = json.dumps([*namespace, key]).encode()
    return f"document {hashlib.sha256(name).hexdigest()}"
