"""Cells whose steps read more than a question: conditions, sets, conversations, examples, replies of models."""

import importlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from components.errors import DataError, LLMError
from runner.serving.folder_description import CHECK, PIPELINE
from runner.serving.pipeline import Pipeline, load_pipeline
from runner.serving.replay_check import check
from tests.runner.serving.exporting.exporting import export
from tests.runner.sweeping import FEW_METRICS, cells_in, read_unsealed, run_small

WORDS = ("tea", "tin", "corn", "coal", "salt", "silk")
SCRIPTED = ("llm=scripted", "run.plugins=[my_words]", "language=en", "embedder=hashing", "retriever=bm25")
BM25_ALONE = ("retriever.sparse_index.max_share_without_hits=1", "dataset.limit=null")

PLUGIN = '''
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from my_tone import louder


@dataclass(frozen=True)
class Shouts:
    """A query in capitals, with a word from a file beside this one."""

    version: ClassVar[int] = 1
    gives_one_query: ClassVar[bool] = True

    @property
    def variants(self):
        return (self,)

    def expand(self, samples):
        word = (Path(__file__).parent / "word.txt").read_text()
        return [(louder(f"{sample.question} {word}"),) for sample in samples]
'''


TONE = '''
"""A module beside the package, which reads a file beside itself."""
from pathlib import Path


def louder(text):
    return Path(__file__).with_name("tone.txt").read_text().format(text)
'''


