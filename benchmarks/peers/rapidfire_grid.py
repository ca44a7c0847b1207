"""The grid in RapidFire AI: PYTHON rapidfire_grid.py PLAN. Runs in RapidFire's own environment.

Its tutorials' way: a specification of the retrieval with lists of splitters and of search settings, a grid search over
both, and shards of questions that the configurations take turns on. RapidFire always asks a generator. The generator
here returns an empty text, so that only retrieval is measured.
"""

import json
import sys
from pathlib import Path
from typing import Any

from datasets import Dataset
from langchain_community.document_loaders import DirectoryLoader, JSONLoader
from langchain_huggingface import HuggingFaceEmbeddings
from langchain_text_splitters import CharacterTextSplitter
from rapidfireai import Experiment
from rapidfireai.automl import List, RFGridSearch, RFLangChainRagSpec
from rapidfireai.automl.model_config import ModelConfig
from rapidfireai.evals.actors.inference_engines import InferenceEngine


class NoEngine(InferenceEngine):  # type: ignore[misc]
    """Answers with an empty text."""

    def __init__(self, **settings: Any) -> None:
        """Take no settings."""

    def generate(self, prompts: list[Any], **settings: Any) -> list[str]:
        """Return an empty text for each prompt."""
        return ["" for _ in prompts]

    def cleanup(self) -> None:
        """Nothing to release."""


class NoGenerator(ModelConfig):  # type: ignore[misc]
    """A configuration whose generator is `NoEngine`."""

    model_name = "none"

    def __init__(self, rag: Any = None, prompt_manager: Any = None) -> None:
        """Take the retrieval."""
        super().__init__()
        self.rag, self.prompt_manager = rag, prompt_manager
        self._user_params = {"rag": rag, "prompt_manager": prompt_manager}

    def get_engine_class(self) -> type[InferenceEngine]:
        """Return `NoEngine`."""
        return NoEngine

    def get_engine_kwargs(self) -> dict[str, Any]:
        """Return no settings."""
        return {}


def retrieve(batch: dict[str, Any], rag: Any, prompt_manager: Any) -> dict[str, Any]:
    """Return the batch with the texts that the search returned."""
    retrieved = rag.get_context(batch_queries=batch["query"], serialize=False)
    texts = [[document.page_content for document in documents] for documents in retrieved]
    return {**batch, "prompts": list(batch["query"]), "texts": texts}


def score(batch: dict[str, Any]) -> dict[str, Any]:
    """Return the share of questions whose answer is in a text."""
    pairs = zip(batch["answer"], batch["texts"], strict=True)
    hits = [any(answer in text for text in texts) for answer, texts in pairs]
    return {"Total": {"value": len(hits)}, "Recall": {"value": sum(hits) / len(hits)}}


def accumulate(metrics: dict[str, Any]) -> dict[str, Any]:
    """Return the mean over all batches."""
    sizes = [row["value"] for row in metrics["Total"]]
    mean = sum(row["value"] * size for row, size in zip(metrics["Recall"], sizes, strict=True)) / sum(sizes)
    return {
        "Total": {"value": sum(sizes)},
        "Recall": {"value": mean, "is_algebraic": True, "value_range": (0, 1)},
    }


def main(plan_file: str) -> None:
    """Run what the plan says, and write the texts that each cell found."""
    plan = json.loads(Path(plan_file).read_text(encoding="utf-8"))
    data = Path(plan["data"])
    samples = [json.loads(line) for line in (data / "samples.jsonl").read_text(encoding="utf-8").splitlines()]
    rows = [{"id": row["id"], "query": row["question"], "answer": row["references"][0]} for row in samples]
    experiment = Experiment(experiment_name="peers", mode="evals", num_cpus=2)
    n_before = 0
    with Path(plan["found"]).open("w", encoding="utf-8") as found:
        for depths in plan.get("in_one_session", [plan["top_k"]]):
            results = experiment.run_evals(
                config_group=RFGridSearch(_configuration(data, {**plan, "top_k": depths})),
                dataset=Dataset.from_list(rows),
                num_shards=4,
                seed=42,
            )
            cells = [(size, depth) for size in plan["chunk_sizes"] for depth in depths]
            for run_id in sorted(results):  # failed runs have an id, and no result
                size, depth = cells[run_id - 1 - n_before]
                aggregated = results[run_id][0]
                for question, texts in zip(aggregated["id"], aggregated["texts"], strict=True):
                    row = {"chunk_size": size, "top_k": depth, "id": question, "texts": list(texts)}
                    found.write(json.dumps(row, ensure_ascii=False) + "\n")
            n_before += len(cells)
    experiment.end()


def _configuration(data: Path, plan: dict[str, Any]) -> dict[str, Any]:
    rag = RFLangChainRagSpec(
        document_loader=DirectoryLoader(
            str(data),
            glob="documents.jsonl",
            loader_cls=JSONLoader,
            loader_kwargs={"jq_schema": ".", "content_key": "text", "json_lines": True},
        ),
        text_splitter=List(
            [CharacterTextSplitter(separator="", chunk_size=size, chunk_overlap=0) for size in plan["chunk_sizes"]]
        ),
        embedding_cfg={
            "class": HuggingFaceEmbeddings,
            "model_name": plan["model"],
            "model_kwargs": {"device": "cpu"},
            "encode_kwargs": {"normalize_embeddings": True},
        },
        vector_store_cfg={"type": "faiss"},
        search_cfg=List([{"type": "similarity", "k": depth} for depth in plan["top_k"]]),
    )
    return {
        "pipeline": NoGenerator(rag=rag),
        "batch_size": 128,
        "preprocess_fn": retrieve,
        "compute_metrics_fn": score,
        "accumulate_metrics_fn": accumulate,
        "online_strategy_kwargs": {"strategy_name": "normal", "confidence_level": 0.95, "use_fpc": True},
    }


if __name__ == "__main__":
    main(sys.argv[1])
