"""A new step needs its own files, a field of a subpackage with the line that connects it, and nothing else.

A copy of the project gets a filter of hits by their documents' dates, and runs it from the command line.
"""

import difflib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.runner.sweeping import QUIET, REPOSITORY

PACKAGES = ("components", "runner", "conf")

PROTOCOL_AND_STAGE = '''\
"""Leaving out hits that a filter does not want."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np

from components.records import Documents, Hits, Spans
from components.text.ranking import sort_hits
from runner.engine.codecs import Codec, Columns
from runner.engine.stage_run import Run
from runner.engine.stage import Stage


@runtime_checkable
class HitFilter(Protocol):
    """Says which documents may be found."""

    version: ClassVar[int]

    def keeps(self, metadata: Mapping[str, str]) -> bool:
        """True for a document with these facts that may be found."""


@dataclass(frozen=True)
class KeepAll:
    """No filter: the stage does not exist."""

    version: ClassVar[int] = 1

    def keeps(self, metadata: Mapping[str, str]) -> bool:
        """Always."""
        return True


class FilteredHits(Stage[Hits], kind="newer_hits", version=1):
    """The hits of the documents that are kept, in their order."""

    codec = Columns(Hits)

    hit_filter: HitFilter
    corpus: Stage[Documents]
    chunks: Stage[Spans]
    hits: Stage[Hits]

    def make(self, run: Run) -> Hits:
        """Filters them."""
        hits = run.read(self.hits)
        kept = np.array([self.hit_filter.keeps(facts) for facts in run.read(self.corpus).metadata])
        wanted = (hits.chunk >= 0) & kept[run.read(self.chunks).document][hits.chunk]
        chunk, score = np.where(wanted, hits.chunk, -1), np.where(wanted, hits.score, -np.inf)
        return sort_hits(chunk.astype(np.int32), score.astype(np.float32), hits.chunk.shape[1])


def newer_hits(
    hit_filter: HitFilter, corpus: Stage[Documents], chunks: Stage[Spans], hits: Stage[Hits]
) -> Stage[Hits]:
    """The hits after the filter; as they were for none."""
    return hits if isinstance(hit_filter, KeepAll) else FilteredHits(hit_filter, corpus, chunks, hits)
'''

COMPONENT = '''\
"""A filter of hits by date."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True)
class ByDate:
    """Keeps documents whose fact "date" is `after` that date (as ISO 8601 writes it) or that day."""

    after: str

    version: ClassVar[int] = 1

    def keeps(self, metadata: Mapping[str, str]) -> bool:
        """True for a document that is new enough."""
        return metadata.get("date", "") >= self.after
'''

NEW_FILES = {
    "components/hit_filters/__init__.py": '"""Filters of hits."""\n',
    "components/hit_filters/by_date.py": COMPONENT,
    "runner/pipeline/search/hit_filtering.py": PROTOCOL_AND_STAGE,
    "conf/hit_filter/by_date.yaml": '_target_: components.hit_filters.by_date.ByDate\nafter: "2024-01-01"\n',
}
GRAPH_MODULE = "runner/pipeline/search/cell_search.py"
EDITS = {
    "from runner.pipeline.search.picked_hits import PickedHits\n": (
        "from runner.pipeline.search.hit_filtering import HitFilter, KeepAll, newer_hits\n"
        "from runner.pipeline.search.picked_hits import PickedHits\n"
    ),
    "    diversity: Diversity\n": "    diversity: Diversity\n    hit_filter: HitFilter = KeepAll()\n",
    "    reports = (*search.reports, *diversity_reports(hits))\n": (
        "    reports = (*search.reports, *diversity_reports(hits))\n"
        "    hits = newer_hits(cell.hit_filter, texts.corpus, texts.chunks, hits)\n"
    ),
}
"""Edits of `GRAPH_MODULE`: an import, the field, and the lines that add the step."""

DOCUMENTS = [
    {"id": "new", "text": "The new bridge is long and red.", "metadata": {"date": "2024-06-01"}},
    {"id": "old", "text": "The old bridge was short and red.", "metadata": {"date": "1932-03-19"}},
]
SAMPLES = [{"id": "1", "question": "Which bridge is red?", "references": ["Both"], "gold": ["old"]}]


