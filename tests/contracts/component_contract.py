"""The contract of every component, whatever its role. The suites of the roles build on it."""

import dataclasses

from components.protocols import Component


class ComponentContract:
    """A component's test inherits the suite of its role and gives `component`."""

    component: Component

    def test_version_is_an_integer(self) -> None:
        assert isinstance(type(self.component).version, int)

    def test_component_is_a_frozen_hashable_dataclass(self) -> None:
        assert dataclasses.is_dataclass(self.component)
        assert type(self.component).__dataclass_params__.frozen  # type: ignore[attr-defined]
        assert hash(self.component) == hash(dataclasses.replace(self.component))

    def test_check_of_a_valid_component_is_empty(self) -> None:
        check = getattr(self.component, "check", list)
        assert check() == []
