"""Sizes as people read them."""


def shown_size(n_bytes: float) -> str:
    """In the largest unit of which it has one, up to GiB."""
    for unit in ("B", "KiB", "MiB"):
        if n_bytes < 1024:
            return f"{n_bytes:.0f} {unit}" if unit == "B" else f"{n_bytes:.1f} {unit}"
        n_bytes /= 1024
    return f"{n_bytes:.1f} GiB"
