"""Whose answers stand as the earlier turns of a conversation."""
