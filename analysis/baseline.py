"""python -m analysis baseline: the scores of one cell in a small file for version control. `gate` compares with it."""

import argparse
import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from analysis import table_output as terminal
from components.errors import DataError
from components.records import ScoreState
from components.subsets import MACRO
from runner import results
from runner.console.command_parser import CELL, METRIC, SWEEP
from runner.results import (
    OK,
    CellResult,
    Labels,
    LoadedSweep,
    ScoredSamples,
    SubsetMetric,
    is_corpus_metric,
    is_turn_subset,
)

FORMAT = 3
"""Version of the file. Another version cannot be read."""

_N_DIGITS = 12
"""Hexadecimal digits of the hashes, which reveal edited samples with the same id."""

_ACCESS = (
    "api_key_env", "backoff_s", "base_url", "completions_per_request", "concurrency", "length_parameter",
    "max_requests_per_minute", "max_retries", "max_tokens_per_minute", "timeout_s",
)  # fmt: skip
"""Fields of models that change no score."""

_START = b'{\n "format": '
"""The first bytes of every baseline."""

_EXPECTED = (
    "expected a file that `python -m analysis baseline` wrote. Write it with: python -m analysis baseline SWEEP CELL "
    "--out FILE"
)


class SampleId(NamedTuple):
    """A sample: its id, the hash of its question, gold documents and references, and the hash of its gold spans.

    The file contains no texts.
    """

    id: str
    text: str
    spans: str


@dataclass(frozen=True)
class BaselineMetric:
    """A metric of the baseline, with the scores of the samples that have a value.

    The metric is computed from the scores. A score is one number, or several sums for a metric of a corpus, such as
    BLEU. `definition` is the hash of the settings of its component, "" if unknown.
    """

    larger_is_better: bool
    definition: str
    scores: Mapping[SampleId, tuple[float, ...]]


@dataclass(frozen=True)
class Baseline:
    """The scores of one cell. `metrics` are by "[subset:]metric". `corpus` is the key of the documents."""

    sweep: str
    cell: str
    corpus: str
    axes: Mapping[str, Any]
    metrics: Mapping[str, BaselineMetric]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments to the parser."""
    parser.add_argument("sweep", help=SWEEP)
    parser.add_argument("cell", nargs="?", default="", help=f"{CELL} (default: the only cell)")
    parser.add_argument(
        "--metric", action="append", default=[], metavar="METRIC", help=f"{METRIC}; repeat the option for several"
    )
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="the file to write")


def run(options: argparse.Namespace) -> int:
    """Write the file. Returns 0.

    Raises DataError if the sweep or a metric cannot be read, or the file cannot be written. An earlier baseline is
    replaced, and any other file is an error.
    """
    if options.out.is_file() and not options.out.read_bytes()[: len(_START)] == _START:
        raise DataError(f"--out: {options.out} exists and is not a baseline. Choose another path.")
    sweep = results.load(options.sweep)
    cell = choose_cell(sweep, options.cell)
    baseline = make_baseline(sweep, cell, options.metric or [sweep.headline_metric()])
    terminal.write_text(options.out, _text(baseline))
    n_samples = len({sample for metric in baseline.metrics.values() for sample in metric.scores})
    terminal.make_console().print(
        f"{options.out}: {', '.join(baseline.metrics)} of {n_samples:,} samples of {cell.cell_id}", markup=False
    )
    return 0


def choose_cell(sweep: LoadedSweep, text: str) -> CellResult:
    """Return the cell that `text` names, or the only cell if `text` is "". Raises DataError if that cell failed, or if
    `text` is "" and the sweep has several cells.
    """
    if not text and len(sweep.cells) != 1:
        raise DataError(f"{sweep.name}: the sweep has {len(sweep.cells)} cells. Name one: {CELL}")
    cell = sweep.cell(text) if text else sweep.cells[0]
    if cell.status != OK:
        raise DataError(f"{cell.cell_id}: {cell.status}, expected a cell with results: {cell.reason}")
    return cell


def make_baseline(sweep: LoadedSweep, cell: CellResult, metrics: Sequence[str]) -> Baseline:
    """Return the scores of a cell by "[subset:]metric". Raises DataError if a metric has no direction or no value."""
    baseline_metrics = {}
    for name in metrics:
        metric = sweep.metric(name)
        scored = scored_samples(sweep, cell, metric)
        scores = {
            sample: tuple(scored.statistics[row].tolist())
            for sample, row in sample_rows(scored).items()
            if scored.states[row] == ScoreState.VALUE
        }
        if not scores:
            raise DataError(f"{cell.cell_id}: no sample has a value of {metric}")
        baseline_metrics[name] = BaselineMetric(metric.direction(), hash_definition(cell, metric.metric), scores)
    return Baseline(sweep.folder.name, cell.cell_id, _get_corpus(cell), dict(cell.axes), baseline_metrics)


def has_same_corpus(baseline: Baseline, cell: CellResult) -> bool:
    """Return True if the cell's documents are known to be the baseline's, so that gold spans are comparable."""
    return bool(baseline.corpus) and baseline.corpus == _get_corpus(cell)


def _get_corpus(cell: CellResult) -> str:
    return str(cell.dataset.get("corpus") or "")


def scored_samples(sweep: LoadedSweep, cell: CellResult, metric: SubsetMetric) -> ScoredSamples:
    """Return the samples of the metric's subset. Raises DataError for a mean of several means."""
    if metric.subset == MACRO or is_turn_subset(metric.subset):
        parts = "subsets" if metric.subset == MACRO else "turns"
        raise DataError(f"{metric}: a mean over {parts} has no score per sample. Use {metric.metric}")
    folder = sweep.folder_of(cell)
    is_corpus = is_corpus_metric(folder, metric.metric)
    return results.read_scored(
        cell, folder, metric.metric, is_corpus=is_corpus, with_history=False, labels=Labels.SPANS
    ).in_subset(metric.subset)


