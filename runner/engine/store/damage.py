"""Messages about damaged results."""


def shown_damage(n_results: int, n_damaged: int, is_removed: bool) -> str:
    """Return the last line of `verify`: the number of results, the number of damaged ones, and what happens to them."""
    counted = f"{n_results} results compared with their checksums, {n_damaged} damaged"
    if not n_damaged:
        return counted
    if is_removed:
        return f"{counted} (removed; they are computed again when needed)"
    return f"{counted}; verify --delete removes them, and they are computed again when needed"
