"""Checks the values of an axis before Hydra expands them. Some fail an assertion in Hydra, others take it hours."""

from decimal import Decimal
from math import ceil

from hydra.core.override_parser.types import Override, RangeSweep, ValueType

from components.errors import ConfigError
from runner.launch.grid_sweeper import require_fewer_cells


def check_axis(override: Override, max_cells: int) -> None:
    """Raise ConfigError for an axis without values, with more than `max_cells` values, or with an interval."""
    if override.value_type is ValueType.INTERVAL_SWEEP:
        raise ConfigError(
            [
                f"{override.input_line}: got an interval, expected single values; list them, as in "
                f"{override.get_key_element()}=64,128, or as range(64,129,step=64)"
            ]
        )
    if override.value_type is ValueType.GLOB_CHOICE_SWEEP and not list(override.sweep_string_iterator()):
        raise ConfigError(
            [f"{override.input_line}: matches no option; only groups have options to choose from, such as retriever"]
        )
    if override.value_type is ValueType.RANGE_SWEEP:
        n_values = _n_values(override)
        if not n_values:
            raise ConfigError([f"{override.input_line}: is an empty range; expected one such as range(2,9,step=2)"])
        require_fewer_cells(n_values, max_cells)


def _n_values(override: Override) -> int:
    """Return the number of values, 0 for a range that never begins or never ends."""
    found = override.value()
    assert isinstance(found, RangeSweep)
    start, stop, step = Decimal(found.start or 0), Decimal(found.stop or 0), Decimal(found.step)
    length = stop - start
    return max(0, ceil(length / step)) if length.is_finite() and step else 0
