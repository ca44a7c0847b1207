"""Human-readable sizes."""


def shown_size(n_bytes: float) -> str:
    """Return the size in the largest unit, up to GiB, in which it is at least 1."""
    for unit in ("B", "KiB", "MiB"):
        if n_bytes < 1024:
            return f"{n_bytes:.0f} {unit}" if unit == "B" else f"{n_bytes:.1f} {unit}"
        n_bytes /= 1024
    return f"{n_bytes:.1f} GiB"
