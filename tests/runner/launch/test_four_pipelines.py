"""Four custom pipelines and two built-in cells in one sweep that is killed twice."""

import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from runner.results import load
from tests.extras import skip_without
from tests.runner.sweeping import FEW_METRICS, QUIET, end_group, run_command, start_command, sweeps, wait_until

skip_without("langchain_core", extra="langchain")
skip_without("llama_index", extra="llama-index")

N_SAMPLES = 6
KINDS = ("callable", "chain", "engine", "server")
SEARCH = """
import os
import re
import time
from contextlib import contextmanager

from components.datasets.demo_en import DemoEn

WORD = re.compile(r"\\w+")
DOCUMENTS = DemoEn().load().documents.texts


@contextmanager
def counted(kind, question):
    for word, delay_s in (("began", 0.08), ("ended", 0)):
        with open(os.environ["ASKED_OF_TESTS"], "a") as log:
            log.write(f"{word} {kind} {question}\\n")
        time.sleep(delay_s)
        if word == "began":
            yield


def best(pieces, question, top=3):
    words = set(WORD.findall(question.lower()))
    return sorted(pieces, key=lambda text: -len(words.intersection(WORD.findall(text.lower()))))[:top]
"""
CALLABLE = """
from four_of_tests.search import DOCUMENTS, best, counted

WINDOWS = [text[start : start + 300] for text in DOCUMENTS for start in range(0, len(text), 300)]


def answer(question):
    with counted("callable", question):
        found = best(WINDOWS, question)
        return {"answer": found[0], "passages": found}
"""
CHAIN = """
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnablePassthrough
from four_of_tests.search import DOCUMENTS, best, counted

PARAGRAPHS = [part.strip() for text in DOCUMENTS for part in text.split("\\n") if part.strip()]


class Words(BaseRetriever):
    def _get_relevant_documents(self, query, *, run_manager):
        with counted("chain", query):
            return [Document(text) for text in best(PARAGRAPHS, query)]


chain = {"context": Words(), "question": RunnablePassthrough()} | RunnablePassthrough.assign(
    answer=lambda given: given["context"][0].page_content
)
"""
ENGINE = """
from llama_index.core.node_parser import TokenTextSplitter
from llama_index.core.query_engine import CustomQueryEngine
from llama_index.core.base.response.schema import Response
from llama_index.core.schema import Document, NodeWithScore
from four_of_tests.search import DOCUMENTS, best, counted

SPLITTER = TokenTextSplitter(chunk_size=64, chunk_overlap=16, tokenizer=str.split)
NODES = {node.text: node for node in SPLITTER.get_nodes_from_documents([Document(text=text) for text in DOCUMENTS])}


class Words(CustomQueryEngine):
    def custom_query(self, query_str):
        with counted("engine", query_str):
            found = best(NODES, query_str)
            return Response(found[0], source_nodes=[NodeWithScore(node=NODES[text], score=1.0) for text in found])


query_engine = Words()
"""
SERVER = """
import json
import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from four_of_tests.search import DOCUMENTS, best, counted

SENTENCES = [" ".join(part.split()) for text in DOCUMENTS for part in re.split(r"(?<=[.?!])\\s+", text)]


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        question = json.loads(self.rfile.read(int(self.headers["content-length"])))["question"]
        with counted("server", question):
            found = best(SENTENCES, question)
            body = json.dumps({"answer": found[0], "passages": found}).encode()
        try:
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        except OSError:
            pass

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
"""
FILES = {"search": SEARCH, "rag": CALLABLE, "chain": CHAIN, "engine": ENGINE, "server": SERVER, "__init__": ""}
OPTIONS = {
    "callable": "defaults: [python, _self_]\ncall: four_of_tests.rag.answer\n",
    "chain": "defaults: [langchain, _self_]\nrunnable: four_of_tests.chain:chain\n",
    "engine": "defaults: [llama_index, _self_]\nengine: four_of_tests.engine:query_engine\n",
    "server": "defaults: [http, _self_]\nurl: http://127.0.0.1:PORT/answer\nrevision: 1\nbackoff_s: 0.1\n",
}


