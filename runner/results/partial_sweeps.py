"""Marks of sweeps that tried only some cells of a space (`search`), and what their cells cannot show."""

from collections.abc import Iterable, Mapping

from components.json_value import Json

_RANDOM = "random"

OPTIMISTIC = "the mean of the best cell is optimistic, because it is the best of all that were tried"

NO_EFFECTS = (
    "The search tried more cells where scores were good, so each value of an axis met different values of the other "
    "axes, and their means are not comparable. Run a grid, or search=random"
)
"""Why a search by scores has no effects of axes."""

NO_BEST = (
    "The cells were chosen by their scores on these samples, so p-values against the best of them would be too small. "
    "A baseline that was chosen beforehand can be compared: python -m analysis compare SWEEP --baseline CELL"
)
"""Why the cells of a search by scores are not compared with the best of them."""


def search_text(search: Mapping[str, Json]) -> str:
    """Return the mark of a searched sweep: "searched: 60 of 4,320 cells, strategy tpe, seed 0"."""
    n_tried = search.get("n_tried", search["n_cells"])
    return f"searched: {n_tried:,} of {search['n_space']:,} cells, strategy {search['strategy']}, seed {search['seed']}"


def chose_by_scores(search: Mapping[str, Json]) -> bool:
    """Return True if scores decided which cells were tried. False for random draws, and if every cell was tried."""
    return bool(search and search["strategy"] != _RANDOM and not search["is_whole"])


def n_candidates(n_cells: int, searches: Iterable[Mapping[str, Json]]) -> int:
    """Return the number of cells that searches by scores could have tried, and the other ones of `n_cells`."""
    return n_cells + sum(int(search["n_space"] - search["n_tried"]) for search in searches if chose_by_scores(search))
