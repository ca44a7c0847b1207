"""Checks of numbers and names in the fields of components."""

from collections.abc import Collection, Iterable
from difflib import get_close_matches

_MAX_LISTED = 12


def too_small(component: object, **least: float) -> list[str]:
    """Return one message per named field below the given least value. None is accepted."""
    values = {name: getattr(component, name) for name in least}
    return [
        f"{name}: got {value}, expected at least {least[name]}"
        for name, value in values.items()
        if value is not None and not value >= least[name]
    ]


def unknown_names(use: Iterable[str], known: Collection[str]) -> list[str]:
    """Return one error for each distinct name in the field `use` that is not known."""
    return [f"use: got {name!r}{expected_one_of(name, known)}" for name in dict.fromkeys(use) if name not in known]


def expected_one_of(name: str, known: Collection[str], note: str = "") -> str:
    """Return the second half of each error about an unknown name, with the mark before it.

    It is ", expected one of bm25, dense", then the note, then "; did you mean bm25?" if `name` is like a known name.
    If there are many names and one is almost the same, only that one is named.
    """
    if not known:
        return ", but there are none"
    close = closest_name(name, known)
    hint = f"; did you mean {close}?" if close else ""
    is_enough = len(known) > _MAX_LISTED and closest_name(name, known, cutoff=0.8)
    return hint if is_enough else f", expected one of {', '.join(known)}{note}{hint}"


def closest_name(name: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """Return the known name that is most like `name`; "" if none has a similarity of `cutoff`, a number in [0, 1]."""
    return next(iter(get_close_matches(name, list(known), n=1, cutoff=cutoff)), "")
