"""The direction of dependency: the analysis imports the runner's results, the runner imports components, a layer of the
runner imports the layers below it, and a subpackage of the pipeline imports the subpackages below it.
"""

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from importlib.util import resolve_name
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
OURS = ("components", "runner", "analysis")
LAYERS = ("console", "engine", "pipeline", "results", "output", "launch", "serving", "labels", "testset")
"""The packages of the runner, from the bottom up: each imports those before it."""

PIPELINE = ("corpus", "search", "answers", "scoring", "ranking")
"""The subpackages of the pipeline, from the bottom up; `cell_graph` joins them."""

KNOWN_TO_SUBPACKAGES = ("runner.pipeline.cell", "runner.pipeline.settings")
"""The components of a cell, which every subpackage may read."""

FACES = ("runner.results", "runner.console")
"""The packages of the runner that the analysis may import: the results, by their face, and the output of commands."""

TOKENIZERS = "components.tokenizers"
"""Components of other roles hold a tokenizer, and have one by default."""

HEAVY = {
    "torch", "transformers", "faiss", "mlflow", "vllm", "ray", "bm25s", "sklearn", "jieba", "matplotlib", "sacrebleu",
    "aiohttp", "bert_score", "sentence_transformers", "FlagEmbedding", "peft", "trl", "datasets", "accelerate",
    "obstore", "optuna", "langchain_core", "llama_index",
}  # fmt: skip


def _modules() -> dict[str, Path]:
    """Dotted name -> file of every module of ours."""
    found = {}
    for package in OURS:
        for file in sorted((REPOSITORY / package).rglob("*.py")):
            parts = file.relative_to(REPOSITORY).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


MODULES = _modules()


def _imported(file: Path, *, at_import: bool) -> Iterator[str]:
    """Dotted names that a file imports; with `at_import` without what functions import when they are called,
    and what is imported for types alone.
    """
    waiting: list[ast.AST] = [ast.parse(file.read_text(encoding="utf-8"))]
    package = ".".join(file.relative_to(REPOSITORY).parent.parts)
    while waiting:
        node = waiting.pop()
        if at_import and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if at_import and isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            waiting.extend(node.orelse)
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            source = resolve_name("." * node.level + (node.module or ""), package)
            # `from package import module` imports the module.
            yield from (name if (name := f"{source}.{alias.name}") in MODULES else source for alias in node.names)
        waiting.extend(ast.iter_child_nodes(node))


@cache
def _ours(file: Path, *, at_import: bool = False) -> frozenset[str]:
    return frozenset(name for name in _imported(file, at_import=at_import) if name.split(".")[0] in OURS)