class Project:
    """A copy of the project with the new step."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "project"
        for package in PACKAGES:
            shutil.copytree(REPOSITORY / package, self.root / package, ignore=_all_but_code)
        for name, text in NEW_FILES.items():
            (self.root / name).parent.mkdir(exist_ok=True)
            (self.root / name).write_text(text, encoding="utf-8")
        module = self.root / GRAPH_MODULE
        text = module.read_text(encoding="utf-8")
        for before, after in EDITS.items():
            assert text.count(before) == 1, f"{GRAPH_MODULE} does not hold once: {before}"
            text = text.replace(before, after)
        module.write_text(text, encoding="utf-8")
        for name, records in (("documents", DOCUMENTS), ("samples", SAMPLES)):
            lines = "".join(f"{json.dumps(record)}\n" for record in records)
            (self.root / f"{name}.jsonl").write_text(lines, encoding="utf-8")

    def run(self, *overrides: str) -> "Cell":
        """Runs one cell from the command line: its results."""
        before = set(self.root.glob("results/*/*"))
        self.command(*overrides)
        (folder,) = {path.parent for path in self.root.glob("results/*/*/cell.json")} - before
        return Cell(folder)

    def command(self, *overrides: str) -> str:
        """`python -m runner` in this project; returns what it printed."""
        own = ("dataset=jsonl", "dataset.documents=documents.jsonl", "dataset.samples=samples.jsonl")
        small = ("retriever=bm25", "tokenizer=english", "prompt=english", "metrics=retrieval", *QUIET)
        done = subprocess.run(
            [sys.executable, "-m", "runner", *own, *small, "metrics.interval.n_resamples=100", *overrides],
            cwd=self.root,
            env={**os.environ, "PYTHONPATH": str(self.root), "COLUMNS": "400"},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


class Cell:
    """The results of one cell, as written in its folder."""

    def __init__(self, folder: Path) -> None:
        self.record: dict[str, Any] = json.loads((folder / "cell.json").read_text(encoding="utf-8"))
        self.samples: list[dict[str, Any]] = pq.read_table(folder / "samples.parquet").to_pylist()

    @property
    def found(self) -> list[str]:
        """Return the ids of the documents that were retrieved for the only sample."""
        return sorted(hit["document_id"] for hit in self.samples[0]["retrieved"])


def _all_but_code(folder: str, names: list[str]) -> list[str]:
    """Return the names that a copy leaves out. Compiled files stay, because they are valid for a copy too."""
    return [name for name in names if not (name.endswith((".py", ".pyc", ".yaml")) or Path(folder, name).is_dir())]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return Project(tmp_path_factory.mktemp("new-step"))


def test_new_step_runs_is_cached_and_changes_the_hits(project: Project) -> None:
    without = project.run()
    assert without.found == ["new", "old"]
    assert "newer_hits" not in without.record["seconds"]

    plan = project.command(
        "-m", "+hit_filter=by_date", "hit_filter.after='2000-01-01'", "top_k=1,5", "run.plan_only=true"
    )
    assert _plan_row(plan, "newer hits") == ["2", "1", "0", "1"]
    assert _plan_row(plan, "sparse hits") == ["2", "1", "1", "0"], "what lies before the step is shared"

    with_step = project.run("+hit_filter=by_date", "hit_filter.after='2000-01-01'")
    assert with_step.found == ["new"]
    assert "newer_hits" in with_step.record["seconds"]
    assert not with_step.record["reused"]["newer_hits"]
    assert with_step.record["axes"]["hit_filter"] == "by_date"
    assert with_step.record["axes"]["hit_filter.after"] == "2000-01-01"
    assert with_step.record["metrics"]["overall"]["mrr"]["value"] == 0.0, "the gold is in a document that is too old"

    again = project.run("+hit_filter=by_date", "hit_filter.after='2000-01-01'", "top_k=1")
    assert again.found == ["new"]
    assert again.record["reused"]["newer_hits"]


def _plan_row(output: str, kind: str) -> list[str]:
    """Return the numbers of requested, distinct, cached and remaining stages."""
    (row,) = [line.split()[-4:] for line in output.splitlines() if line.rsplit(maxsplit=4)[:1] == [kind]]
    return row


def test_new_step_edits_only_one_existing_file(project: Project) -> None:
    edited, new = set(), set()
    for package in PACKAGES:
        for path in (project.root / package).rglob("*"):
            name = path.relative_to(project.root).as_posix()
            if path.suffix not in (".py", ".yaml"):
                continue
            if not (REPOSITORY / name).exists():
                new.add(name)
            elif path.read_bytes() != (REPOSITORY / name).read_bytes():
                edited.add(name)
    assert new == set(NEW_FILES)
    assert edited == {GRAPH_MODULE}


def test_new_step_adds_three_lines_and_removes_none(project: Project) -> None:
    before, after = (
        (root / GRAPH_MODULE).read_text(encoding="utf-8").splitlines() for root in (REPOSITORY, project.root)
    )
    changes = [line for line in difflib.ndiff(before, after) if line[:2] in ("+ ", "- ")]
    assert [line[:2] for line in changes] == ["+ "] * 3
