"""Requests to a server: 10,000 answers of 200 ms each, 256 at a time.

Everything around them is included: claims, the limiter with its ledger, and the stored replies. The ideal is the
server's own time.
"""

import threading
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.chat_endpoint import Behaviour, serving
from benchmarks.child import in_child
from benchmarks.measure import Bound, Measure
from benchmarks.settings import Settings
from components.embedders.openai_embeddings import OpenAIEmbeddings
from components.llms.openai_chat import OpenAIChat
from components.openai_server.limiter import use_limiter
from components.records import AnswerState, Kind, Message, Passages, Request, Sample
from runner.engine.ask import Asker, compute_replies_key
from runner.engine.spending import SharedLimiter
from runner.engine.store import Store

_N, _FEW, _CONCURRENCY, _DELAY_S = 10_000, 2_000, 256, 0.2
_PROMPT = "word " * 400
_N_TEXTS, _BATCH = 64_000, 64


@dataclass(frozen=True)
class Asked:
    """The seconds of the requests, the seconds of a core that they took, and the largest number of threads."""

    seconds: float
    cpu_s: float
    n_threads: int


def measure(settings: Settings) -> list[Measure]:
    """Return the time relative to the ideal, the time of a core, and memory."""
    with serving(Behaviour(delay_s=_DELAY_S)) as endpoint:
        few = in_child(_ask, endpoint.url, settings.scratch / "few", _FEW)
        many = in_child(_ask, endpoint.url, settings.scratch / "many", _N)
        embedded = in_child(_embed, endpoint.url)
    asked, ideal_s = many.value, _N * _DELAY_S / _CONCURRENCY
    detail = f"{_N:,} requests, {_CONCURRENCY} at a time: {asked.seconds:.2f} s / {ideal_s:.2f} s"
    n_batches = _N_TEXTS // _BATCH
    ideal_embedding_s = n_batches * _DELAY_S / _CONCURRENCY
    return [
        Measure("answers of a server, relative to its own time", asked.seconds / ideal_s, "x", detail, Bound(1.15)),
        Measure("core time per request", asked.cpu_s / _N * 1e3, "ms", "reply parsed, checked and kept", Bound(0.78)),
        Measure("threads at once", asked.n_threads, "", "the caller's, the event loop's, one for addresses", Bound(4)),
        Measure(
            "memory per request",
            (many.peak_gib - few.peak_gib) * 2**20 / (_N - _FEW),
            "KiB",
            f"{few.peak_gib:.2f} GiB for {_FEW:,}, {many.peak_gib:.2f} GiB for {_N:,}; a prompt has 2 KiB",
            Bound(16),
        ),
        Measure(
            "vectors of a server, relative to its own time",
            embedded.value.seconds / ideal_embedding_s,
            "x",
            f"{_N_TEXTS:,} texts in {n_batches:,} requests: {embedded.value.seconds:.2f} s / {ideal_embedding_s:.2f} s",
        ),
    ]


def _ask(url: str, folder: Path, n: int) -> Asked:
    llm = OpenAIChat("m", base_url=url, api_key_env="", concurrency=_CONCURRENCY)
    sample = Sample("s", "qa", Kind.QA, "?", ())
    requests = [Request(str(i), (Message("user", f"question {i} {_PROMPT}"),), sample, ()) for i in range(n)]
    n_threads = [0]

    def watch(done: int, total: int) -> None:
        n_threads[0] = max(n_threads[0], threading.active_count())

    store = Store(folder / "store")
    asker = Asker(llm, store.replies(compute_replies_key(llm, "answers")), watch)
    started, cpu = time.perf_counter(), time.process_time()
    with use_limiter(SharedLimiter(store.limits, folder / "spent")):
        answers = asker(requests)
    assert sum(answer.state is AnswerState.OK for answer in answers) == n
    return Asked(time.perf_counter() - started, time.process_time() - cpu, n_threads[0])


def _embed(url: str) -> Asked:
    embedder = OpenAIEmbeddings("m", base_url=url, api_key_env="", concurrency=_CONCURRENCY, batch_size=_BATCH)
    texts = Passages([f"text {i}" for i in range(_N_TEXTS)])
    state = embedder.fit(texts)
    started, cpu = time.perf_counter(), time.process_time()
    vectors = embedder.embed_chunks(texts, state)
    assert vectors.shape == (_N_TEXTS, 2)
    return Asked(time.perf_counter() - started, time.process_time() - cpu, 0)
