"""Hydra composes in two thirds of the time without what it makes and throws away unread."""

from collections.abc import Sequence
from typing import Any

from hydra._internal import defaults_list

from runner.console.private_parts import HYDRA, may_use_private_parts

_interpolation_map = defaults_list._create_interpolation_map


def make_no_unused_maps() -> None:
    """For each file that it loads Hydra makes a configuration of all options that are chosen so far, for interpolations
    such as `llm: ${language}` in the file's own list of defaults. Here it makes one where there are any.
    """
    if may_use_private_parts(HYDRA):
        defaults_list._create_interpolation_map = _map_where_needed


def _map_where_needed(overrides: Any, defaults: Sequence[Any], self_added: bool) -> Any:
    if any(not default.is_self() and default.is_interpolation() for default in defaults):
        return _interpolation_map(overrides, defaults, self_added)
    return None
