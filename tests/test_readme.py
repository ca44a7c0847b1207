"""Every command, program and file that the README and docs/ show works, on a few samples."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections import defaultdict
from contextlib import suppress
from math import prod
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft7Validator
from omegaconf import OmegaConf

from analysis.decision import candidates
from analysis.report.answer_section import gather
from analysis.report.report_input import open_source
from components.datasets.rgb import Part
from components.errors import ConfigError
from runner.annotate import main as annotate
from runner.launch.compose import compose_config
from runner.output.standings import find_standings
from runner.results.loaded_sweep import load
from runner.results.set_files import read_testset, write_testset
from tests.conftest import MakeOnce
from tests.datasets import test_multihop_rag, test_rgb
from tests.datasets.test_crud_rag import write as write_crud_rag
from tests.datasets.test_omnieval import write as write_omnieval
from tests.extras import skip_without
from tests.forked import run_forked
from tests.llms.chat_server import Reply, chat_server
from tests.runner.testset.annotating.exports import rate, untouched
from tests.runner.testset.annotating.exports import write as write_export
from tests.runner.testset.fetching.hub_server import hub_server
from tests.runner.testset.small import small_set

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
DOCS = {path.name: path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs").glob("*.md"))}
AGENTS = (ROOT / "AGENTS.md").read_text(encoding="utf-8")
LLMS = (ROOT / "docs" / "llms.txt").read_text(encoding="utf-8")
PAGES = (README, AGENTS, *DOCS.values())
TUTORIAL = DOCS["tutorial.md"]
DATASETS = DOCS["datasets.md"]
SMALL = ["run.progress=false", "metrics.interval.n_resamples=100"]
MAX_RUN_CELLS = 20
"""Grids with more cells are planned only: their cells are of kinds that other commands run."""

OWN_METRIC = "answered"
"""Commands that name it belong together: the metric of the reader's own package has a test of its own."""

FIRST_PATH = "## From a sweep to a pipeline that answers\n"
DATA_PATH = "## From documents to a benchmark\n"
"""The parts of the README whose (first) commands are given one after the other, in one folder. So is the tutorial."""

TIMEOUT_S = 280

COMPLETION = 'eval "$(rag-grid -sc install=bash)" '
"""Run by tests/runner/launch/test_completion.py."""

NOT_RUN = ("python -m pip ", "mlflow ui ", "mlflow models serve ", COMPLETION)
"""Setting up, which is what CI begins with, servers, and commands that another test runs."""

GATE = ("baseline", "gate")
"""Commands of the analysis that belong together."""

EXPORTED = "python winner/pipeline.py "
"""The start of commands in an exported folder."""


def commands(*pages: str) -> list[str]:
    """The lines of the shell blocks, without comments; each once."""
    blocks = [block for page in pages or PAGES for block in re.findall(r"```bash\n(.*?)```", page, re.DOTALL)]
    lines = [line.partition("  #")[0].strip() for block in blocks for line in block.splitlines()]
    return list(dict.fromkeys(line for line in lines if line))


def path(heading: str) -> list[str]:
    """Return the commands of the README under a heading, which belong together."""
    return commands(README.partition(heading)[2].partition("\n## ")[0].partition("To go further")[0])


def with_module(name: str) -> list[list[str]]:
    """The arguments of every `python -m <name>` but those that belong together."""
    together = [*path(FIRST_PATH), *path(DATA_PATH), *commands(TUTORIAL), *commands(DATASETS)[:2]]
    found = [command.rpartition("&& ")[2] for command in commands() if command not in together]
    return [shlex.split(command)[3:] for command in found if re.match(rf"python -m {re.escape(name)}( |$)", command)]


def without_own_metric(calls: list[list[str]]) -> list[list[str]]:
    return [arguments for arguments in calls if OWN_METRIC not in " ".join(arguments)]


def programs() -> list[str]:
    """The Python blocks that a reader would run as they are."""
    blocks = [block for page in PAGES for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL)]
    return [block for block in dict.fromkeys(blocks) if re.match(r"import (runner|analysis)\b", block)]


