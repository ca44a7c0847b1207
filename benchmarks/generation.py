"""Making evaluation data of real news, against a server that plays all roles: killed twice, then run to its end."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks import crud_rag
from benchmarks.chat_endpoint import Behaviour, Endpoint, serving
from benchmarks.child import gib
from benchmarks.measure import Bound, Measure
from benchmarks.settings import Settings

_TREE = {
    "国内": ["政治", "社会", "法治"],
    "经济": ["金融", "产业", "消费"],
    "生活": ["体育", "文化", "科技", "教育", "健康"],
}
_TASKS = (
    "extractive", "multi_hop", "contrast", "long_form", "conversational", "one_document", "two_documents",
    "three_documents", "continuation", "summary", "correction",
)  # fmt: skip
_FEW, _MANY = 125, 500
_PER_CELL = 3
_CONCURRENCY = 16


def measure(settings: Settings) -> list[Measure]:
    """Return the time of whole commands over documents of CRUD-RAG, and the peak memory of the last one."""
    texts = crud_rag.documents(settings.crud_rag, _MANY)[:_MANY]
    with serving(Behaviour(rehearses=True)) as endpoint:
        few = _Making(settings.scratch / "few", texts[:_FEW], endpoint)
        few.run()
        n_before = len(endpoint.log())
        many = _Making(settings.scratch / "many", texts, endpoint)
        started = time.perf_counter()
        for n_more in (300, 1500):
            many.run(lambda n=n_more: len(endpoint.log()) - n_before >= n)  # type: ignore[misc]
        many.run()
        seconds = time.perf_counter() - started
        n_requests = len(endpoint.log()) - n_before
        n_answered = len(endpoint.log())
        again = time.perf_counter()
        many.run()
        again_s = time.perf_counter() - again
        n_asked_again = len(endpoint.log()) - n_answered
    detail = f"{many.n_samples} samples of {len(texts)} documents, {n_requests:,} requests, killed twice"
    growth = f"{few.peak_gib:.3f} GiB for {_FEW} documents, {many.peak_gib:.3f} GiB for {_MANY}"
    return [
        Measure("evaluation data of 500 documents, killed twice", seconds, "s", detail, Bound(300)),
        Measure("the same again", again_s, "s", f"{n_asked_again} requests"),
        Measure("memory with four times the documents", many.peak_gib / few.peak_gib, "x", growth, Bound(1.25)),
    ]


class _Making:
    """A command in a separate folder."""

    def __init__(self, folder: Path, texts: list[str], endpoint: Endpoint) -> None:
        folder.mkdir(parents=True)
        records = ({"id": f"n{number:05}", "text": text} for number, text in enumerate(texts))
        lines = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
        (folder / "documents.jsonl").write_text(lines, encoding="utf-8")
        (folder / "tree.json").write_text(json.dumps(_TREE, ensure_ascii=False), encoding="utf-8")
        self._folder = folder
        self._arguments = [
            "corpus.path=documents.jsonl", "topics=file", "topics.tree.path=tree.json", f"tasks=[{','.join(_TASKS)}]",
            f"per_cell={_PER_CELL}", "removable_share=0.3", "out=set", "run.progress=false", "llm=openai",
            "llm.model=m", f"llm.base_url={endpoint.url}", "llm.api_key_env=", f"llm.concurrency={_CONCURRENCY}",
        ]  # fmt: skip
        self.peak_gib = 0.0

    def run(self, until: Callable[[], bool] | None = None) -> None:
        """Run the command to its end, or until it is killed."""
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[1])}
        command = [sys.executable, "-m", "runner.generate", *self._arguments]
        process = subprocess.Popen(command, cwd=self._folder, env=environment, stdout=subprocess.DEVNULL)
        if until:
            while not until():
                time.sleep(0.02)
            process.send_signal(signal.SIGKILL)
        _, status, usage = os.wait4(process.pid, 0)
        code = os.waitstatus_to_exitcode(status)
        if code not in ((-signal.SIGKILL,) if until else (0, 1)):
            raise RuntimeError(f"{command} ended with {code}")
        self.peak_gib = max(self.peak_gib, gib(usage.ru_maxrss))

    @property
    def n_samples(self) -> int:
        """Number of samples in the made set."""
        manifest = json.loads((self._folder / "set" / "manifest.json").read_text(encoding="utf-8"))
        n_samples: int = manifest["n_samples"]
        return n_samples
