"""An artificial sweep of many cells with thousands of samples each, in the runner's files, without any search."""

import io
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.random import Generator
from numpy.typing import NDArray

from components.json_value import Json
from components.subsets import MACRO, OVERALL, list_subsets
from runner.results import OK, CellResult, SweepResult, write_cell, write_sweep

AXES: Mapping[str, Sequence[Json]] = {
    "chunk.size": (64, 128, 256, 512),
    "retriever": ("bm25", "dense", "hybrid"),
    "top_k": (2, 4, 6, 8, 10),
}
"""60 cells."""

METRICS = ("rouge_l", "f1", "em", "ndcg@10", "recall@10", "mrr", "passage_coverage", "context_tokens")
_SUBSETS = ("read/qa_1doc", "read/qa_2docs", "read/qa_3docs", "update/hallucination", "create", "finance")
_N_TOPICS, _N_TASKS, _SAMPLES_PER_GROUP, _DEPTH = 16, 5, 5, 20
_WORDS = "the bank opened a branch in 1932 after the merger with its rival and sold 118 shares of the fund".split()


def write(folder: Path, n_samples: int, axes: Mapping[str, Sequence[Json]] = AXES) -> Path:
    """Write the sweep and return its folder. Equal calls write equal numbers."""
    random = np.random.default_rng(0)
    samples = _Samples(n_samples, random)
    cells = [dict(zip(axes, levels, strict=True)) for levels in product(*axes.values())]
    described = tuple(
        {"cell_id": f"{place:012x}", "status": OK, "reason": "", "axes": own} for place, own in enumerate(cells)
    )
    write_sweep(
        folder, SweepResult("many", "many", OK, "python -m runner -m ...", (), "", "", described, {}, "rouge_l")
    )
    for place, own in enumerate(cells):
        scores = samples.scores(random, own)
        result = CellResult(
            f"{place:012x}",
            OK,
            own,
            (),
            {"top_k": own["top_k"], "metrics": {"scores": {}}},
            {"name": "made-up", "key": "0" * 64, "n_samples": n_samples, "n_documents": n_samples},
            metrics={subset: _entries(scores, rows) for subset, rows in samples.subsets.items()},
            larger_is_better={name: name != "context_tokens" for name in METRICS},
            counts={"ok": n_samples},
            tokens={"prompt": 300 * own["top_k"] * n_samples, "completion": 40 * n_samples},
            one_time_s=30.0,
            latency_s={"batched": 0.001, "p50": 0.5 + 0.05 * own["top_k"], "p95": 1.0},
        )
        write_cell(folder, result, {"samples.parquet": samples.table(random, own, scores)})
    return folder