def write_own_files(folder: Path) -> None:
    """The files that the pages tell the reader to write: blocks that begin with their path, such as my_conf/..."""
    for page in PAGES:
        for path, text in re.findall(r"```(?:python|yaml)\n# (my_\S+)\n(.*?)```", page, re.DOTALL):
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, encoding="utf-8")


def python(arguments: list[str], folder: Path) -> "subprocess.CompletedProcess[str]":
    """Runs this checkout's code, whichever one is installed, in a folder outside it."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, capture_output=True, text=True, timeout=TIMEOUT_S, env=environment
    )


def run(arguments: list[str], folder: Path) -> "subprocess.CompletedProcess[str]":
    """`python -m` with these arguments."""
    module, *words = arguments
    return run_forked(module, words, folder, os.environ, TIMEOUT_S)


def n_cells(arguments: list[str]) -> int:
    return prod(len(word.partition("=")[2].split(",")) for word in arguments) if "-m" in arguments else 1


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a few records in the published layouts."""
    root = tmp_path_factory.mktemp("published")
    write_crud_rag(root)
    write_omnieval(root)
    write_lines(root / "FinQABench" / "corpus.jsonl", {"_id": "d", "title": "", "text": "The redemption price is 100."})
    write_lines(root / "FinQABench" / "queries.jsonl", {"_id": "q", "text": "What is the redemption price?"})
    (root / "FinQABench" / "qrels.tsv").write_text("query_id\tcorpus_id\tscore\nq\td\t1\n")
    test_multihop_rag.write(root)
    test_rgb.write(root, Part.EN_REFINE)
    test_rgb.write(root, Part.ZH_FACT, [test_rgb.FALSE])
    return root


@pytest.fixture(scope="module")
def user_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a user's data: documents, the two questions that the README shows, and the questions with passages."""
    root = tmp_path_factory.mktemp("own")
    (root / "DOCUMENTS" / "history").mkdir(parents=True)
    text = "The bridge was opened in 1932. It was designed by a team of engineers."
    (root / "DOCUMENTS" / "history" / "bridge.md").write_text(text)
    (root / "DOCUMENTS" / "returns.md").write_text("Customers may return goods. The default is 30 days after delivery.")
    shown = {block for page in PAGES for block in re.findall(r"```json\n(.*?)```", page, re.DOTALL)}
    for name, has_passages in (("PASSAGES", True), ("QUESTIONS", False)):
        (root / name).write_text("".join(sorted(block for block in shown if ('"passages"' in block) is has_passages)))
    return root


@pytest.fixture(scope="session")
def sweep(make_once: MakeOnce) -> Path:
    """A folder with a small sweep in results/SWEEP."""

    def fill(folder: Path) -> None:
        axes = ["-m", "retriever=bm25,hybrid", "chunk.size=64,128"]
        few = ["dataset.limit=30", "tracking=none", "run.workers=1", "hydra.sweep.dir=results/SWEEP", *SMALL]
        done = run(["runner", *axes, *few], folder)
        assert done.returncode == 0, done.stderr

    return make_once("readme-sweep", fill)


@pytest.fixture(scope="session")
def shared_store(make_once: MakeOnce) -> str:
    """The override for a store that all commands share, like commands of a reader in one folder."""
    return f"run.store_dir={make_once('readme-store', lambda _: None)}"


