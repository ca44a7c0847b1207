"""A check that no store gives another result than a fresh one.

Every configuration runs with a store that has seen all others, and with an empty one. Components that load models or
ask servers are left out. The variations are every field of every other component, alone and together, the data and its
files, the environment, and a user's package that changes during use.
"""

from benchmarks.cache_soundness import data, environments, plugins, tiny
from benchmarks.cache_soundness.bases import bases
from benchmarks.cache_soundness.comparing import Tally, Twin
from benchmarks.cache_soundness.fields import Space, Variant, compare_variants
from benchmarks.cache_soundness.plugin_code import PLACES
from benchmarks.measure import Bound, Measure
from benchmarks.settings import Settings

_SEED = 0
_N_VALUES = {True: 2, False: 1}
_N_DRAWN = {True: 300, False: 20}
_N_SHOWN = 5


def measure(settings: Settings) -> list[Measure]:
    """Return the number of differences by dimension. It must be 0."""
    folder, is_full = settings.scratch, settings.scale.n_rounds > 1
    tiny.write(folder / "data", tiny.documents(), tiny.questions())
    cells, without = bases(folder / "data")
    space, twin, n_drawn = Space.of(cells), Twin(folder / "stores"), _N_DRAWN[is_full]
    options = compare_variants((Variant(name, cell) for name, cell in cells.items()), twin)
    singles = compare_variants(space.singles(_N_VALUES[is_full]), twin)
    kinds = list(plugins.KINDS) if is_full else list(plugins.KINDS)[:1]
    n_environments = len(environments.ENVIRONMENTS) if is_full else 2
    return [
        _measure("options", options, f"{len(cells)} options of groups; {len(without)} need models, servers or data"),
        _measure("single fields", singles, f"{len(space.fields)} fields, {len(space.list_unvaried())} with one value"),
        _measure(
            "pairs of fields", compare_variants(space.draw_variants(2, n_drawn, _SEED), twin), f"drawn, seed {_SEED}"
        ),
        _measure(
            "triples of fields", compare_variants(space.draw_variants(3, n_drawn, _SEED), twin), f"drawn, seed {_SEED}"
        ),
        _measure("data", data.compare_edits(folder / "edits", twin, data.EDITS), "edits at one place, and moved"),
        _measure("file formats", data.formats(folder / "formats", twin), "txt, md, html, json, csv, sqlite"),
        _measure(
            "environments",
            environments.compare_environments(folder / "environments", n_environments),
            "a process for each",
        ),
        _measure(
            "users' packages",
            plugins.compare_places(folder / "plugins", list(PLACES), plugins.MOMENTS, kinds),
            f"{len(PLACES)} places, {len(plugins.MOMENTS)} moments, then run again and undone",
        ),
    ]


def _measure(what: str, tally: Tally, of: str) -> Measure:
    """Return the number of differing configurations. The detail ends with the first few of them."""
    shown = "".join(f"; {difference}" for difference in tally.differences[:_N_SHOWN])
    detail = f"{tally.n_tried:,} tried, {tally.n_refused:,} of them refused alike; {of}{shown}"
    return Measure(f"{what}: results that differ", len(tally.differences), "", detail, Bound(0))
