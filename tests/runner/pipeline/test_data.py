"""The content that stands for a corpus: equal only for documents that every stage reads alike."""

from collections.abc import Mapping, Sequence

import pytest

from components.records import Benchmark, Documents
from runner.pipeline.data import BenchmarkCodec, CorpusCodec


def documents(metadata: Sequence[Mapping[str, str]] = ()) -> Documents:
    return Documents(["a"], ["title"], ["text"], metadata)


def content(corpus: Documents) -> str:
    key: str = BenchmarkCodec().encode(Benchmark(corpus, ()))["content"]["documents"]
    return key


def test_the_order_of_metadata_counts_since_prompts_show_it() -> None:
    one, other = {"date": "2024", "by": "Li"}, {"by": "Li", "date": "2024"}
    assert content(documents([one])) != content(documents([other]))
    (read,) = CorpusCodec().decode(CorpusCodec().encode(documents([one]))).metadata
    assert list(read.items()) == list(one.items())


@pytest.mark.parametrize("metadata", [(), [{}]])
def test_no_metadata_is_one_corpus_however_it_came(metadata: Sequence[Mapping[str, str]]) -> None:
    assert content(documents(metadata)) == content(documents())
    assert CorpusCodec().decode(CorpusCodec().encode(documents(metadata))) == documents()
