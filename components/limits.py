"""What components check of the numbers in their fields."""


def too_small(component: object, **least: float) -> list[str]:
    """A mistake for each of the named fields that is below the least number that it may be; None is no number."""
    values = {name: getattr(component, name) for name in least}
    return [
        f"{name}: got {value}, wanted at least {least[name]}"
        for name, value in values.items()
        if value is not None and not value >= least[name]
    ]