def _entries(scores: Mapping[str, NDArray[np.float64]], rows: NDArray[np.int64]) -> dict[str, dict[str, Json]]:
    means = {
        name: (float(values[rows].mean()), float(values[rows].std() / len(rows) ** 0.5))
        for name, values in scores.items()
    }
    return {
        name: {
            "value": mean,
            "n": len(rows),
            "n_excluded": {},
            "ci_low": mean - 2 * error,
            "ci_high": mean + 2 * error,
            "n_clusters": max(len(rows) // _SAMPLES_PER_GROUP, 1),
            "method": "t",
        }
        for name, (mean, error) in means.items()
    }


class _Samples:
    """Facts that all cells share: questions, gold, and the difficulty of each sample."""

    def __init__(self, n: int, random: Generator) -> None:
        self.n = n
        self.hard = random.normal(0, 0.2, n)
        self.subset = [_SUBSETS[place % len(_SUBSETS)] for place in range(n)]
        is_finance = [subset == "finance" for subset in self.subset]
        self.topic = [f"topic_{place // 7 % _N_TOPICS}" if own else None for place, own in enumerate(is_finance)]
        self.task = [f"task_{place // 3 % _N_TASKS}" if own else None for place, own in enumerate(is_finance)]
        self.question = [f"{_text(random, 12)} ({place})?" for place in range(n)]
        self.reference = [_text(random, 15) for _ in range(n)]
        self.subsets = {name: np.array(rows, dtype=np.int64) for name, rows in self._groups().items()}

    def _groups(self) -> dict[str, list[int]]:
        groups: dict[str, list[int]] = {OVERALL: [], MACRO: list(range(self.n))}
        for place, names in enumerate(zip(self.subset, self.topic, self.task, strict=True)):
            for name in list_subsets(*names):
                groups.setdefault(name, []).append(place)
        return groups

    def scores(self, random: Generator, axes: Mapping[str, Json]) -> dict[str, NDArray[np.float64]]:
        """Return the values of all samples in a cell by metric."""
        gain = 0.02 * (axes["retriever"] == "hybrid") + 0.0001 * axes["chunk.size"] - 0.002 * axes["top_k"]
        found = {name: np.clip(0.4 + gain + self.hard + random.normal(0, 0.15, self.n), 0, 1) for name in METRICS[:-1]}
        return found | {METRICS[-1]: np.full(self.n, 300.0 * axes["top_k"])}

    def table(self, random: Generator, axes: Mapping[str, Json], scores: Mapping[str, NDArray[np.float64]]) -> bytes:
        """Return the `samples.parquet` of a cell."""
        n, top_k = self.n, int(axes["top_k"])
        ranks = random.integers(1, _DEPTH + 10, n).tolist()
        columns: dict[str, Json] = {
            "id": [f"q{place}" for place in range(n)],
            "subset": self.subset,
            "kind": ["qa"] * n,
            "topic": pa.array(self.topic, pa.string()),
            "task": pa.array(self.task, pa.string()),
            "question": self.question,
            "history": ["[]"] * n,
            "references": [[text] for text in self.reference],
            "answer_parts": pa.array([[]] * n, pa.list_(pa.list_(pa.string()))),
            "answerable": [True] * n,
            "gold": [list(_gold(place, rank, top_k)) for place, rank in enumerate(ranks)],
            "found_gold": pa.array([_found(rank) for rank in ranks], _FOUND),
            "cluster": [place // _SAMPLES_PER_GROUP for place in range(n)],
            "query": self.question,
            "retrieved": [_hits(place, rank, top_k) for place, rank in enumerate(ranks)],
            "prompt": [""] * n,
            "state": ["ok"] * n,
            "answer": [
                reference if value > 0.5 else _text(random, 30)
                for reference, value in zip(self.reference, scores["rouge_l"].tolist(), strict=True)
            ],
            "error": [""] * n,
            "latency_s": [0.5] * n,
        }
        for name, values in scores.items():
            columns |= {f"score/{name}": values, f"score_state/{name}": ["value"] * n}
        buffer = io.BytesIO()
        pq.write_table(pa.table(columns), buffer)
        return buffer.getvalue()


def _text(random: Generator, n_words: int) -> str:
    return " ".join(_WORDS[place] for place in random.integers(0, len(_WORDS), n_words).tolist())


_FOUND = pa.list_(pa.struct([("rank", pa.int32()), ("gold", pa.int32()), ("start", pa.int32()), ("end", pa.int32())]))


def _gold(place: int, rank: int, top_k: int) -> Iterator[dict[str, Json]]:
    yield {
        "document_id": f"d{place}",
        "start": 100,
        "end": 200,
        "grade": 1,
        "n_characters": 100,
        "n_in_context": 100 if rank <= top_k else 0,
    }


def _found(rank: int) -> list[dict[str, int]]:
    return [{"rank": rank, "gold": 0, "start": 0, "end": 100}] if rank <= _DEPTH else []


def _hits(place: int, gold_rank: int, top_k: int) -> list[dict[str, Json]]:
    """Return hits with the gold in one of them, unless it is below the depth."""
    return [
        {
            "document_id": f"d{place if rank == gold_rank else place + rank}",
            "start": 0,
            "end": 300,
            "score": 1.0 / rank,
            "in_context": rank <= top_k,
            "rank": rank,
            "gold_grade": int(rank == gold_rank),
        }
        for rank in range(1, _DEPTH + 1)
    ]