def _is_under(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


def _roles() -> frozenset[str]:
    """The packages of components that the configuration groups name."""
    files = [*(REPOSITORY / "conf").rglob("*.yaml"), *(REPOSITORY / "runner" / "testset" / "conf").rglob("*.yaml")]
    named = "".join(file.read_text(encoding="utf-8") for file in files)
    return frozenset(re.findall(r"_target_: (components\.\w+)\.", named))


ROLES = _roles()


def _package(module: str) -> str:
    """The first two names of a module."""
    return ".".join(module.split(".")[:2])


def _layer(module: str) -> int | None:
    """The place of a module's layer, from the bottom; None for a command and for the runner itself."""
    name = module.split(".")[1] if _is_under(module, "runner") and "." in module else ""
    return LAYERS.index(name) if name in LAYERS else None


def _subpackage(module: str) -> int | None:
    """The place of a module's subpackage of the pipeline, from the bottom; None for a module beside the cell."""
    parts = module.split(".")
    is_in_one = parts[:2] == ["runner", "pipeline"] and len(parts) > 3 and parts[2] in PIPELINE
    return PIPELINE.index(parts[2]) if is_in_one else None


def _arrows() -> Iterator[tuple[str, str]]:
    """Every import of a module of ours by another."""
    for module, file in MODULES.items():
        for name in sorted(_ours(file)):
            yield module, name


def test_every_layering_rule_applies_to_a_module() -> None:
    assert {"components.chunkers", "components.datasets", "components.llms", "components.metrics"} <= ROLES
    assert {f"runner.{layer}" for layer in LAYERS} | {f"runner.pipeline.{part}" for part in PIPELINE} <= set(MODULES)
    assert len(list(_arrows())) > 3_000


def test_components_import_only_components() -> None:
    assert [
        arrow for arrow in _arrows() if _is_under(arrow[0], "components") and not _is_under(arrow[1], "components")
    ] == []


def test_roles_and_foundations_import_no_other_role() -> None:
    assert [
        (module, name)
        for module, name in _arrows()
        if _is_under(module, "components") and _package(name) in ROLES - {_package(module), TOKENIZERS}
    ] == []


def test_records_import_no_other_component() -> None:
    assert [
        (module, name)
        for module, name in _arrows()
        if _is_under(module, "components.records") and not _is_under(name, "components.records")
    ] == []


def test_every_runner_module_is_a_command_or_in_a_layer() -> None:
    commands = {module for module, file in MODULES.items() if file.parent == REPOSITORY / "runner"} - {"runner"}
    folders = {_package(module) for module in MODULES if _is_under(module, "runner")} - commands - {"runner"}
    assert folders == {f"runner.{layer}" for layer in LAYERS}
    assert [name for name in commands if '\nif __name__ == "__main__":' not in MODULES[name].read_text("utf-8")] == []


def test_layers_import_only_lower_layers() -> None:
    upward = []
    for module, name in _arrows():
        own, other = _layer(module), _layer(name)
        if own is not None and name.startswith("runner.") and (other is None or other > own):
            upward.append((module, name))
    assert upward == []


def test_pipeline_subpackages_import_only_lower_ones() -> None:
    upward = []
    for module, name in _arrows():
        own, other = _subpackage(module), _subpackage(name)
        is_above = name not in KNOWN_TO_SUBPACKAGES and (other is None or (own is not None and other > own))
        if own is not None and name.startswith("runner.pipeline.") and is_above:
            upward.append((module, name))
    assert upward == []


def test_command_imports_no_other_command() -> None:
    assert [
        (module, name)
        for module, name in _arrows()
        if _is_under(module, "runner")
        and _layer(module) is None
        and name.startswith("runner.")
        and _layer(name) is None
    ] == []


def test_analysis_imports_only_the_public_modules_of_the_runner() -> None:
    strangers = []
    for module, name in _arrows():
        may_run = _is_under(module, "analysis.notebooks") or module == "analysis"
        allowed = name == FACES[0] or _is_under(name, FACES[1]) or (may_run and name == "runner")
        if _is_under(module, "analysis") and _is_under(name, "runner") and not allowed:
            strangers.append((module, name))
    assert strangers == []


def test_results_import_no_stage() -> None:
    waiting, seen = ["runner.results"], set[str]()
    while waiting:
        module = waiting.pop()
        if module not in seen:
            seen.add(module)
            waiting += _ours(MODULES[module], at_import=True)
    pipeline = {name for name in seen if _is_under(name, "runner.pipeline") or _is_under(name, "runner.launch")}
    assert "components.statistics" in seen
    assert pipeline == set()


def test_engine_imports_no_role() -> None:
    """The engine caches replies of language models. Chunkers, metrics and all other roles belong to the pipeline."""
    assert [arrow for arrow in _arrows() if _is_under(arrow[0], "runner.engine") and _package(arrow[1]) in ROLES] == []


def test_runner_does_not_import_the_analysis() -> None:
    assert [arrow for arrow in _arrows() if _is_under(arrow[0], "runner") and _is_under(arrow[1], "analysis")] == []


def test_modules_have_no_import_cycle() -> None:
    # `static_order` raises CycleError, which names the cycle.
    graph = {module: _ours(file, at_import=True) - {module} for module, file in MODULES.items()}
    assert set(TopologicalSorter(graph).static_order()) >= set(MODULES)


def test_import_of_our_modules_loads_no_heavy_package() -> None:
    code = (
        "import importlib, json, sys\n"
        "for name in json.loads(sys.argv[1]): importlib.import_module(name)\n"
        "print(json.dumps(sorted({name.split('.')[0] for name in sys.modules})))"
    )
    names = [name for name in MODULES if not name.startswith("analysis")]
    command = [sys.executable, "-c", code, json.dumps(names)]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    loaded = set(json.loads(done.stdout.splitlines()[-1]))
    assert {"components", "runner"} <= loaded
    assert loaded & HEAVY == set()