@pytest.fixture
def options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with an option for each pipeline; one pipeline answers in another process."""
    package = tmp_path / "four_of_tests"
    package.mkdir()
    for name, code in FILES.items():
        (package / f"{name}.py").write_text(code, encoding="utf-8")
    monkeypatch.setenv("ASKED_OF_TESTS", str(tmp_path / "asked.txt"))
    command = [sys.executable, "-m", "four_of_tests.server"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path) as server:
        assert server.stdout is not None
        port = server.stdout.readline().strip()
        folder = tmp_path / "my_conf" / "pipeline"
        folder.mkdir(parents=True)
        for name, text in OPTIONS.items():
            lines = f"# A pipeline of ours.\n{text.replace('PORT', port)}"
            (folder / f"{name}.yaml").write_text(lines, encoding="utf-8")
        yield folder.parent
        server.kill()


def logged_lines(folder: Path, word: str) -> list[str]:
    path = folder / "asked.txt"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [line.removeprefix(f"{word} ") for line in lines if line.startswith(word)]


def test_four_pipelines_run_with_built_in_cells_and_are_asked_once(tmp_path: Path, options: Path) -> None:
    arguments = (
        "-m", "--config-dir", str(options), "dataset=demo_en", f"dataset.limit={N_SAMPLES}", "embedder=hashing",
        "top_k=2,4", "metrics.interval.n_resamples=100", *FEW_METRICS, *QUIET, "run.plugins=[four_of_tests]",
        "retriever=bm25", f"pipeline=built_in,{','.join(KINDS)}",
    )  # fmt: skip
    for n_ended in (4, 14):
        process = start_command(tmp_path, *arguments)
        wait_until(partial(lambda n: len(logged_lines(tmp_path, "ended")) >= n, n_ended), process)
        end_group(process, signal.SIGKILL)
        process.communicate(timeout=60)
        time.sleep(0.3)  # the server finishes the requests in flight
    last = run_command(tmp_path, *arguments)
    assert last.returncode == 0, last.stderr

    began = Counter(logged_lines(tmp_path, "began"))
    assert Counter(name.partition(" ")[0] for name in began) == dict.fromkeys(KINDS, N_SAMPLES)
    assert sum(n - 1 for n in began.values()) <= 2, began  # one question was on its way at each kill
    assert set(began) == set(logged_lines(tmp_path, "ended"))

    folder = sweeps(tmp_path)[-1]
    cells = {str(cell.axes["pipeline"]): cell for cell in load(folder).cells if cell.axes["pipeline"] != "built_in"}
    assert set(cells) == set(KINDS)
    assert len(load(folder).cells) == 6
    steps = {name: cell.steps["pipeline"] for name, cell in cells.items()}
    n_passages = sum(own["n_passages"] for own in steps.values())
    assert n_passages == len(KINDS) * N_SAMPLES * 3
    assert sum(own["n_not_in_corpus"] for own in steps.values()) <= 0.05 * n_passages, steps
    for cell in cells.values():
        assert cell.value("ndcg@10") is not None
        assert cell.value("passage_coverage") is not None
    rows = [line.split() for line in last.stdout.splitlines()]
    for name, cell in cells.items():
        assert any(row[:1] == [cell.cell_id] and name in row for row in rows), last.stdout

    compared = run_command(tmp_path, "compare", "latest", "--metric", "rouge_l", module="analysis")
    assert compared.returncode == 0, compared.stderr
    shown = run_command(tmp_path, "samples", "latest", cells["engine"].cell_id, module="analysis")
    assert shown.returncode == 0, shown.stderr
    reported = run_command(tmp_path, "report", "latest", module="analysis")
    assert reported.returncode == 0, reported.stderr
    page = (folder / "report.html").read_text(encoding="utf-8")
    for name in cells:
        assert name in compared.stdout
        assert name in page
    assert "rank 1: " in shown.stdout
