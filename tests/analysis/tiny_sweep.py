"""A sweep of four cells with eight samples each, written as the runner writes one, and others like it."""

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from components.clusters import component_ids
from components.subsets import MACRO, list_subsets
from runner.results import CellResult, SweepResult, read_sweep, write_cell, write_sweep

SUBSETS = ["read/qa_1doc"] * 4 + ["read/qa_2docs"] * 2 + ["create"] * 2
DOCUMENTS = [["d1"], ["d1"], ["d2"], ["d3"], ["d4"], ["d5"], [], []]
TOPICS = ["funds", *[None] * 7]
TASKS = ["extractive", *[None] * 7]
VALUE = "value"
BLEU_STATISTICS = [9.0, 9.0, 8.0, 7.0, 6.0, 5.0, 9.0, 8.0, 7.0, 6.0]


@dataclass(frozen=True)
class TinyCell:
    """A cell with a ROUGE-L per sample, None where its answer failed.

    `facts` go into the result as they are. The result has the subsets that are `measured`. `gold_starts` are the first
    characters of the gold in each sample's documents.
    """

    cell_id: str
    axes: Mapping[str, Any]
    rouge_l: Sequence[float | None]
    facts: Mapping[str, Any] = field(default_factory=dict)
    ids: Sequence[str] = tuple(f"s{i}" for i in range(8))
    question: str = "What happened?"
    references: Sequence[str] = ()
    gold_starts: Sequence[int] = ()
    subsets: Sequence[str] = tuple(SUBSETS)
    documents: Sequence[Sequence[str]] = tuple(DOCUMENTS)
    topics: Sequence[str | None] = tuple(TOPICS)
    tasks: Sequence[str | None] = tuple(TASKS)
    measured: Sequence[str] = ("overall", "macro", "read", "read/qa_1doc", "read/qa_2docs", "create", "topic/funds")

    def groups(self) -> list[list[str]]:
        """Return the subsets of every sample."""
        rows = zip(self.subsets, self.topics, self.tasks, self.rouge_l, strict=False)
        return [[MACRO, *list_subsets(*row[:3])] for row in rows]


CELLS = (
    TinyCell("a1a1a1a1a1a1", {"retriever": "bm25", "top_k": 2}, [0.1, 0.2, 0.3, 0.4, 0.5, 0.2, 0.1, 0.2]),
    TinyCell("a2a2a2a2a2a2", {"retriever": "bm25", "top_k": 8}, [0.2, 0.3, 0.3, 0.5, 0.6, 0.2, 0.2, 0.3]),
    TinyCell("b3b3b3b3b3b3", {"retriever": "dense", "top_k": 2}, [0.6, 0.8, 0.7, 0.9, 0.9, 0.7, 0.6, 0.6]),
    TinyCell("b4b4b4b4b4b4", {"retriever": "dense", "top_k": 8}, [0.7, 0.7, 0.8, None, 0.9, 0.7, 0.6, 0.5]),
)


def write(folder: Path, cells: Sequence[TinyCell] = CELLS) -> Path:
    """The sweep's folder."""
    described = tuple(
        {"cell_id": cell.cell_id, "status": "OK", "reason": "", "axes": dict(cell.axes)} for cell in cells
    )
    write_sweep(folder, SweepResult("tiny", "tiny", "OK", "python -m runner", (), "", "", described, {}))
    for cell in cells:
        write_cell(folder, _result(cell), {"samples.parquet": _samples(cell)})
    return folder


def unfinish(folder: Path, *cell_ids: str) -> None:
    """Leave the sweep as an interrupted run does: these cells have no result."""
    sweep = read_sweep(folder)
    cells = [{**cell, "status": "INTERRUPTED"} if cell["cell_id"] in cell_ids else cell for cell in sweep.cells]
    write_sweep(folder, replace(sweep, status="INTERRUPTED", cells=tuple(cells)))
    for cell_id in cell_ids:
        (folder / cell_id / "cell.json").unlink()


def _result(cell: TinyCell) -> CellResult:
    metrics = {
        subset: {name: _entry(cell, subset) for name in ("rouge_l", "hallucination")} for subset in cell.measured
    }
    metrics["overall"]["bleu"] = {
        "value": sum(value or 0 for value in cell.rouge_l),
        "n": _entry(cell, "overall")["n"],
        "n_excluded": {},
    }
    n_asked = len(cell.rouge_l)
    facts: dict[str, Any] = {
        "status": "OK",
        "axes": cell.axes,
        "overrides": (),
        "config": {"metrics": {"scores": {"bleu": {"_target_": "components.metrics.bleu.Bleu", "language": "zh"}}}},
        "metrics": metrics,
        "larger_is_better": {"rouge_l": True, "bleu": True, "hallucination": False, "length": None},
        "counts": {"ok": n_asked},
        "tokens": {
            "prompt": 100 * n_asked * int(cell.axes.get("top_k", 1)),
            "completion": 10 * n_asked,
            "judge_prompt": 9_999,
        },
        "seconds": {"answers": 2.0 * n_asked, "answer_scores": 1_000.0},
        "one_time_s": 30.0,
        "latency_s": {"batched": 0.5, "p50": 2.0, "p95": 7.0},
        "dataset": {"name": "demo"},
    }
    return CellResult(cell.cell_id, **{**facts, **cell.facts})


def _entry(cell: TinyCell, subset: str) -> dict[str, Any]:
    values = cell.rouge_l
    rows = [i for i, groups in enumerate(cell.groups()) if subset in groups]
    scored = [value for i in rows if (value := values[i]) is not None]
    n_left_out = len(rows) - len(scored)
    return {
        "value": float(np.mean(scored)) if scored else None,
        "n": len(scored),
        "n_excluded": {"answer_error": n_left_out} if n_left_out else {},
        "ci_low": None,
        "ci_high": None,
    }


def _gold(cell: TinyCell) -> list[list[dict[str, Any]]]:
    return [
        [{"document_id": document, "start": start, "end": start + 9, "grade": 1} for document in documents]
        for start, documents in zip(cell.gold_starts, cell.documents, strict=True)
    ]


def _samples(cell: TinyCell) -> bytes:
    states = ["answer_error" if value is None else VALUE for value in cell.rouge_l]
    n = len(cell.rouge_l)
    table = pa.table(
        {
            "id": list(cell.ids),
            "question": [f"{cell.question} {sample_id}" for sample_id in cell.ids],
            "references": pa.array([[text] for text in cell.references or ["an answer"] * n], pa.list_(pa.string())),
            "subset": list(cell.subsets[:n]),
            "topic": pa.array(cell.topics[:n], pa.string()),
            "task": pa.array(cell.tasks[:n], pa.string()),
            "cluster": component_ids(cell.documents[:n]),
            "score/rouge_l": pa.array(list(cell.rouge_l), pa.float64()),
            "score_state/rouge_l": states,
            "score/hallucination": pa.array(list(cell.rouge_l), pa.float64()),
            "score_state/hallucination": states,
            "score/bleu": pa.array([None] * n, pa.float64()),
            "score_state/bleu": states,
            "score_statistics/bleu": pa.array([BLEU_STATISTICS] * n, pa.list_(pa.float64())),
        }
    )
    if cell.gold_starts:
        table = table.append_column("gold", pa.array(_gold(cell)))
    buffer = io.BytesIO()
    pq.write_table(table, buffer)
    return buffer.getvalue()
