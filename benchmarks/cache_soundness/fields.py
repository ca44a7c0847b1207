"""Every field of every model-free component: alone, and in pairs and triples that are drawn."""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.cache_soundness.changes import Change, Path, Pools, changes_at, fields_in, is_sound, pools_of
from benchmarks.cache_soundness.comparing import Tally, Twin
from runner.pipeline.cell import Cell

_N_PLACES = 3
"""Cells that are asked for another value of a field before none is found."""


@dataclass(frozen=True)
class Variant:
    """A cell with some fields changed."""

    name: str
    cell: Cell


@dataclass(frozen=True)
class Space:
    """All fields of some cells, and all components that may stand in another's place."""

    cells: Mapping[str, Cell]
    fields: Mapping[str, Sequence[tuple[str, Path]]]
    pools: Pools

    @classmethod
    def of(cls, cells: Mapping[str, Cell]) -> "Space":
        """Of cells by option."""
        return cls(cells, fields_in(cells), pools_of(cells.values()))

    def singles(self, n_values: int) -> Iterator[Variant]:
        """Every field with up to so many other values, each in the first cell that allows it."""
        for name in self.fields:
            option, found = self._changes(name, n_values)
            for change in found:
                yield Variant(f"{option}, {change.field}: {change}", change.apply(self.cells[option]))

    def unvaried(self) -> list[str]:
        """Fields for which no other value is accepted."""
        return [name for name in self.fields if not self._changes(name, 1)[1]]

    def _changes(self, name: str, n_values: int) -> tuple[str, list[Change]]:
        for option, path in self.fields[name][:_N_PLACES]:
            if found := changes_at(self.cells[option], path, self.pools, n_values):
                return option, found[: 2 * n_values]
        return "", []

    def drawn(self, n_together: int, n: int, seed: int) -> Iterator[Variant]:
        """Cells in which so many fields are changed together, drawn at random. Those that are not sound are passed
        over.
        """
        draw = random.Random(seed)
        names = sorted(self.fields)
        while n:
            option, _ = draw.choice(self.fields[draw.choice(names)])
            cell, told = self.cells[option], []
            own = [(name, path) for name, places in self.fields.items() for other, path in places if other == option]
            for _, path in draw.sample(own, n_together):
                try:
                    found = changes_at(cell, path, self.pools)
                except (AttributeError, KeyError, IndexError):  # the change before took its place
                    found = []
                if found:
                    change = draw.choice(found)
                    cell = change.apply(cell)
                    told.append(f"{change.field}: {change}")
            if len(told) == n_together and is_sound(cell):
                n -= 1
                yield Variant(f"{option}, {'; '.join(told)}", cell)


def compared(variants: Iterator[Variant], twin: Twin) -> Tally:
    """Runs all of them on both stores."""
    tally = Tally()
    for variant in variants:
        twin.compare(variant.name, variant.cell, tally)
    return tally
