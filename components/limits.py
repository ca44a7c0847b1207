"""What components check of the numbers and names in their fields."""

from collections.abc import Collection, Iterable


def too_small(component: object, **least: float) -> list[str]:
    """A mistake for each of the named fields that is below the least number that it may be; None is no number."""
    values = {name: getattr(component, name) for name in least}
    return [
        f"{name}: got {value}, expected at least {least[name]}"
        for name, value in values.items()
        if value is not None and not value >= least[name]
    ]


def unknown_names(use: Iterable[str], known: Collection[str]) -> list[str]:
    """A mistake for each name in the field `use` that is not known, once."""
    return [
        f"use: got {name!r}, expected some of {', '.join(known)}" for name in dict.fromkeys(use) if name not in known
    ]
