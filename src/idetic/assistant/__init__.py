"""Memory of a conversation: messages in, what follows from them, and where each of it was said."""