def sample_rows(scored: ScoredSamples) -> dict[SampleId, int]:
    """Return the row of each sample."""
    hashed = ((key, _hash(f"{key.question} {key.labels}")) for key in scored.rows)
    return {SampleId(key.id, text, key.spans[:_N_DIGITS]): scored.rows[key] for key, text in hashed}


def hash_definition(cell: CellResult, metric: str) -> str:
    """Return the hash of the settings of the component or the judge that computes the metric; "" if it is unknown.

    It leaves out settings that change no score, such as the address of a judge's server.
    """
    node = results.component_settings(cell, metric) or _judge_settings(cell, metric)
    return _hash(json.dumps(_scoring_settings(node), sort_keys=True)) if node else ""


def _judge_settings(cell: CellResult, metric: str) -> Mapping[str, Any] | None:
    """Return the settings of the judge that computes the metric, or of all judges if none has its name."""
    judge = cell.config.get("judge")
    scores = judge.get("scores") if isinstance(judge, Mapping) else None
    if not isinstance(scores, Mapping):
        return None
    named = {name: node for name, node in scores.items() if metric in (name, node.get("name"))}
    return named or scores


def _scoring_settings(node: Any) -> Any:
    """Return settings without the fields in `_ACCESS`."""
    if not isinstance(node, Mapping):
        return node
    return {name: _scoring_settings(value) for name, value in node.items() if name not in _ACCESS}


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:_N_DIGITS]


def _text(baseline: Baseline) -> str:
    """Return the JSON with one line per sample, so that version control shows which scores changed."""
    metrics = {
        name: {"larger_is_better": metric.larger_is_better, "definition": metric.definition}
        for name, metric in baseline.metrics.items()
    }
    head = {
        "format": FORMAT,
        "sweep": baseline.sweep,
        "cell": baseline.cell,
        "corpus": baseline.corpus,
        "axes": dict(baseline.axes),
        "metrics": metrics,
    }
    samples = dict.fromkeys(sample for metric in baseline.metrics.values() for sample in metric.scores)
    rows = [
        {
            "id": sample.id,
            "question": sample.text,
            "spans": sample.spans,
            "scores": {
                name: list(metric.scores[sample])
                for name, metric in baseline.metrics.items()
                if sample in metric.scores
            },
        }
        for sample in samples
    ]
    head["checksum"] = compute_checksum({**head, "samples": rows})
    lines = [f" {json.dumps(name)}: {json.dumps(value)}," for name, value in head.items()]
    body = ",\n".join(f"  {json.dumps(row)}" for row in rows)
    return "\n".join(["{", *lines, f' "samples": [\n{body}\n ]', "}"]) + "\n"


def compute_checksum(value: Mapping[str, Any]) -> str:
    """Return the hash of a baseline's content, without its checksum."""
    content = {name: part for name, part in value.items() if name != "checksum"}
    return _hash(json.dumps(content, sort_keys=True))


def read_baseline(path: Path) -> Baseline:
    """Read a file of `python -m analysis baseline`. Raises DataError if it cannot be read or was changed."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}); {_EXPECTED}") from error
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: is not JSON ({error}); {_EXPECTED}") from error
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        file_format = value.get("format") if isinstance(value, dict) else type(value).__name__
        raise DataError(f"{path}: got format {file_format}, expected {FORMAT}. Write it again.")
    try:
        baseline = _baseline(value)
        is_as_written = value["checksum"] == compute_checksum(value)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise DataError(f"{path}: {type(error).__name__}: {error}; {_EXPECTED}") from error
    if not is_as_written:
        raise DataError(f"{path}: was changed after it was written, for example by a merge. Write it again.")
    return baseline


def _baseline(value: Mapping[str, Any]) -> Baseline:
    scores: dict[str, dict[SampleId, tuple[float, ...]]] = {name: {} for name in value["metrics"]}
    for row in value["samples"]:
        sample = SampleId(str(row["id"]), str(row["question"]), str(row["spans"]))
        for name, numbers in row["scores"].items():
            if sample in scores[name]:
                raise ValueError(f"sample {sample[0]!r} occurs twice")
            scores[name][sample] = tuple(map(_finite, numbers))
    for name, sample_scores in scores.items():
        if len({len(numbers) for numbers in sample_scores.values()} - {0}) != 1 or not all(sample_scores.values()):
            raise ValueError(f"{name} has no scores, or scores of unequal length")
    metrics = {
        name: BaselineMetric(_flag(entry["larger_is_better"]), str(entry["definition"]), scores[name])
        for name, entry in value["metrics"].items()
    }
    if not metrics:
        raise ValueError("no metric")
    return Baseline(str(value["sweep"]), str(value["cell"]), str(value["corpus"]), dict(value["axes"]), metrics)


def _finite(number: Any) -> float:
    if isinstance(number, bool) or not isinstance(number, (int, float)) or not math.isfinite(number):
        raise ValueError(f"got {number!r} as a score, expected a finite number")
    return float(number)


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"got {value!r} as larger_is_better, expected true or false")
    return value
