"""Kinds of questions, and how drafts are written from evidence."""
