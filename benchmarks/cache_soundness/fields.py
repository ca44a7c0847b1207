"""Every field of every model-free component: alone, and in random pairs and triples."""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.cache_soundness.changes import Change, Path, Pools, changes_at, component_pools, fields_in, is_sound
from benchmarks.cache_soundness.comparing import Tally, Twin
from runner.pipeline.cell import Cell

_N_PLACES = 3
"""Number of cells to search for another value of a field."""


@dataclass(frozen=True)
class Variant:
    """A cell with some fields changed."""

    name: str
    cell: Cell


@dataclass(frozen=True)
class Space:
    """All fields of some cells, and all components that may replace each other."""

    cells: Mapping[str, Cell]
    fields: Mapping[str, Sequence[tuple[str, Path]]]
    pools: Pools

    @classmethod
    def of(cls, cells: Mapping[str, Cell]) -> "Space":
        """Return the space of cells by option."""
        return cls(cells, fields_in(cells), component_pools(cells.values()))

    def singles(self, n_values: int) -> Iterator[Variant]:
        """Yield every field with up to `n_values` other values, each in the first cell that allows it."""
        for name in self.fields:
            option, found = self._changes(name, n_values)
            for change in found:
                yield Variant(f"{option}, {change.field}: {change}", change.apply(self.cells[option]))

    def list_unvaried(self) -> list[str]:
        """Return the fields for which no other value is accepted."""
        return [name for name in self.fields if not self._changes(name, 1)[1]]

    def _changes(self, name: str, n_values: int) -> tuple[str, list[Change]]:
        for option, path in self.fields[name][:_N_PLACES]:
            if found := changes_at(self.cells[option], path, self.pools, n_values):
                return option, found[: 2 * n_values]
        return "", []

    def draw_variants(self, n_together: int, n: int, seed: int) -> Iterator[Variant]:
        """Yield cells in which `n_together` random fields are changed together. Unsound cells are skipped."""
        draw = random.Random(seed)
        names = sorted(self.fields)
        while n:
            option, _ = draw.choice(self.fields[draw.choice(names)])
            cell, changed = self.cells[option], []
            own = [(name, path) for name, places in self.fields.items() for other, path in places if other == option]
            for _, path in draw.sample(own, n_together):
                try:
                    found = changes_at(cell, path, self.pools)
                except (AttributeError, KeyError, IndexError):  # the previous change replaced its place
                    found = []
                if found:
                    change = draw.choice(found)
                    cell = change.apply(cell)
                    changed.append(f"{change.field}: {change}")
            if len(changed) == n_together and is_sound(cell):
                n -= 1
                yield Variant(f"{option}, {'; '.join(changed)}", cell)


def compare_variants(variants: Iterator[Variant], twin: Twin) -> Tally:
    """Run all variants on both stores."""
    tally = Tally()
    for variant in variants:
        twin.compare(variant.name, variant.cell, tally)
    return tally
