"""Texts of samples and documents as a page may show them."""

from runner.console.display import printable

_LONGEST = 10_000
"""Characters: pages of longer texts are slow to open."""


def shown(text: str) -> str:
    """A text without characters that a page or a database would obey; a long one is cut, which it says."""
    if len(text) <= _LONGEST:
        return printable(text)
    return f"{printable(text[:_LONGEST])}\n[cut: {_LONGEST:,} of {len(text):,} characters; all are in samples.parquet]"
