"""Whole runs of the command: against a server that counts, killed and started again, with a budget, with no model."""

import json
import os
import re
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from analysis.__main__ import main as analysis_main
from components.datasets.jsonl import Jsonl
from components.datasets.omnieval import OmniEval
from components.llms.rehearsal.model import write_reply
from components.records import Message
from components.testset.topics.tree import list_topics
from components.testset.topics.tree_file import read_leaves
from runner.generate import main
from runner.results.set_files import read_testset
from runner.testset.describing.data_description import count_leaks
from tests.forked import ForkedCommand
from tests.llms.chat_server import ChatServer, Reply, chat_server
from tests.runner.sweeping import wait_until

TASKS = "tasks=[extractive,multi_hop,conversational]"
FEW = ("tasks=[extractive,conversational]", "gates=[form,location,self_contained,answerable,inspection]")
CONCURRENCY = 4


def as_rehearsed(request: dict[str, Any], attempt: int) -> Reply:
    messages = [Message(own["role"], own["content"]) for own in request["messages"]]
    return Reply(write_reply(messages, flawed_share=0.1), delay_s=0.005)


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with chat_server(as_rehearsed) as server:
        yield server


def arguments(folder: Path, server: ChatServer | None = None, *more: str) -> list[str]:
    model = ["llm=rehearsal"]
    if server:
        model = ["llm=openai", f"llm.base_url={server.url}", "llm.model=m", "llm.api_key_env="]
        model.append(f"llm.concurrency={CONCURRENCY}")
    own = [f"out={folder}/set", f"run.store_dir={folder}/store"]
    return ["corpus=demo", "topics=demo", TASKS, "per_cell=1", *model, *own, *more]


def content(folder: Path) -> dict[str, bytes]:
    """All files of a set."""
    files = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}
    return {name: path.read_bytes() for name, path in files.items()}


def killed(folder: Path, server: ChatServer, n_more: int) -> None:
    """Start a run, and kill it after this number of further requests."""
    n_before = len(server.requests)
    process = ForkedCommand("runner.generate", arguments(folder, server, *FEW), folder, dict(os.environ))
    wait_until(lambda: len(server.requests) >= n_before + n_more, process)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate(60)


def test_generation_killed_twice_gives_the_same_set(tmp_path: Path, server: ChatServer) -> None:
    undisturbed, disturbed = tmp_path / "one", tmp_path / "two"
    disturbed.mkdir()
    assert main(arguments(undisturbed, server, *FEW)) == 0
    n_needed = len(server.requests)
    server.requests.clear()
    killed(disturbed, server, 30)
    killed(disturbed, server, 60)
    assert main(arguments(disturbed, server, *FEW)) == 0
    assert content(disturbed / "set") == content(undisturbed / "set")
    # Each kill loses requests that are sent, received or being passed on: at most CONCURRENCY of each.
    assert n_needed <= len(server.requests) <= n_needed + 2 * 3 * CONCURRENCY
    server.requests.clear()
    assert main(arguments(disturbed, server, *FEW, "near_duplicates.threshold=0.9")) == 0
    assert not server.requests


def test_generation_plan_sends_no_request_and_is_an_upper_bound(
    tmp_path: Path, server: ChatServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments(tmp_path, server, *FEW, "run.plan_only=true")) == 0
    assert server.requests == []
    assert not (tmp_path / "set").exists()
    shown = capsys.readouterr().out
    line = next(line for line in shown.splitlines() if line.startswith("at most:"))
    n_most = int(line.split()[2].replace(",", ""))
    assert main(arguments(tmp_path, server, *FEW)) == 0
    assert 100 < len(server.requests) < n_most


