"""Texts about a store that its commands print: sizes, and the number of damaged results."""

from runner.console.styled_text import count


def format_size(n_bytes: float) -> str:
    """Return a size such as "3.5 MiB", in the largest unit up to GiB that does not exceed it."""
    for unit in ("B", "KiB", "MiB"):
        if n_bytes < 1024:
            return f"{n_bytes:.0f} {unit}" if unit == "B" else f"{n_bytes:.1f} {unit}"
        n_bytes /= 1024
    return f"{n_bytes:.1f} GiB"


def format_damage_summary(n_results: int, n_damaged: int, is_removed: bool) -> str:
    """Return the last line of `verify`: the number of results, the number of damaged ones, and whether they were
    removed.
    """
    counted = f"compared {count(n_results, 'result')} and all replies with their checksums: {n_damaged:,} damaged"
    if not n_damaged:
        return counted
    if is_removed:
        return f"{counted} (removed; they are computed again when needed)"
    return f"{counted}; python -m runner.store verify --delete removes them, and they are computed again when needed"
