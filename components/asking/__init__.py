"""Asking a language model for what must then be read: what it is shown, how its reply is read, and asking again."""
