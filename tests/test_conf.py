"""Every YAML under conf/ composes, spells out every field, and builds. (Presets: tests/test_presets.py.)"""

import dataclasses
import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf

import conf
from runner.launch.request import check_jobs
from tests.runner.sweeping import compose_job

ROOT = Path(conf.__file__).parent
OPTIONS = sorted(path.relative_to(ROOT) for path in ROOT.glob("*/*.yaml"))
DATA_WITH_ROOT = ("beir", "crud_rag", "financerag", "multihop_rag", "omnieval", "rgb")
OF_ENCODER = ("model=owner/name", f"revision={'0' * 40}")
NEEDED = {
    "llm/vllm.yaml": ["llm.command=sh"],  # any existing program
    **{f"dataset/{name}.yaml": ["dataset.root=somewhere"] for name in DATA_WITH_ROOT},
    "embedder/llama_index.yaml": [
        "embedder.class_path=llama_index.core.MockEmbedding",
        "+embedder.arguments.embed_dim=8",
    ],
    "llm/llama_index.yaml": ["llm.class_path=llama_index.core.llms.MockLLM"],
    "reranker/rerank_api.yaml": ["reranker.base_url=http://localhost:8000/v1"],
    **{f"reranker/llm_{name}.yaml": ["reranker.llm.model=a-model"] for name in ("listwise", "pairwise", "pointwise")},
    **{
        f"expander/{name}.yaml": ["llm=scripted"]
        for name in (
            "combined",
            "decomposition",
            "hyde",
            "hypothetical_document",
            "keywords",
            "paraphrase",
            "rewrite",
            "step_back",
        )
    },
    **{
        option: ["llm=scripted"]
        for option in (
            "refiner/summary.yaml",
            "refiner/combined.yaml",
            "header/contextual.yaml",
            "retriever/graph.yaml",
            "compressor/llm.yaml",
            "reviser/reflect.yaml",
            "reviser/abstain_if_unsupported.yaml",
        )
    },
    "executor/slurm.yaml": ["executor.cluster=local"],  # there need be no sbatch
    "pipeline/python.yaml": ["run.plugins=[packaging]", "pipeline.call=packaging.version.parse"],
    "pipeline/langchain.yaml": ["run.plugins=[packaging]", "pipeline.runnable=packaging.tags:sys_tags"],
    "pipeline/llama_index.yaml": ["run.plugins=[packaging]", "pipeline.engine=packaging.tags:sys_tags"],
    "pipeline/http.yaml": ["pipeline.url=http://localhost:9000/answer", "pipeline.revision=1"],
    "retriever/python.yaml": ["run.plugins=[packaging]", "retriever.call=packaging.version.parse"],
    "retriever/langchain.yaml": ["run.plugins=[packaging]", "retriever.runnable=packaging.tags:sys_tags"],
    "retriever/llama_index.yaml": ["run.plugins=[packaging]", "retriever.engine=packaging.tags:sys_tags"],
    "retriever/http.yaml": ["retriever.url=http://localhost:9000/search"],
    "retriever/pgvector.yaml": ['retriever.sql="SELECT id, text FROM t ORDER BY v <=> {vector} LIMIT {top_k}"'],
    "retriever/milvus.yaml": ["retriever.collection=passages"],
    "retriever/qdrant.yaml": ["retriever.collection=passages"],
    **{f"retriever/{name}.yaml": ["retriever.index=passages"] for name in ("elasticsearch", "opensearch")},
    "examples/held_out.yaml": ["dataset=part"],
    "examples/from_dataset.yaml": ["examples.dataset.samples=somewhere", "examples.dataset.documents=README.md"],
    **{
        f"iterative/{name}.yaml": ["llm=openai", "llm.model=a-model"]
        for name in ("ircot", "self_ask", "react", "adaptive")
    },
    "compressor/extractive_vectors.yaml": ["embedder=hashing"],
    **{
        f"{option}.yaml": [f"{option.partition('/')[0]}.encoder.{field}" for field in OF_ENCODER]
        for option in ("retriever/splade", "retriever/colbert", "reranker/colbert")
    },
    "reranker/late_interaction.yaml": ["embedder=bge-m3-heads"],
    "dataset/jsonl.yaml": [f"dataset.documents={ROOT.parent / 'README.md'}", "dataset.samples=somewhere"],
    **{
        f"judge/{name}.yaml": ["judge.llm.model=a-model"]
        for name in ("omnieval", "quest_eval", "faithfulness", "claims", "relevance", "nuggets")
        for name in (name, f"{name}_en", f"{name}_zh")
    },
}
LEFT_OPEN = {'model: ""': "model=owner/name", 'revision: ""': f"revision={'0' * 40}"}
"""Lines of options that users must fill in, with an override that does."""


