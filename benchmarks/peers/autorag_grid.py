"""The grid in AutoRAG's legacy package: PYTHON autorag_grid.py PLAN. Runs in AutoRAG's own environment.

As its documentation says, a chunker makes a corpus of each chunk size, once. An evaluator runs a trial over each
corpus, in a separate project folder, and tries every `top_k`. Passages that the project's vector store has by their
id are not embedded again. A trial that did not end is restarted by `restart_trial`.
"""

import json
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import yaml
from autorag.chunker import Chunker
from autorag.evaluator import Evaluator


def main(plan_file: str) -> None:
    """Run what the plan says, and write the texts that each cell found."""
    plan = json.loads(Path(plan_file).read_text(encoding="utf-8"))
    work = Path(plan["work"])
    documents = _rows(Path(plan["data"]) / "documents.jsonl")
    samples = _rows(Path(plan["data"]) / "samples.jsonl")
    _chunk(work, documents, plan["chunk_sizes"])
    with Path(plan["found"]).open("w", encoding="utf-8") as found:
        for place, size in enumerate(plan["chunk_sizes"]):
            trial = _trial(work, place, samples, plan)
            _report(trial, size, samples, found)


def _chunk(work: Path, documents: list[dict[str, str]], sizes: list[int]) -> None:
    """Write a corpus for each size: windows of characters, as in the other tools."""
    folder = work / "chunks"
    if (folder / "summary.csv").exists():  # chunks have random ids: other ids would be embedded again
        return
    work.mkdir(parents=True, exist_ok=True)
    parsed = pd.DataFrame(
        {
            "texts": [row["text"] for row in documents],
            "path": [row["id"] for row in documents],
            "page": -1,
            "last_modified_datetime": pd.Timestamp("2026-01-01"),
        }
    )
    parsed.to_parquet(work / "parsed.parquet", index=False)
    module = {
        "module_type": "langchain_chunk",
        "chunk_method": "character",
        "separator": "",
        "chunk_size": sizes,
        "chunk_overlap": 0,
    }
    (work / "chunk.yaml").write_text(yaml.safe_dump({"modules": [module]}), encoding="utf-8")
    Chunker.from_parquet(str(work / "parsed.parquet"), str(folder)).start_chunking(str(work / "chunk.yaml"))


def _trial(work: Path, place: int, samples: list[dict[str, Any]], plan: dict[str, Any]) -> Path:
    """Run a trial over the corpus of a chunk size, and return its folder."""
    project, corpus = work / f"project_{place}", work / "chunks" / f"{place}.parquet"
    questions = work / f"qa_{place}.parquet"
    if not questions.exists():
        _questions(pd.read_parquet(corpus), samples).to_parquet(questions, index=False)
    evaluator = Evaluator(str(questions), str(corpus), str(project))
    trials = sorted((trial for trial in project.glob("[0-9]*") if trial.is_dir()), key=lambda trial: int(trial.name))
    ended = [trial for trial in trials if (trial / "summary.csv").exists()]
    if plan["resume"] and trials and trials[-1] not in ended:
        evaluator.restart_trial(str(trials[-1]))
    elif not (plan["resume"] and trials):
        (work / "config.yaml").write_text(yaml.safe_dump(_configuration(plan)), encoding="utf-8")
        evaluator.start_trial(str(work / "config.yaml"))
    return max((summary.parent for summary in project.glob("[0-9]*/summary.csv")), key=lambda trial: int(trial.name))


def _configuration(plan: dict[str, Any]) -> dict[str, Any]:
    node = {
        "node_type": "semantic_retrieval",
        "strategy": {"metrics": ["retrieval_recall", "retrieval_ndcg", "retrieval_mrr"]},
        "top_k": plan["top_k"],
        "modules": [{"module_type": "vectordb", "vectordb": "minilm"}],
    }
    store = {
        "name": "minilm",
        "db_type": "chroma",
        "client_type": "persistent",
        "embedding_model": [{"type": "huggingface", "model_name": plan["model"]}],
        "collection_name": "minilm",
        "path": "${PROJECT_DIR}/resources/chroma",
    }
    return {"vectordb": [store], "node_lines": [{"node_line_name": "retrieval", "nodes": [node]}]}


def _questions(corpus: pd.DataFrame, samples: list[dict[str, Any]]) -> pd.DataFrame:
    """Return AutoRAG's questions. Gold is the ids of the chunks that overlap the answer, any one of them."""
    rows = []
    chunks = dict(list(corpus.groupby("path")))
    for sample in samples:
        gold = sample["gold"][0]
        document_chunks = chunks[gold["document"]]
        text = "".join(document_chunks["contents"])
        exact = document_chunks[document_chunks["contents"].str.contains(gold["quote"], regex=False)]
        chosen = exact if len(exact) else document_chunks
        assert text, sample["id"]
        rows.append(
            {
                "qid": sample["id"],
                "query": sample["question"],
                "retrieval_gt": [chosen["doc_id"].tolist()],
                "generation_gt": sample["references"],
            }
        )
    return pd.DataFrame(rows)


def _report(trial: Path, size: int, samples: list[dict[str, Any]], found: Any) -> None:
    node = trial / "retrieval" / "semantic_retrieval"
    summary = pd.read_csv(node / "summary.csv")
    for file, parameters in zip(summary["filename"], summary["module_params"], strict=True):
        top_k = int(yaml.safe_load(parameters)["top_k"])
        table = pd.read_parquet(node / file)
        texts = table[next(column for column in table if column.startswith("retrieved_contents"))]
        for sample, retrieved in zip(samples, texts, strict=True):
            row = {"chunk_size": size, "top_k": top_k, "id": sample["id"], "texts": list(retrieved)}
            found.write(json.dumps(row, ensure_ascii=False) + "\n")


def _rows(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


if __name__ == "__main__":
    main(sys.argv[1])