def write_lines(path: Path, *records: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")


def test_readme_starts_with_the_two_commands_of_ci() -> None:
    assert commands()[:2] == [
        "python -m pip install -c constraints.txt -e .",
        "python -m runner -m dataset=demo_en retriever=bm25,dense,hybrid chunk.size=128,256,512 top_k=2,8",
    ]
    assert commands(README)[-1] == "python -m pip install -c constraints.txt -e '.[dev]' && python -m pytest"


def test_chinese_readme_has_the_same_commands() -> None:
    def blocks(page: str) -> list[list[str]]:
        found = re.findall(r"```\w+\n(.*?)```", page, re.DOTALL)
        return [[line.partition("  #")[0].strip() for line in block.splitlines()] for block in found]

    assert blocks((ROOT / "README.zh.md").read_text(encoding="utf-8")) == blocks(README)


def test_every_documented_module_is_run_by_a_test() -> None:
    run_here = (
        "runner",
        "analysis",
        *(
            f"runner.{name}"
            for name in (
                "annotate",
                "datasets",
                "export",
                "export_rankings",
                "generate",
                "judge_agreement",
                "judge_training",  # tests/runner/labels/training/test_training.py runs it, where torch is loaded
                "models",
                "schema",
                "score",
                "store",
                "track",
            )
        ),
    )
    known = (*(f"python -m {name} " for name in run_here), EXPORTED)
    given = [command.removeprefix("mkdir -p my_conf/sweeps && ") for command in commands()]
    assert [command for command in given if not f"{command} ".startswith((*known, *NOT_RUN))] == []


@pytest.mark.parametrize(
    "arguments", without_own_metric(with_module("runner")), ids=lambda arguments: " ".join(arguments) or "one cell"
)
def test_readme_sweep_runs(
    arguments: list[str], published: Path, user_folder: Path, shared_store: str, tmp_path: Path
) -> None:
    write_own_files(tmp_path)
    extra = [*SMALL, shared_store]
    is_tracked = commands()[0].endswith(shlex.join(["runner", *arguments]))
    if not is_tracked:  # MLflow takes longer than six samples do, and so do other processes
        extra.append("tracking=none")
        if not any(word.startswith("run.workers") for word in arguments):
            extra.append("run.workers=1")
    for name in ("DOCUMENTS", "PASSAGES", "QUESTIONS"):
        arguments = [word.replace(f"={name}", f"={user_folder / name}") for word in arguments]
    if "limit" not in " ".join(arguments) and "+sweeps=smoke" not in arguments:
        extra.append("dataset.limit=6")
    if "hydra/launcher=joblib" in arguments:
        extra.append("hydra.launcher.n_jobs=1")  # each other process would load everything
    if not {"dataset=crud_rag", "dataset=multihop_rag"}.isdisjoint(arguments):
        extra.append("retriever.sparse_index.max_share_without_hits=1.0")  # the few documents answer few questions
    if n_cells(arguments) > MAX_RUN_CELLS:
        extra.append("run.plan_only=true")
    with chat_server(lambda *_: Reply("In 1932.")) as server:
        places = {"PATH": str(published), "http://localhost:8000/v1": server.url}
        for name, place in places.items():
            arguments = [word.replace(name, place) for word in arguments]
        words = ["runner", *arguments, *extra]
        done = python(["-m", *words], tmp_path) if is_tracked else run(words, tmp_path)
    assert done.returncode == 0, done.stderr + done.stdout
    assert "Plan" in done.stdout
    if "run.plan_only=true" not in [*arguments, *extra]:
        assert "Leaderboard" in done.stdout
        assert list(tmp_path.glob("results/*/*/cell.json"))
        assert (tmp_path / "mlflow.db").is_file() == is_tracked


def executor_overrides() -> list[str]:
    """The overrides of `executor` that the pages name, in tables and in commands that cannot run here."""
    blocks = [block for page in PAGES for block in re.findall(r"```text\n(.*?)```", page, re.DOTALL)]
    words = [word for block in blocks if "executor." in block for word in shlex.split(block, comments=True)]
    words += [
        word
        for page in PAGES
        for quoted in re.findall(r"`(\S*executor\.\S+=.*?)`", page)
        for word in shlex.split(quoted)
    ]
    return sorted({word for word in words if re.match(r"\+?executor\.[\w.]+=", word)})


@pytest.mark.parametrize("override", executor_overrides())
def test_documented_executor_overrides_compose(override: str) -> None:
    understood = []
    for name in ("processes", "ray", "slurm"):
        with suppress(ConfigError):
            understood.append(compose_config([f"executor={name}", override]))
    assert understood


def test_llms_txt_commands_are_commands_of_the_pages() -> None:
    named = re.findall(r"`(python -m \w[\w.]* [^`]+)`", LLMS)
    assert len(named) == 3
    assert set(named) <= set(commands())


def test_documented_user_prompt_changes_only_its_one_template(tmp_path: Path) -> None:
    write_own_files(tmp_path)
    arguments = ["runner", "--config-dir", "my_conf", "--cfg", "job"]
    english, mine = (
        OmegaConf.create(run([*arguments, f"prompt={name}"], tmp_path).stdout).prompt for name in ("english", "mine")
    )
    assert [name for name in english if english[name] != mine[name]] == ["qa"]


def test_documented_custom_metric_runs_outside_the_repository(shared_store: str, tmp_path: Path) -> None:
    write_own_files(tmp_path)
    (sweep,) = [arguments for arguments in with_module("runner") if any(OWN_METRIC in word for word in arguments)]
    few = ["dataset.limit=6", "tracking=none", "run.workers=1", "hydra.sweep.dir=results/SWEEP", shared_store, *SMALL]
    done = run(["runner", *sweep, *few], tmp_path)
    assert done.returncode == 0, done.stderr + done.stdout
    (header,) = [line for line in done.stdout.splitlines() if line.startswith("cell ") and "ndcg@10" in line]
    assert OWN_METRIC in header.split()
    cells = [json.loads(path.read_text()) for path in tmp_path.glob("results/SWEEP/*/cell.json")]
    assert [cell["metrics"]["overall"][OWN_METRIC]["n"] for cell in cells] == [6, 6]
    assert all(cell["larger_is_better"][OWN_METRIC] is True for cell in cells)
    (compare,) = [arguments for arguments in with_module("analysis") if OWN_METRIC in arguments]
    compared = run(["analysis", *compare], tmp_path)
    assert compared.returncode == 0, compared.stderr
    assert f"{OWN_METRIC} of all samples against the best cell (larger is better)" in compared.stdout


def test_documented_chunker_index_and_reranker_run_outside_the_repository(shared_store: str, tmp_path: Path) -> None:
    write_own_files(tmp_path)
    (sweep,) = [arguments for arguments in with_module("runner") if "chunk=paragraphs" in arguments]
    done = run(["runner", *sweep, "dataset.limit=6", "tracking=none", "run.workers=1", shared_store, *SMALL], tmp_path)
    assert done.returncode == 0, done.stderr + done.stdout
    (cell,) = [json.loads(path.read_text()) for path in tmp_path.glob("results/*/*/cell.json")]
    own = {name: cell["config"][name]["_target_"].rpartition(".")[2] for name in ("chunk", "vector_index", "reranker")}
    assert own == {"chunk": "Paragraphs", "vector_index": "DotProducts", "reranker": "SharedCharacters"}
    assert cell["metrics"]["overall"]["recall@10"]["value"] > 0.5


def test_documented_user_components_have_at_most_25_lines(tmp_path: Path) -> None:
    write_own_files(tmp_path)
    modules = {path.name: path.read_text(encoding="utf-8") for path in tmp_path.glob("my_package/*.py")}
    assert {"answered.py", "paragraphs.py", "dot_products.py", "shared_characters.py"} <= set(modules)
    assert {name: n for name, text in modules.items() if (n := len(text.splitlines())) > 25} == {}


@pytest.mark.parametrize("program", programs(), ids=lambda program: program.split()[1].strip(","))
def test_readme_program_runs(program: str, sweep: Path, shared_store: str, tmp_path: Path) -> None:
    words = ["dataset=demo", "dataset.limit=6", "tracking=none", "run.workers=1", shared_store, *SMALL]
    few = ", ".join(f'"{word}"' for word in words)
    check = "\nassert len(sweep.cells) > 1, sweep"
    shutil.copytree(sweep / "results", tmp_path / "results")  # a sweep of the program would be `latest` for others
    file = tmp_path / "program_of_the_readme.py"
    file.write_text(program.replace('"dataset=demo"', few) + check, encoding="utf-8")
    done = run([file.stem], tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("arguments", with_module("runner.store"), ids=" ".join)
def test_readme_store_commands_run(arguments: list[str], sweep: Path) -> None:
    done = run(["runner.store", *arguments], sweep)
    assert done.returncode == 0, done.stderr
    assert "results" in done.stdout


@pytest.mark.parametrize("arguments", with_module("runner.track"), ids=" ".join)
@pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SADeprecationWarning")  # MLflow's own queries
def test_readme_track_command_runs(
    arguments: list[str], sweep: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command runs in this process, which has loaded MLflow for other tests: see `LOADING` in tests.conftest."""
    from runner.track import main

    monkeypatch.chdir(sweep)
    assert main(arguments) == 0
    told = capsys.readouterr().out
    assert "logged 4 cell" in told
    assert ("in each of 4 cells" in told) == ("--traces" in arguments)


def test_documented_rankings_export_runs(sweep: Path, tmp_path: Path) -> None:
    """tests/runner/launch/test_claims_sweep.py exports judgements, from a judged sweep."""
    (arguments,) = [words for words in with_module("runner.export_rankings") if "trec" in words]
    words = [str(tmp_path / word) if word == "run.txt" else word for word in arguments]
    done = run(["runner.export_rankings", *words], sweep)
    assert done.returncode == 0, done.stderr
    assert len({line.split()[0] for line in (tmp_path / "run.txt").read_text("utf-8").splitlines()}) == 30


def test_readme_export_of_the_winner_answers(sweep: Path) -> None:
    (arguments,) = with_module("runner.export")
    done = run(["runner.export", *arguments], sweep)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("exported ")
    assert done.stderr == ""
    model = (sweep / "winner" / "model" / "MLmodel").read_text(encoding="utf-8")
    assert "task: agent/v1/responses" in model
    assert "/tmp" not in model
    check, question = (
        shlex.split(command)[1:] for command in commands(DOCS["export.md"]) if command.startswith(EXPORTED)
    )
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    asked = [*question[:-1], "资金什么时候到账?"]  # because the sweep's documents are Chinese
    for words, wanted in ((check, "30 of 30 answers equal, 30 of 30 rankings equal ("), (asked, "[1] ")):
        command = [sys.executable, *words]
        told = subprocess.run(command, cwd=sweep, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S)
        assert told.returncode == 0, told.stderr + told.stdout
        assert wanted in told.stdout


def test_readme_path_leads_from_a_sweep_to_an_answering_pipeline(tmp_path: Path) -> None:
    sweep, report, samples, export, ask = map(shlex.split, path(FIRST_PATH))
    few = ["dataset.limit=20", "embedder=hashing", "metrics=retrieval", "tracking=none", "run.workers=1", *SMALL]
    told = []
    for command in ([*sweep, *few], report, samples, export):
        done = run(command[2:], tmp_path)
        assert done.returncode == 0, done.stderr + done.stdout
        told.append(done.stdout)
    assert "Plan: 18 cells" in told[0]
    loaded = load("latest", tmp_path / "results")
    standings = find_standings(loaded.cells, loaded.folder, loaded.headline)
    assert standings.best is not None
    first_row = told[0].partition("\ncell ")[2].splitlines()[1].split()[0]
    places = {
        "leaderboard.csv": (loaded.folder / "leaderboard.csv").read_text("utf-8").splitlines()[1].partition(",")[0],
        "best": loaded.best().cell_id,
        "analysis candidates": candidates(loaded, loaded.headline_metric())[0].take,
        "the report": gather(open_source(str(loaded.folder))).take,
        "MLflow": standings.best.cell_id,
        "the export": told[3].split()[1],
    }
    assert places == dict.fromkeys(places, first_row)
    assert [path.suffix for path in sorted(tmp_path.glob("results/*/report.*"))] == [".html", ".json", ".md"]
    assert told[2].count("question") >= 3
    answered = python(ask[1:], tmp_path)
    assert answered.returncode == 0, answered.stderr
    assert "[1] " in answered.stdout


def test_readme_path_leads_from_documents_to_a_benchmark(tmp_path: Path) -> None:
    generate, *others, sweep = map(shlex.split, path(DATA_PATH))
    few = ["embedder=hashing", "metrics=retrieval", "tracking=none", "run.workers=1", *SMALL]
    for command in (generate, *others, [*sweep, *few]):
        done = run(command[2:], tmp_path)
        assert done.returncode == 0, done.stderr + done.stdout
    made, corrected = (read_testset(tmp_path / name) for name in ("my_set", "my_set_2"))
    assert len(made.samples) >= 50
    assert corrected.key == made.key, "nobody changed anything"
    assert "Plan: 2 cells" in done.stdout
    (matrix, _) = tmp_path.glob("results/*/*/matrix_ndcg@10.csv")
    fields = matrix.read_text(encoding="utf-8")
    assert all(topic in fields for topic in ("银行", "证券", "保险", "人工智能", "交通"))


def test_tutorial_leads_from_the_first_sweep_to_an_answer(tmp_path: Path) -> None:
    for name, text in re.findall(r"```json title=\"(my_\S+)\"\n(.*?)```", TUTORIAL, re.DOTALL):
        (tmp_path / name).write_text(text, encoding="utf-8")
    first, *others = map(shlex.split, commands(TUTORIAL))
    sweep = ["tracking=none", "run.workers=1"]
    outputs = []
    for command in ([*first, "run.plan_only=true"], *others):  # the first one is the README's, which is run above
        words = [*command, *sweep] if command[2] == "runner" else command
        done = python(command[1:], tmp_path) if command[1].startswith("winner") else run(words[2:], tmp_path)
        assert done.returncode == 0, done.stderr + done.stdout
        outputs.append(done.stdout)
    whole = "\n".join(outputs)
    for shown in (
        "Plan: 18 cells",
        "documents    91   106.5  110.1  130.7  131",
        "bf2271ab0a66           hybrid     32            0.8262 0.485–0.960            0.2291",
        "Where do I ask for an umbrella that I forgot?",
        "Plan: 2 cells, at most 20 requests for answers",
        "Take bm25 · 32. It has the best ndcg@10: 0.9000 over all samples",
        "1aecfd74     dense      32          0.4762     -0.4238  -0.7471 to +0.0000  0.0805",
        "10 of 10 answers equal, 10 of 10 rankings equal (",
    ):
        assert shown in whole
        assert shown.rpartition("  ")[0] in TUTORIAL


def test_readme_gate_passes_an_unchanged_cell(sweep: Path) -> None:
    gate = [arguments for arguments in with_module("analysis") if arguments[0] in GATE]
    assert [arguments[0] for arguments in gate] == list(GATE)
    for arguments in gate:
        done = run(["analysis", *arguments], sweep)
        assert done.returncode == 0, done.stderr
    assert "PASSED: rouge_l: the same scores for every sample." in done.stdout


@pytest.mark.parametrize(
    "arguments",
    [own for own in without_own_metric(with_module("analysis")) if own[0] not in GATE],
    ids=" ".join,
)
def test_readme_analysis_commands_run(arguments: list[str], sweep: Path) -> None:
    if arguments[0] == "notebooks":
        skip_without("jupytext", extra="notebooks")
    done = run(["analysis", *(word.replace("crud_rag/3", "crud_rag/5") for word in arguments)], sweep)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) > 3


def test_documented_score_command_runs(tmp_path: Path) -> None:
    (arguments,) = with_module("runner.score")
    answer = {"id": "1", "prediction": "北京", "references": ["北京"], "ranking": ["d"], "relevant": {"d": 1}}
    write_lines(tmp_path / "ANSWERS.jsonl", answer)
    done = run(["runner.score", *arguments], tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "SUMMARY.json").read_text())["rouge_l"]["value"] == 1.0


def test_documented_judge_agreement_command_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (arguments,) = (words for words in with_module("runner.judge_agreement") if "--labels" in words)
    item = {"question": "Who?", "references": ["She"], "answer": "She", "labels": {"accuracy": 2}}
    write_lines(tmp_path / "LABELS.jsonl", item)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    with chat_server(lambda *_: Reply('{"reason": "right", "grade": 2}')) as server:
        words = [word.replace("LABELS", "LABELS.jsonl") for word in arguments]
        done = run(["runner.judge_agreement", *words, f"judge.llm.base_url={server.url}"], tmp_path)
    assert done.returncode == 0, done.stderr
    assert "accuracy" in done.stdout


def test_documented_annotation_commands_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    testset = small_set()
    write_testset(Path("SET"), testset)
    for name, stars in (("ANN", 5), ("BO", 4)):
        tasks = untouched(testset)
        for task in tasks:
            rate(task, stars)
        write_export(Path(f"{name}.json"), tasks)
    for arguments in with_module("runner.annotate"):
        words = [word for word in arguments if word != "dev=1"]  # the few samples form only two groups
        assert annotate(words) == 0, arguments
    assert len(json.loads(Path("tasks.json").read_text("utf-8"))) == len(testset.samples)
    assert read_testset(Path("ACCEPTED")).key == testset.key
    assert sorted(path.name for path in Path("PARTS").iterdir()) == ["test", "train"]


def test_documented_data_set_description_runs(user_folder: Path) -> None:
    (arguments,) = with_module("runner.datasets")
    done = run(["runner.datasets", *arguments], user_folder)
    assert done.returncode == 0, done.stderr
    assert "documents" in done.stdout


def test_editor_schema_accepts_the_documented_presets(tmp_path: Path) -> None:
    write_own_files(tmp_path)
    (arguments,) = with_module("runner.schema")
    assert arguments[-2:] == [">", "my_conf/sweeps/schema.json"]
    done = run(["runner.schema", *arguments[:-2]], tmp_path)
    assert done.returncode == 0, done.stderr
    validator = Draft7Validator(json.loads(done.stdout))
    for path in (tmp_path / "my_conf" / "sweeps").iterdir():
        assert list(validator.iter_errors(yaml.safe_load(path.read_text("utf-8")))) == []


def test_documented_fetch_and_sweep_of_a_named_data_set_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAG_GRID_DATA", str(tmp_path / "data"))
    fetch, sweep = (shlex.split(command)[2:] for command in commands(DATASETS)[:2])
    with hub_server() as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        done = run(fetch, tmp_path)
    assert done.returncode == 0, done.stderr
    done = run([*sweep, "tracking=none", "run.workers=1", f"run.store_dir={tmp_path / 'store'}"], tmp_path)
    assert done.returncode == 0, done.stderr + done.stdout
    (cell,) = tmp_path.glob("results/*/*/cell.json")
    assert json.loads(cell.read_text("utf-8"))["metrics"]["overall"]["ndcg@10"]["n"] == 2


def test_every_option_is_documented_and_exists() -> None:
    """Models by name, which begin from another option, in docs/models.md; all others in docs/axes.md."""
    rows = re.findall(r"^\| `(\w+)` \| (`[^|]+`) \|", (ROOT / "docs/axes.md").read_text("utf-8"), re.MULTILINE)
    rows += re.findall(r"^\| `(\w+)` \| (\*?`[^|]+`) \|$", (ROOT / "docs/models.md").read_text("utf-8"), re.MULTILINE)
    assert len(rows) > 10
    named: defaultdict[str, set[str]] = defaultdict(set)
    for group, options in rows:
        named[group] |= set(re.findall(r"`([\w.-]+)`", options))
    groups = {folder.name for folder in (ROOT / "conf").iterdir() if folder.is_dir() and list(folder.glob("*.yaml"))}
    assert groups - named.keys() == set()
    for group in named:
        if (ROOT / "conf" / group).is_dir():
            assert named[group] == {path.stem for path in (ROOT / "conf" / group).glob("*.yaml")}


def test_first_documented_option_is_the_default_of_its_group() -> None:
    rows = re.findall(r"^\| `(\w+)` \| `([^`]+)`", (ROOT / "docs/axes.md").read_text("utf-8"), re.MULTILINE)
    config = (ROOT / "conf/config.yaml").read_text("utf-8")
    defaults = dict(re.findall(r"^  - (\w+): (\w[\w.-]*)", config, re.MULTILINE))
    shown = {group: option for group, option in rows if group in defaults}
    assert shown == {group: option for group, option in defaults.items() if group in shown}
    assert len(shown) > 25
