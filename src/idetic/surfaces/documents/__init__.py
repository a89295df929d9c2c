"""Documents: values under a namespace and a key, as frameworks keep them, on governed memory."""

from idetic.surfaces.documents.conversation import Conversation
from idetic.surfaces.documents.document import Document, Put
from idetic.surfaces.documents.shelf import Shelf

__all__ = ["Conversation", "Document", "Put", "Shelf"]
