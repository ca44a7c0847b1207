"""What is said of a comparison with checksums."""


def shown_damage(n_results: int, n_damaged: int, is_removed: bool) -> str:
    """The last line of `verify`: how many results there are, how many are damaged, and what becomes of these."""
    counted = f"{n_results} results compared with their checksums, {n_damaged} damaged"
    if not n_damaged:
        return counted
    if is_removed:
        return f"{counted} (removed; they are computed again when needed)"
    return f"{counted}; verify --delete removes them, and they are computed again when needed"