def write_data(folder: Path) -> tuple[str, ...]:
    """Two companies that sell six things each, from one year to the next; two conversations among the questions."""
    documents = [
        {
            "id": f"{name}-{word}",
            "title": f"{name} and {word}",
            "text": f"{name} sold {word} in {2000 + n}. It was good {word}. Nobody else had any.",
            "metadata": {"year": str(2000 + n), "company": name},
        }
        for name in ("acme", "bolt")
        for n, word in enumerate(WORDS)
    ]
    samples = [
        {
            "id": f"{name}-{word}",
            "question": f"When did {name} sell {word}?",
            "references": [f"In {2000 + n}"],
            "gold": [f"{name}-{word}"],
            "subset": name,
            "conditions": {"year": {"at_least": 2000 + n}},
            "history": [{"question": f"When did {name} sell {WORDS[0]}?", "answer": "Never"}] if n == 1 else [],
        }
        for name in ("acme", "bolt")
        for n, word in enumerate(WORDS)
    ]
    for kind, records in (("documents", documents), ("samples", samples)):
        (folder / f"{kind}.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in records))
    return ("dataset=jsonl", f"dataset.documents={folder}/documents.jsonl", f"dataset.samples={folder}/samples.jsonl")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an export of a sweep over steps whose data were deleted afterwards."""
    folder = tmp_path_factory.mktemp("steps")
    package = folder / "my_words"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "expander.py").write_text(PLUGIN)
    (folder / "my_tone.py").write_text(TONE)
    (folder / "tone.txt").write_text("{}!")
    (package / "word.txt").write_text("good")
    fixed = (*FEW_METRICS, *SCRIPTED, *write_data(folder), *BM25_ALONE)
    place = [f"dataset.of.{word.partition('.')[2]}" for word in fixed if word.startswith("dataset.")]
    part = ["dataset=part", "dataset@dataset.of=jsonl", "dataset.held_out_share=0.4", "dataset.limit=null", *place]
    rest = [word for word in fixed if not word.startswith("dataset")]
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    try:
        code = run_small(
            folder,
            (*fixed, "filter=metadata"),
            (*fixed, "reranker=selected", "reranker.candidates.lexical.depth=6"),
            (*fixed, "history=own", "llm.reply='{question}, indeed'", "generator=split_fuse"),
            (*rest, *part, "examples=held_out", "examples.n=1"),
            (*fixed, "expander=none", "expander._target_=my_words.expander.Shouts"),
        )
        assert code == 0
        cells = cells_in(folder)
        for cell, name in zip(cells, ("filter", "selected", "own", "examples", "plugin"), strict=True):
            assert export(folder, cell.cell_id, folder / name) == 0
    finally:
        sys.path.remove(str(folder))
    for name in ("documents.jsonl", "samples.jsonl", "results", "my_tone.py", "tone.txt"):
        path = folder / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    return folder


def loaded(folder: Path) -> Pipeline:
    """A pipeline that gives the sweep's answers to the sweep's questions."""
    pipeline = load_pipeline(folder)
    report = check(pipeline, folder / CHECK)
    assert report.is_equal, report.compared
    assert report.n_answers == len(report.compared) > 6
    return pipeline


def test_exported_pipeline_filters_passages_by_search_conditions(folder: Path) -> None:
    pipeline = loaded(folder / "filter")
    asked = "When did acme sell tea?"
    assert pipeline.search(asked)[0].document_id == "acme-tea"
    for where in ({"year": {"at_least": 2003}}, {"year": [2003, 2004]}, {"year": "2005"}):
        assert {passage.metadata["year"] for passage in pipeline.search(asked, where=where)} <= {"2003", "2004", "2005"}
    assert pipeline.search(asked, where={"year": 1900}) == ()
    assert pipeline.search(asked, where={"year": {"equals": "2004"}}) == pipeline.search(
        asked, where={"year": ("2004",)}
    )
    for nothing in ({}, {"at_last": 3}, None, float("nan"), [[]]):
        with pytest.raises(DataError, match=r"where.year: got .*, expected a string or a number, a list of them"):
            pipeline.search(asked, where={"year": nothing})


def test_exported_rerankers_are_chosen_by_subset(folder: Path) -> None:
    pipeline = loaded(folder / "selected")
    assert set(pipeline.description.rerankers) == {"", "acme", "bolt"}
    assert pipeline.search("When did acme sell tea?", subset="acme")[0].document_id == "acme-tea"
    assert pipeline.search("When did acme sell tea?")
    with pytest.raises(DataError, match="subset: got 'other', expected one of acme, bolt, or none"):
        pipeline.search("When?", subset="other")


def test_exported_pipeline_reads_the_history_of_the_caller(folder: Path) -> None:
    pipeline = loaded(folder / "own")
    first = pipeline.answer("When did acme sell tea?")
    assert "indeed" in first.text
    again = pipeline.answer("And tin?", history=[("When did acme sell tea?", first.text)])
    assert "tea" in again.queries[0], "earlier questions are searched for too"


def test_exported_pipeline_contains_its_examples(folder: Path) -> None:
    pipeline = loaded(folder / "examples")
    assert pipeline.description.pool
    assert pipeline.answer("When did acme sell tea?").state == "ok"
    text = (folder / "examples" / PIPELINE / "pipeline.json").read_text(encoding="utf-8")
    assert "jsonl" not in text.replace('"jsonl"', "")


def test_user_code_is_exported_and_requires_trust(folder: Path, tmp_path: Path) -> None:
    moved = shutil.copytree(folder / "plugin", tmp_path / "moved")
    command = [sys.executable, str(moved / "pipeline.py"), "--check"]
    refused, done = (
        subprocess.run([*command, *trust], cwd=tmp_path, capture_output=True, text=True, check=False)
        for trust in ([], ["--trust"])
    )
    assert refused.returncode == 2
    assert "answering runs my_words.expander.Shouts (expander._target_). If you trust" in refused.stderr
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("12 of 12 answers equal, 12 of 12 rankings equal (")


def test_failing_model_of_an_export_gives_no_answer(folder: Path, tmp_path: Path) -> None:
    other = shutil.copytree(folder / "filter", tmp_path / "other")
    path = other / PIPELINE / "pipeline.json"
    told = json.loads(read_unsealed(path))
    told["components"]["llm"]["error_on"] = "acme"
    path.write_text(json.dumps(told), encoding="utf-8")
    pipeline = load_pipeline(other)
    with pytest.raises(LLMError, match="the language model gave no answer"):
        pipeline.answer("When did acme sell tea?")
    report = check(pipeline, other / CHECK)
    assert (report.n_answers_equal, report.n_answers, report.is_equal) == (6, 12, False)
