"""Checks of numbers and names in the fields of components."""

from collections.abc import Collection, Iterable
from difflib import get_close_matches


def too_small(component: object, **least: float) -> list[str]:
    """Return one message per named field below the given least value. None as a value passes."""
    values = {name: getattr(component, name) for name in least}
    return [
        f"{name}: got {value}, expected at least {least[name]}"
        for name, value in values.items()
        if value is not None and not value >= least[name]
    ]


def unknown_names(use: Iterable[str], known: Collection[str]) -> list[str]:
    """Return one error for each distinct name in the field `use` that is not known."""
    problems = []
    for name in dict.fromkeys(use):
        if name not in known:
            hint = did_you_mean(name, known)
            problems.append(f"use: got {name!r}, expected one or more of {', '.join(known)}{hint and f'; {hint}'}")
    return problems


def did_you_mean(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """Return a hint with the known name that is most like `name`, or `otherwise` if none is."""
    close = closest_name(name, known)
    return f"did you mean {close}?" if close else otherwise


def closest_name(name: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """Return the known name that is most like `name`; "" if none has a similarity of `cutoff`, a number in [0, 1]."""
    return next(iter(get_close_matches(name, list(known), n=1, cutoff=cutoff)), "")