def test_unreadable_server_gets_at_most_the_announced_requests(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with chat_server(lambda request, attempt: Reply("汉" * 3000)) as server:
        own = ["tasks=[continuation]", "gates=[form]", "waves.max_documents=4"]
        assert main(arguments(tmp_path, server, *own)) == 1
    told = re.search(r"at most: +([\d,]+) requests, up to ([\d,]+) tokens", capsys.readouterr().out)
    assert told
    n_requests, n_tokens = (int(number.replace(",", "")) for number in told.groups())
    n_bytes = sum(len(own["content"].encode()) for request in server.requests for own in request["messages"])
    n_completion = sum(request.get("max_tokens", request.get("max_completion_tokens")) for request in server.requests)
    assert 0 < len(server.requests) <= n_requests
    assert n_bytes / 3 + n_completion <= n_tokens


def test_larger_request_budget_continues_a_generation(tmp_path: Path, server: ChatServer) -> None:
    assert main(arguments(tmp_path, server, *FEW, "budget.max_requests=60")) == 1
    assert 0 < len(server.requests) <= 60
    few = read_testset(tmp_path / "set")
    assert few.samples
    assert "budget.max_requests" in few.about["stopped"]
    assert main(arguments(tmp_path, server, *FEW, "budget.max_requests=2000")) == 0
    all_of_them = read_testset(tmp_path / "set")
    assert all_of_them.samples[: len(few.samples)] == few.samples
    assert len(all_of_them.samples) > len(few.samples)


@pytest.fixture(scope="module")
def flawed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A set made with a writer many of whose drafts are flawed."""
    folder = tmp_path_factory.mktemp("flawed")
    assert main(arguments(folder, None, "llm.flawed_share=0.3", "per_cell=2")) in (0, 1)
    return folder / "set"


def test_set_files_account_for_every_draft(flawed: Path) -> None:
    made = read_testset(flawed)
    rows = [row.split(",") for row in (flawed / "coverage.csv").read_text(encoding="utf-8").splitlines()]
    coverage = [dict(zip(rows[0], row, strict=True)) for row in rows[1:]]
    assert {(cell["topic"], cell["task"]) for cell in coverage} == {
        (topic, task)
        for topic in ("银行", "证券", "保险", "人工智能", "交通")
        for task in ("extractive", "multi_hop", "conversational")
    }
    for cell in coverage:
        n_rejected = sum(int(cell[name]) for name in rows[0][rows[0].index("short") + 1 :])
        assert int(cell["tried"]) == int(cell["accepted"]) + int(cell["rejected"]) + int(cell["pending"])
        assert int(cell["rejected"]) == n_rejected
        assert (int(cell["accepted"]) < 2) == bool(cell["short"])
    lines = (flawed / "rejected.jsonl").read_text(encoding="utf-8").split("\n")
    rejected = [json.loads(line) for line in lines if line]
    assert len({line["reason"] for line in rejected}) > 5
    assert {line["id"] for line in rejected}.isdisjoint(sample.id for sample in made.samples)
    assert made.problems() == []
    topics = list_topics(read_leaves(flawed / "topic_tree.json"), "tree")
    assert [topic.path[-1] for topic in topics] == ["银行", "证券", "保险", "人工智能", "交通"]


def test_generated_set_has_equal_evidence_in_jsonl_and_omnieval_layout(flawed: Path) -> None:
    own = Jsonl(str(flawed / "documents.jsonl"), str(flawed / "samples.jsonl")).load()
    as_omnieval = OmniEval(str(flawed / "omnieval")).load()
    assert read_testset(flawed).about["n_samples_not_in_omnieval_layout"] == 0
    for benchmark in (own, as_omnieval):
        assert set(count_leaks(benchmark).values()) == {0}
    assert as_omnieval.notes["n_gold_passages_not_found"] == 0
    found = [
        {(sample.history, sample.question): (set(sample.gold), sample.references, sample.task) for sample in samples}
        for samples in (own.samples, as_omnieval.samples)
    ]
    assert found[0] == found[1]
    assert {own.labels[str(sample.topic)] for sample in own.samples} == {"银行", "证券", "保险", "人工智能", "交通"}


def test_testset_command_shows_rejected_drafts(
    flawed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "set.html"
    assert analysis_main(["testset", str(flawed), "--state", "rejected", "-n", "2", "--html", str(page)]) == 0
    shown, html = capsys.readouterr().out, page.read_text(encoding="utf-8")
    lines = (flawed / "rejected.jsonl").read_text(encoding="utf-8").split("\n")
    rejected = [json.loads(line) for line in lines if line]
    assert html.count("<article>") == len(rejected)
    assert all(line["reason"] in html and line["id"] in html for line in rejected)
    assert shown.count("why not") == 2
    assert "written by rehearsal, checked by rehearsal" in shown
    task, reason = rejected[0]["task"], rejected[0]["reason"]
    groups = [line for line in html.split("<summary>") if f"{task}</bdi>: 0 accepted of" in line]
    assert any(f"{reason} " in group.partition("</summary>")[0] for group in groups)
    assert analysis_main(["testset", str(flawed), "--reason", "nonsense"]) == 2
    assert "no draft has reason 'nonsense'" in capsys.readouterr().err


def test_failed_generation_does_not_overwrite_a_set(
    flawed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = shutil.copytree(flawed, tmp_path / "set")
    nobody = [
        "llm=openai",
        "llm.model=m",
        "llm.base_url=http://127.0.0.1:9/v1",
        "llm.api_key_env=",
        "llm.max_retries=0",
    ]
    assert main(arguments(tmp_path, None, *nobody)) == 1
    assert "no server listens there" in capsys.readouterr().out
    assert content(copy) == content(flawed)


def test_generation_error_is_one_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments(tmp_path, None, "corpus=files", "corpus.path=/nowhere")) == 2
    assert "/nowhere: does not exist" in capsys.readouterr().err


def test_corpus_in_another_language_is_rejected_before_any_request(
    tmp_path: Path, server: ChatServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments(tmp_path, server, "language=en", "topics=auto")) == 2
    assert "language: got en, but the corpus seems to be Chinese. Use language=zh" in capsys.readouterr().err
    assert server.requests == []


def test_english_testset_is_evaluated_in_english(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    documents = tmp_path / "documents.jsonl"
    texts = [f"The bridge of the town was built in {year}, and {year - 1900} people live at it." for year in (1932, 51)]
    documents.write_text("".join(json.dumps({"id": text, "text": text * 3}) + "\n" for text in texts))
    own = [
        "corpus=files",
        f"corpus.path={documents}",
        "topics=none",
        "gates=[location]",
        "tasks=[extractive,multi_hop]",
    ]
    planned = ["topics=auto", "topics.tree.n_topics=7", "run.plan_only=true"]
    assert main(arguments(tmp_path, None, "language=en", *own, *planned)) == 0
    assert "at most 14 samples (at most 7 topics x 2 tasks x 1)" in capsys.readouterr().out
    assert main(arguments(tmp_path, None, "language=en", *own)) == 1
    assert not (tmp_path / "set/topic_tree.json").exists()
    shown = capsys.readouterr().out
    assert "dataset.samples=" in shown
    assert "samples.jsonl language=en" in shown
    assert "short:    1 of 2 matrix fields: no more evidence" in shown
    assert "models:   rehearsal writes and also checks, so checks are lenient" in shown


def test_check_help_shows_its_own_options(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["check", "--help"])
    assert ended.value.code == 0
    assert "--out" in capsys.readouterr().out


def test_unusable_output_path_is_rejected_before_any_request(
    tmp_path: Path, server: ChatServer, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = tmp_path / "set" / "documents.jsonl"
    mine.parent.mkdir()
    mine.write_text("mine")
    assert main(arguments(tmp_path, server)) == 2
    assert "contains files that are not part of a test set" in capsys.readouterr().err
    assert mine.read_text() == "mine"
    assert main(arguments(tmp_path, server, "corpus=files", f"corpus.path={tmp_path}")) == 2
    told = capsys.readouterr().err
    assert "is in the corpus" in told
    assert "run.store_dir" in told
    assert not server.requests


def test_generate_names_the_variable_whose_value_it_hid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PROJECT_KEY", "Bridge-of-1932")

    def reply(request: dict[str, Any], attempt: int) -> Reply:
        return Reply(f"From Bridge-of-1932: {as_rehearsed(request, attempt).text}")

    with chat_server(reply) as server:
        for _ in range(2):
            assert main(arguments(tmp_path, server, *FEW)) in (0, 1)
            printed = " ".join("".join(capfd.readouterr()).split())
            assert printed.count("contained the value of PROJECT_KEY, and were stored with ***") == 1
            assert "Bridge-of-1932" not in printed
