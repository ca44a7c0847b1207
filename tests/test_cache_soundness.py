"""A short form of the fuzzer `benchmarks.cache_soundness`, and proof that it finds planted errors."""

import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from benchmarks.cache_soundness import data, plugins, tiny
from benchmarks.cache_soundness.bases import base_cell
from benchmarks.cache_soundness.changes import is_model_free
from benchmarks.cache_soundness.comparing import Tally, Twin
from benchmarks.cache_soundness.fields import Space, Variant, compare_variants
from benchmarks.cache_soundness.processes import Found, format_order
from runner.engine import identity
from tests.forked import run_forked
from tests.runner.sweeping import environment

OPTIONS = (
    (
        "retriever=hybrid_rerank",
        "chunk=structure",
        "header=section",
        "embedder=lsa",
        "llm=extractive",
        "metrics=default",
    ),
    ("retriever=arms", "chunk=parents", "diversity=near_duplicates", "generator=split_fuse", "refiner=headings"),
    ("retriever=given", "expander=all_turns", "history=own", "filter=metadata", "context.window=1"),
)
SEED = 3


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("soundness")
    tiny.write(folder / "data", tiny.documents(), tiny.questions())
    return folder


@pytest.fixture(scope="module")
def space(folder: Path) -> Space:
    """The fields of cells with many components."""
    return Space.of({options[0]: base_cell(folder / "data", *options) for options in OPTIONS})


def test_cells_that_load_a_model_or_ask_a_server_are_excluded(folder: Path) -> None:
    assert is_model_free(base_cell(folder / "data", "retriever=bm25"))
    assert not is_model_free(base_cell(folder / "data", "llm=openai", "llm.model=m", "llm.api_key_env=''"))
    assert not is_model_free(
        base_cell(folder / "data", "pipeline=http", "pipeline.url=http://h/", "pipeline.revision=1")
    )


@pytest.fixture
def twin(tmp_path: Path) -> Twin:
    return Twin(tmp_path / "stores")


def forked(steps: Sequence[Mapping[str, Any]], packages: Path | None, variables: Mapping[str, str]) -> list[Found]:
    """Do the same as `in_new_process` without the seconds for imports."""
    module = "benchmarks.cache_soundness.child"
    done = run_forked(module, [format_order(steps, packages)], Path.cwd(), {**environment(), **variables}, 120)
    assert done.returncode == 0, done.stderr
    found: list[Found] = json.loads(done.stdout)
    return found


def test_cached_result_equals_a_computed_one_after_any_field_change(space: Space, twin: Twin) -> None:
    variants = list(space.singles(1))
    assert len(variants) > 100
    tally = compare_variants(iter(random.Random(SEED).sample(variants, 8)), twin)
    assert (tally.n_tried, tally.differences) == (8, [])
    assert tally.n_refused < 4


@pytest.mark.parametrize("n_together", [2, 3])
def test_cached_result_equals_a_computed_one_after_several_changes(n_together: int, space: Space, twin: Twin) -> None:
    tally = compare_variants(space.draw_variants(n_together, 3, SEED), twin)
    assert (tally.n_tried, tally.differences) == (3, [])


def test_edited_data_gives_the_same_results_cached_and_computed(folder: Path, twin: Twin) -> None:
    names = ["as it was", *random.Random(SEED).sample(list(data.EDITS)[1:], 10)]
    tally = data.compare_edits(folder, twin, names)
    assert (tally.n_tried, tally.differences) == (13, [])
    assert tally.n_refused <= 2


def test_edits_of_a_user_package_give_equal_results(tmp_path: Path) -> None:
    tally = plugins.compare_places(tmp_path, ["a parent class"], plugins.MOMENTS[1:], ["model"], forked)
    assert (tally.n_tried, tally.differences) == (9, [])


def test_cached_results_equal_fresh_ones_after_edits_of_a_package_data_file(tmp_path: Path) -> None:
    place = "a data file beside a single module"
    tally = plugins.compare_places(tmp_path, [place], plugins.MOMENTS[:2], ["model"], forked)
    assert (tally.n_tried, tally.differences) == (6, [])


def test_field_missing_from_the_key_is_detected(space: Space, twin: Twin, monkeypatch: pytest.MonkeyPatch) -> None:
    before = identity._meaningful_fields
    monkeypatch.setattr(
        identity, "_meaningful_fields", lambda part: (name for name in before(part) if name != "window")
    )
    tally = Tally()
    cell = space.cells[OPTIONS[0][0]]
    for variant in [
        Variant("as it is", cell),
        *(each for each in space.singles(1) if "PackedContext.window" in each.name),
    ]:
        twin.compare(variant.name, variant.cell, tally)
    (difference,) = tally.differences
    assert "PackedContext.window" in difference
