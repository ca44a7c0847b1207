"""Answers the questions of the sweep again, and compares the results with the sweep."""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa

from components.errors import DataError
from components.json_value import Json
from components.records import Answer, AnswerState, Sample, Turn
from runner.engine.store.part_files import read_table
from runner.pipeline.corpus.sample_codec import decode_samples, encode_samples
from runner.serving.pipeline import Pipeline
from runner.serving.retrieved_passages import sweep_hits

_SAMPLES, _EXPECTED = "samples.json", "expected.parquet"
_PLACE = {
    "document_id": pa.string(),
    "start": pa.int32(),
    "end": pa.int32(),
    "score": pa.float32(),
    "in_context": pa.bool_(),
}
_PLACES = pa.list_(pa.struct(list(_PLACE.items())))


@dataclass(frozen=True)
class ComparedAnswer:
    """Differences for one question, or "" if there are no differences. `answer` is None if the sweep has no answer or
    no model, so that nothing can be compared.
    """

    sample_id: str
    ranking: str
    answer: str | None


@dataclass(frozen=True)
class ReplayReport:
    """All compared questions, and the average seconds per question."""

    compared: tuple[ComparedAnswer, ...]
    seconds_each: float

    @property
    def n_rankings_equal(self) -> int:
        return sum(not comparison.ranking for comparison in self.compared)

    @property
    def n_answers(self) -> int:
        """Number of answers that could be compared."""
        return sum(comparison.answer is not None for comparison in self.compared)

    @property
    def n_answers_equal(self) -> int:
        return sum(comparison.answer == "" for comparison in self.compared)

    @property
    def is_equal(self) -> bool:
        return self.n_rankings_equal == len(self.compared) and self.n_answers_equal == self.n_answers


def write_check(folder: Path, samples: Sequence[Sample], table: pa.Table, earlier: Sequence[Sequence[int]]) -> None:
    """Write the questions and the results of the sweep, from its `samples.parquet` in `table`.

    `earlier` has for each sample the positions of its earlier turns, if its conversation contains the model's own
    answers; () otherwise.
    """
    import pyarrow.parquet as pq

    answers = table["answer"].to_pylist()
    replayed = [
        replace(sample, history=tuple(Turn(samples[i].question, answers[i]) for i in turns)) if turns else sample
        for sample, turns in zip(samples, earlier, strict=True)
    ]
    folder.mkdir()
    text = json.dumps(encode_samples(replayed), ensure_ascii=False, separators=(",", ":"))
    (folder / _SAMPLES).write_text(text + "\n", encoding="utf-8")
    positions = [[{name: hit[name] for name in _PLACE} for hit in hits] for hits in table["retrieved"].to_pylist()]
    expected = {**{name: table[name] for name in ("id", "answer", "state")}, "retrieved": pa.array(positions, _PLACES)}
    pq.write_table(pa.table(expected), folder / _EXPECTED, compression="zstd")


def check(pipeline: Pipeline, folder: Path, limit: int | None = None) -> ReplayReport:
    """Ask the questions one by one: all, or `limit` of them spread over the benchmark.

    Raises DataError if the folder cannot be read.
    """
    try:
        samples = decode_samples(json.loads((folder / _SAMPLES).read_text(encoding="utf-8")))
        expected = read_table(folder / _EXPECTED).to_pylist()
    except (OSError, RecursionError, ValueError, KeyError, TypeError, pa.ArrowException) as error:
        raise DataError(f"{folder}: cannot be read ({error}). Export the cell again.") from error
    pairs = list(zip(samples, expected, strict=True))
    started = time.perf_counter()
    compared = tuple(_compare(pipeline, *pair) for pair in _pick_evenly(pairs, limit))
    return ReplayReport(compared, (time.perf_counter() - started) / max(len(compared), 1))


def _pick_evenly(
    pairs: Sequence[tuple[Sample, Mapping[str, Json]]], limit: int | None
) -> Iterator[tuple[Sample, Mapping[str, Json]]]:
    n = len(pairs) if limit is None else min(limit, len(pairs))
    return (pairs[i * len(pairs) // n] for i in range(n))


def _compare(pipeline: Pipeline, sample: Sample, expected: Mapping[str, Json]) -> ComparedAnswer:
    graph, run = pipeline.run_sample(sample)
    difference = ""
    if graph.search:
        difference = _ranking_difference(sweep_hits(graph.search, run), expected["retrieved"])
    if expected["state"] in (AnswerState.NOT_ASKED, AnswerState.ERROR):
        return ComparedAnswer(sample.id, difference, None)
    (answer,) = run.read(graph.answers)
    return ComparedAnswer(sample.id, difference, _answer_difference(answer, expected))


def _answer_difference(answer: Answer, expected: Mapping[str, Json]) -> str:
    if answer.state is AnswerState.ERROR:
        return f"got no answer: {answer.error}"
    if (answer.text, answer.state.value) == (expected["answer"], expected["state"]):
        return ""
    return f"got {answer.text!r} ({answer.state}), the sweep has {expected['answer']!r} ({expected['state']})"


def _ranking_difference(hits: Sequence[Mapping[str, Json]], expected: Sequence[Mapping[str, Json]]) -> str:
    if list(map(_place, hits)) == list(map(_place, expected)):
        return ""
    pairs = zip(hits, expected, strict=False)
    n_same = next((n for n, (a, b) in enumerate(pairs) if _place(a) != _place(b)), None)
    rank = min(len(hits), len(expected)) if n_same is None else n_same
    if n_same is None:
        return f"got {len(hits)} hits, the sweep has {len(expected)}"
    hit, expected_hit = hits[rank], expected[rank]
    return f"hit {rank + 1} is {_hit_text(hit)}, the sweep has {_hit_text(expected_hit)}"


def _place(hit: Mapping[str, Json]) -> tuple[Json, ...]:
    return hit["document_id"], hit["start"], hit["end"], hit["in_context"]


def _hit_text(hit: Mapping[str, Json]) -> str:
    in_context = "in the context" if hit["in_context"] else "not in the context"
    return f"{hit['document_id']} [{hit['start']}, {hit['end']}) with {hit['score']:.6g}, {in_context}"
