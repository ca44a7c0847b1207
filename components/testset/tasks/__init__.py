"""Kinds of questions: how a draft of each is written from its evidence."""
