"""Speeds up Hydra's composition by a third: skips objects that Hydra creates and never reads."""

from collections.abc import Sequence
from typing import Any

from hydra._internal import defaults_list

from runner.console.private_parts import HYDRA, may_use_private_parts

_interpolation_map = defaults_list._create_interpolation_map


def skip_unused_maps() -> None:
    """Make Hydra create interpolation maps only where they are needed.

    For each file, Hydra creates a configuration of all options chosen so far, for interpolations such as `llm:
    ${language}` in the file's list of defaults. We create it only if the list has interpolations.
    """
    if may_use_private_parts(HYDRA):
        defaults_list._create_interpolation_map = _map_where_needed


def _map_where_needed(overrides: Any, defaults: Sequence[Any], self_added: bool) -> Any:
    if any(not default.is_self() and default.is_interpolation() for default in defaults):
        return _interpolation_map(overrides, defaults, self_added)
    return None
