"""Every command of the README works, on a few samples."""

import importlib.util
import json
import re
import shlex
import subprocess
import sys
from math import prod
from pathlib import Path
from typing import Any

import pytest

from components.records import Kind, Sample, TextsWithUnits
from tests.datasets.test_crud_rag import write as write_crud_rag
from tests.datasets.test_omnieval import write as write_omnieval
from tests.llms.chat_server import Reply, chat_server

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
SMALL = ["run.progress=false", "metrics.interval.n_resamples=100"]
MOST_CELLS_RUN = 20
"""Grids with more cells are planned only: their cells are of kinds that other commands run."""


def commands() -> list[str]:
    """The lines of the README's shell blocks, without comments."""
    blocks = re.findall(r"```bash\n(.*?)```", README, re.DOTALL)
    return [line.partition("  #")[0].strip() for block in blocks for line in block.splitlines() if line.strip()]


def sweeps() -> list[list[str]]:
    """The arguments of every `python -m runner`."""
    found = [command.rpartition("&& ")[2] for command in commands()]
    return [shlex.split(command)[2:] for command in found if re.match(r"python -m runner( |$)", command)]


def run(arguments: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", *arguments], cwd=folder, capture_output=True, text=True, timeout=280)


def n_cells(arguments: list[str]) -> int:
    return prod(len(word.partition("=")[2].split(",")) for word in arguments) if "-m" in arguments else 1


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a few records in both published layouts."""
    root = tmp_path_factory.mktemp("published")
    write_crud_rag(root)
    write_omnieval(root)
    write_lines(root / "FinQABench" / "corpus.jsonl", {"_id": "d", "title": "", "text": "The redemption price is 100."})
    write_lines(root / "FinQABench" / "queries.jsonl", {"_id": "q", "text": "What is the redemption price?"})
    (root / "FinQABench" / "qrels.tsv").write_text("query_id\tcorpus_id\tscore\nq\td\t1\n")
    return root


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the README's reader brings: documents, and the two questions that it shows."""
    root = tmp_path_factory.mktemp("own")
    (root / "DOCUMENTS" / "history").mkdir(parents=True)
    text = "The bridge was opened in 1932. It was designed by a team of engineers."
    (root / "DOCUMENTS" / "history" / "bridge.md").write_text(text)
    (shown,) = re.findall(r"```json\n(.*?)```", README, re.DOTALL)
    (root / "QUESTIONS").write_text(shown)
    return root


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a small sweep in results/SWEEP."""
    root = tmp_path_factory.mktemp("sweep")
    axes = ["-m", "retriever=bm25,hybrid", "chunk.size=64,128"]
    few = ["dataset.limit=60", "tracking=none", "hydra.sweep.dir=results/SWEEP", *SMALL]
    done = run(["runner", *axes, *few], root)
    assert done.returncode == 0, done.stderr
    return root


def write_lines(path: Path, *records: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")


def with_module(name: str) -> list[list[str]]:
    """The arguments of every `python -m <name>`."""
    return [shlex.split(command)[3:] for command in commands() if command.startswith(f"python -m {name} ")]


def test_set_up_takes_the_two_commands_that_ci_runs() -> None:
    assert commands()[0] == (
        "python -m pip install -c constraints.txt -e . && "
        "python -m runner -m chunk.size=64,128,256,512 retriever=hybrid_rerank"
    )
    assert commands()[-1] == "python -m pip install -c constraints.txt -e '.[dev]' && python -m pytest"


@pytest.mark.parametrize("arguments", sweeps(), ids=lambda arguments: " ".join(arguments[1:]) or "one cell")
def test_sweep(arguments: list[str], published: Path, own: Path, tmp_path: Path) -> None:
    extra = list(SMALL)
    for name in ("DOCUMENTS", "QUESTIONS"):
        arguments = [word.replace(f"={name}", f"={own / name}") for word in arguments]
    if "limit" not in " ".join(arguments) and "+sweeps=smoke" not in arguments:
        extra.append("dataset.limit=6")
    if "dataset=crud_rag" in arguments:
        extra.append("retriever.sparse_index.max_share_without_hits=1.0")  # its few documents answer few questions
    if n_cells(arguments) > MOST_CELLS_RUN:
        extra.append("run.plan_only=true")
    done = run([*(word.replace("PATH", str(published)) for word in arguments), *extra], tmp_path)
    assert done.returncode == 0, done.stderr + done.stdout
    assert "Plan" in done.stdout
    if "run.plan_only=true" not in [*arguments, *extra]:
        assert "Leaderboard" in done.stdout
        assert list(tmp_path.glob("results/*/*/cell.json"))
        assert (tmp_path / "mlflow.db").is_file()


def test_store_and_track(tmp_path: Path) -> None:
    assert run(["runner", "dataset.limit=6", "retriever=bm25", "tracking=none", *SMALL], tmp_path).returncode == 0
    assert "results" in run(["runner.store", "ls"], tmp_path).stdout
    (sweep,) = [path.parent for path in tmp_path.glob("results/*/sweep.json")]
    tracked = run(["runner.track", str(sweep)], tmp_path)
    assert tracked.returncode == 0, tracked.stderr
    assert "logged 1 cell" in tracked.stdout


@pytest.mark.parametrize("arguments", with_module("analysis"), ids=" ".join)
def test_analysis(arguments: list[str], sweep: Path) -> None:
    done = run(["analysis", *(word.replace("crud_rag/3", "crud_rag/5") for word in arguments)], sweep)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) > 3


def test_scores_of_any_system(tmp_path: Path) -> None:
    (arguments,) = with_module("runner.score")
    answer = {"id": "1", "prediction": "北京", "references": ["北京"], "ranking": ["d"], "relevant": {"d": 1}}
    write_lines(tmp_path / "ANSWERS.jsonl", answer)
    done = run(["runner.score", *arguments], tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "SUMMARY.json").read_text())["rouge_l"]["value"] == 1.0


def test_a_judge_against_labels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (arguments,) = with_module("runner.judge_agreement")
    item = {"question": "Who?", "references": ["She"], "answer": "She", "labels": {"accuracy": 2}}
    write_lines(tmp_path / "LABELS.jsonl", item)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    with chat_server(lambda *_: Reply('{"reason": "right", "grade": 2}')) as server:
        words = [word.replace("LABELS", "LABELS.jsonl") for word in arguments]
        done = run(["runner.judge_agreement", *words, f"judge.llm.base_url={server.url}"], tmp_path)
    assert done.returncode == 0, done.stderr
    assert "accuracy" in done.stdout


def test_description_of_a_data_set(own: Path) -> None:
    (arguments,) = with_module("runner.datasets")
    done = run(["runner.datasets", *arguments], own)
    assert done.returncode == 0, done.stderr
    assert "documents" in done.stdout


def test_the_component_that_is_shown_is_one(tmp_path: Path) -> None:
    (code,) = re.findall(r"```python\n(# components/metrics/answered.py.*?)```", README, re.DOTALL)
    (tmp_path / "answered.py").write_text(code, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("answered", tmp_path / "answered.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["answered"] = module
    spec.loader.exec_module(module)
    samples = [Sample(str(i), "read", Kind.QA, "?", ("!",)) for i in range(2)]
    scores = module.Answered().score_answers(samples, TextsWithUnits(["text", " "]), TextsWithUnits(["!", "!"]))[
        "answered"
    ]
    assert scores.values.tolist() == [1.0, 0.0]


def test_every_axis_option_that_is_named_exists() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (`[^|]+`) \|", README, re.MULTILINE)
    assert len(rows) > 10
    for group, options in rows:
        if (ROOT / "conf" / group).is_dir():
            named = set(re.findall(r"`(\w+)`", options))
            assert named == {path.stem for path in (ROOT / "conf" / group).glob("*.yaml")}
