"""Thoughts of reasoning models, which some servers leave in the text."""

_OPENED, _CLOSED = "<think>", "</think>"


def split_thoughts(text: str) -> tuple[str, str]:
    """Return (thoughts, the rest), both stripped: the text between <think> and </think>, and the text after the last of
    them.

    Either tag may be missing: chat templates may write the first, and a text that is cut off may lack the second.
    """
    before, _, after = text.rpartition(_CLOSED)
    rest, _, unfinished = after.partition(_OPENED)
    thoughts = f"{before.replace(_OPENED, '').replace(_CLOSED, '').strip()}\n{unfinished.strip()}"
    return thoughts.strip(), rest.strip()