def needed(option: Path) -> list[str]:
    """Return the overrides that an option requires."""
    lines = {line.partition(" #")[0] for line in (ROOT / option).read_text(encoding="utf-8").splitlines()}
    left_open = [f"{option.parent.name}.{value}" for line, value in LEFT_OPEN.items() if line in lines]
    return [*NEEDED.get(option.as_posix(), []), *left_open]


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set keys for the providers whose models have an option, and the connection string of a table."""
    for variable in ("OPENAI_API_KEY", "DEEPSEEK_API_KEY"):
        monkeypatch.setenv(variable, "not-a-real-key")
    monkeypatch.setenv("PGVECTOR_DSN", "host=127.0.0.1")


def chosen(path: Path) -> list[str]:
    """The overrides that choose a file, with what it cannot do without."""
    return [f"{path.parent.name}={path.stem}", *needed(path)]


def nodes(value: Any) -> Iterator[dict[str, Any]]:
    """Every mapping with a _target_, at any depth."""
    if isinstance(value, dict):
        if "_target_" in value:
            yield value
        for item in value.values():
            yield from nodes(item)
    elif isinstance(value, list):
        for item in value:
            yield from nodes(item)


def test_every_config_group_has_options() -> None:
    groups = {path.parent.name for path in OPTIONS}
    named = {name for entry in OmegaConf.load(ROOT / "config.yaml").defaults if entry != "_self_" for name in entry}
    assert groups == {name for name in named if not str(name).startswith("override")}


@pytest.mark.parametrize("path", OPTIONS, ids=str)
class TestOptions:
    def test_every_option_builds_and_lists_exactly_its_fields(self, path: Path) -> None:
        job = compose_job(*chosen(path))
        (request,) = check_jobs([job])
        assert getattr(request.cell, path.parent.name) is not None
        for node in nodes(job.config[path.parent.name]):
            module, _, name = node["_target_"].rpartition(".")
            fields = {field.name for field in dataclasses.fields(getattr(importlib.import_module(module), name))}
            assert set(node) - {"_target_"} == fields, node["_target_"]

    def test_option_files_begin_with_a_descriptive_comment(self, path: Path) -> None:
        first = (ROOT / path).read_text(encoding="utf-8").splitlines()[0]
        assert first.startswith("# ")
        assert first.endswith(".")
        assert len(first.split()) >= 3


def test_overrides_in_option_file_comments_compose() -> None:
    """An example is "Others: reranker@reranker.steps.precise=bge-reranker-v2-m3"."""
    advised = []
    for path in OPTIONS:
        comments = "".join(line.partition("#")[2] for line in (ROOT / path).read_text(encoding="utf-8").splitlines())
        advised += [(path, found) for found in re.findall(r"\+?[\w/]+@[\w.]+=[\w.-]+(?<![.,])", comments)]
    for path, override in advised:
        key, value = override.partition("=")[::2]
        node = compose_job(*chosen(path), override).config
        for name in key.partition("@")[2].split("."):
            node = node[name]
        assert "_target_" in node, f"{path}: {override} adds nothing of {value}"
    assert len(advised) >= 6


def test_closed_book_prompts_vary_with_the_system_and_name_no_sources() -> None:
    """An option that changes `system` alone would leave closed-book cells without what it adds."""
    prompts = [compose_job(f"prompt={path.stem}").config["prompt"] for path in OPTIONS if path.parent.name == "prompt"]
    assert len({prompt["closed_book_system"] for prompt in prompts}) == len({prompt["system"] for prompt in prompts})
    assert all(prompt["nothing_found"] and prompt["closed_book"] for prompt in prompts)
    assert not any(re.search("sources|资料", prompt["closed_book_system"]) for prompt in prompts)
