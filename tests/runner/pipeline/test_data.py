"""The content hash of a corpus: equal only for documents that every stage reads equally."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import pytest

from components.datasets.jsonl import Jsonl
from components.errors import ComponentError, DataError
from components.json_value import Json
from components.records import Benchmark, Documents
from runner.engine.store import Store
from runner.pipeline.corpus.loaded_data import BenchmarkCodec, CorpusCodec, load_data
from tests.runner.sweeping import own_data


def documents(metadata: Sequence[Mapping[str, str]] = ()) -> Documents:
    return Documents(["a"], ["title"], ["text"], metadata)


def content(corpus: Documents) -> str:
    key: str = BenchmarkCodec().encode(Benchmark(corpus, ()))["content"]["documents"]
    return key


def test_metadata_order_changes_the_content_key() -> None:
    one, other = {"date": "2024", "by": "Li"}, {"by": "Li", "date": "2024"}
    assert content(documents([one])) != content(documents([other]))
    (read,) = CorpusCodec().decode(CorpusCodec().encode(documents([one]))).metadata
    assert list(read.items()) == list(one.items())


@pytest.mark.parametrize("metadata", [(), [{}]])
def test_empty_metadata_has_one_content_key(metadata: Sequence[Mapping[str, str]]) -> None:
    assert content(documents(metadata)) == content(documents())
    assert CorpusCodec().decode(CorpusCodec().encode(documents(metadata))) == documents()


@dataclass(frozen=True)
class Growing(Jsonl):
    """Somebody adds a question while the files are read."""

    def load_over(self, documents: Documents, counts: Mapping[str, Json]) -> Benchmark:
        with Path(self.samples).open("a", encoding="utf-8") as file:
            file.write('{"id": "2", "question": "Which other text?"}\n')
        return super().load_over(documents, counts)


def test_data_files_that_change_during_loading_are_rejected(tmp_path: Path) -> None:
    own_data(tmp_path, {"a": "one text"}, [{"id": "1", "question": "Which text?"}])
    store = Store(tmp_path / "store", "this run")
    places = {"documents": str(tmp_path / "documents.jsonl"), "samples": str(tmp_path / "samples.jsonl")}
    with pytest.raises(DataError, match="Growing: its files changed while they were read"):
        load_data(Growing(**places), store)
    assert load_data(Jsonl(**places), store).n_samples == 2


@dataclass(frozen=True)
class Answered(Jsonl):
    """Adds references to questions that have none."""

    def load(self) -> Benchmark:
        loaded = super().load()
        return replace(loaded, samples=tuple(replace(sample, references=("so",)) for sample in loaded.samples))


def test_notes_count_the_samples_that_a_users_class_returns(tmp_path: Path) -> None:
    own_data(tmp_path, {"a": "one text"}, [{"id": "1", "question": "Which text?"}])
    places = {"documents": str(tmp_path / "documents.jsonl"), "samples": str(tmp_path / "samples.jsonl")}
    store = Store(tmp_path / "store", "this run")
    assert load_data(Jsonl(**places), store).notes["n_samples_without_reference"] == 1
    assert load_data(Answered(**places), store).notes["n_samples_without_reference"] == 0


@dataclass(frozen=True)
class Misspelt(Jsonl):
    def load(self) -> Benchmark:
        (sample,) = (loaded := super().load()).samples
        references: Any = "a text, not a tuple"
        return replace(loaded, samples=(replace(sample, references=references),))


def test_users_data_set_with_a_wrong_type_is_one_error(tmp_path: Path) -> None:
    own_data(tmp_path, {"a": "one text"}, [{"id": "1", "question": "Which text?"}])
    places = {"documents": str(tmp_path / "documents.jsonl"), "samples": str(tmp_path / "samples.jsonl")}
    with pytest.raises(ComponentError, match=r"Misspelt, sample 1 \('1'\), references: got 'a text, not a tuple'"):
        load_data(Misspelt(**places), Store(tmp_path / "store", "this run"))


@dataclass(frozen=True)
class Broken(Jsonl):
    """Returns no benchmark, or raises."""

    name: str = "none"

    def load_over(self, documents: Documents, counts: Mapping[str, Json]) -> Benchmark:
        if self.name == "raises":
            raise KeyError("column")
        nothing: Any = None
        return cast(Benchmark, nothing)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("none", "the data set of .*Broken: got NoneType, expected a Benchmark"),
        ("raises", r"test_data\.Broken: the data set cannot be loaded .*KeyError: 'column'; .*line"),
    ],
)
def test_user_data_set_error_names_its_class(tmp_path: Path, name: str, message: str) -> None:
    own_data(tmp_path, {"a": "one text"}, [{"id": "1", "question": "Which text?"}])
    places = {"documents": str(tmp_path / "documents.jsonl"), "samples": str(tmp_path / "samples.jsonl")}
    with pytest.raises(ComponentError, match=message):
        load_data(Broken(**places, name=name), Store(tmp_path / "store", "this run"))
