"""The direction of dependency: analysis -> runner.results -> components, within components towards records, and within
the runner launch -> output -> pipeline -> engine.
"""

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from importlib.util import resolve_name
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]
OURS = ("components", "runner", "analysis")
SHARED_BY_ROLES = (
    "components.records",
    "components.encodings",
    "components.late_interaction",
    "components.protocols",
    "components.errors",
    "components.fields",
    "components.limits",
    "components.loading",
    "components.clusters",
    "components.subsets",
    "components.turns",
    "components.means",
    "components.json_value",
    "components.processes",
    "components.threads",
    "components.prices",
    "components.secrets",
    "components.text",
    "components.asking",
    "components.openai_server",
    "components.pretrained",
    "components.statistics",
)
TOKENIZERS = "components.tokenizers"
"""Components of other roles hold a tokenizer, and have one by default."""

HEAVY = {
    "torch", "transformers", "faiss", "mlflow", "vllm", "ray", "bm25s", "sklearn", "jieba", "matplotlib", "sacrebleu",
    "aiohttp", "bert_score", "sentence_transformers", "FlagEmbedding", "peft", "trl", "datasets", "accelerate",
    "obstore",
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
            # `from package import module` is an import of the module.
            yield from (name if (name := f"{source}.{alias.name}") in MODULES else source for alias in node.names)
        waiting.extend(ast.iter_child_nodes(node))


@cache
def _ours(file: Path, *, at_import: bool = False) -> frozenset[str]:
    return frozenset(name for name in _imported(file, at_import=at_import) if name.split(".")[0] in OURS)


def _is_under(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


def _role(module: str) -> str | None:
    """components.<role> for a module of a role."""
    parts = module.split(".")
    package = ".".join(parts[:2])
    is_role = parts[0] == "components" and len(parts) > 1 and MODULES[package].name == "__init__.py"
    return package if is_role and package not in SHARED_BY_ROLES else None


def test_there_are_modules_of_every_kind() -> None:
    roles = {role for role in map(_role, MODULES) if role}
    assert {"components.chunkers", "components.datasets", "components.llms", "components.metrics"} <= roles
    assert {"components.records", "components.text.tables", "runner.pipeline.cell"} <= set(MODULES)


@pytest.mark.parametrize("module", [name for name in MODULES if _is_under(name, "components")])
def test_components_import_components_alone(module: str) -> None:
    assert {name for name in _ours(MODULES[module]) if not _is_under(name, "components")} == set()


@pytest.mark.parametrize("module", [name for name in MODULES if _role(name)])
def test_roles_do_not_import_each_other(module: str) -> None:
    allowed = (*SHARED_BY_ROLES, TOKENIZERS, str(_role(module)))
    strangers = {name for name in _ours(MODULES[module]) if not any(_is_under(name, package) for package in allowed)}
    assert strangers == set()


@pytest.mark.parametrize(
    ("module", "allowed"),
    [
        *((name, ("components.records",)) for name in MODULES if _is_under(name, "components.records")),
        ("components.errors", ("components.secrets",)),
        *((name, ("components.secrets",)) for name in MODULES if _is_under(name, "components.secrets")),
        ("components.fields", ()),
        ("components.limits", ()),
        ("components.encodings", ()),
        ("components.late_interaction", ("components.encodings", "components.records", "components.text")),
        *(
            (name, ("components.encodings", "components.protocols", "components.records"))
            for name in MODULES
            if _is_under(name, "components.protocols")
        ),
        ("components.text.forms", (*SHARED_BY_ROLES, TOKENIZERS)),
        *((name, ("components.statistics",)) for name in MODULES if _is_under(name, "components.statistics")),
        *(
            (name, SHARED_BY_ROLES)
            for name in MODULES
            if _is_under(name, "components.text") and name != "components.text.forms"
        ),
    ],
)
def test_what_roles_share_imports_no_role(module: str, allowed: tuple[str, ...]) -> None:
    strangers = {name for name in _ours(MODULES[module]) if not any(_is_under(name, package) for package in allowed)}
    assert strangers == set()


def test_analysis_reads_results_and_nothing_else_of_the_runner() -> None:
    allowed = (
        "analysis",
        "runner.axes",
        "runner.results",
        "runner.loaded",
        "runner.common_samples",
        "runner.display",
        "runner.interruptible",
        "runner.ranking",
        "runner.svg",
        "runner.hit_texts",
        "runner.sample_groups",
        "runner.sample_verdicts",
        "runner.scored_samples",
        "runner.choice",
        "runner.choice_text",
        "runner.costs",
        "runner.prose",
        "runner.timing",
        "runner.undecided",
        "runner.unread_replies",
        "runner.testset.content",
        "runner.testset.files",
        "runner.trusted",
        "components.forensics",
        "components.records",
        "components.errors",
        "components.clusters",
        "components.subsets",
        "components.statistics",
    )
    for module in (name for name in MODULES if _is_under(name, "analysis")):
        names = _ours(MODULES[module])
        if _is_under(module, "analysis.notebooks"):
            names -= {"runner"}  # they run sweeps, as their readers do
        if module == "analysis":
            names -= {"runner"}  # the package itself puts the working directory last
        assert {name for name in names if not any(_is_under(name, package) for package in allowed)} == set(), module


FLOORS = {
    "runner.engine": (),
    "runner.pipeline": ("runner.unread_replies", "runner.engine"),
    "runner.output": (
        "runner.choice",
        "runner.choice_text",
        "runner.undecided",
        "runner.unread_replies",
        "runner.common_samples",
        "runner.hit_texts",
        "runner.loaded",
        "runner.ranking",
        "runner.axes",
        "runner.results",
        "runner.sample_groups",
        "runner.sample_verdicts",
        "runner.svg",
        "runner.trusted",
        "runner.pipeline",
        "runner.engine",
    ),
    "runner.launch": (
        "runner.ranking",
        "runner.axes",
        "runner.results",
        "runner.loaded",
        "runner.trusted",
        "runner.output",
        "runner.pipeline",
        "runner.engine",
    ),
    "runner.serving": ("runner.json_types", "runner.trusted", "runner.launch", "runner.pipeline", "runner.engine"),
    "runner.labels": ("runner.launch", "runner.pipeline", "runner.engine"),
    "runner.testset": ("runner.lines_file", "runner.output", "runner.launch", "runner.pipeline", "runner.engine"),
}
"""What each package of the runner may import besides itself and components; on top are the commands."""

READING = (
    "runner.choice",
    "runner.costs",
    "runner.timing",
    "runner.undecided",
    "runner.axes",
    "runner.results",
    "runner.loaded",
    "runner.common_samples",
    "runner.hit_texts",
    "runner.json_types",
    "runner.cell_numbers",
    "runner.ranking",
    "runner.sample_groups",
    "runner.sample_verdicts",
    "runner.scored_samples",
    "runner.trusted",
)
"""How results are written and read: for every floor above the pipeline, and for the analysis."""

COMMANDS = {
    "runner.datasets",
    "runner.annotate",
    "runner.export",
    "runner.export_rankings",
    "runner.generate",
    "runner.judge_agreement",
    "runner.judge_training",
    "runner.models",
    "runner.score",
    "runner.store",
    "runner.track",
}


def _strangers(module: str, allowed: tuple[str, ...]) -> set[str]:
    return {name for name in _ours(MODULES[module]) if not any(_is_under(name, package) for package in allowed)}


@pytest.mark.parametrize("package", FLOORS)
def test_the_runner_is_built_in_floors(package: str) -> None:
    allowed = ("components", "runner.display", package, *FLOORS[package])
    own = [name for name in MODULES if _is_under(name, package)]
    assert own
    assert {module: found for module in own if (found := _strangers(module, allowed))} == {}


@pytest.mark.parametrize("module", READING)
def test_reading_results_needs_no_floor(module: str) -> None:
    names = _ours(MODULES[module], at_import=True)
    assert {name for name in names if not _is_under(name, "components")} <= set(READING)


def test_the_engine_knows_no_role_but_the_language_model() -> None:
    """It keeps replies of models; chunkers, metrics and all others are the pipeline's."""
    allowed = ("runner.engine", *SHARED_BY_ROLES)
    own = [name for name in MODULES if _is_under(name, "runner.engine")]
    assert {module: found for module in own if (found := _strangers(module, allowed))} == {}


def test_every_package_of_the_runner_has_its_place() -> None:
    packages = {name for name in MODULES if name.startswith("runner.") and name.count(".") == 1}
    alone = {
        "runner.display", "runner.svg", "runner.lines_file", "runner.__main__", "runner.own_packages",
        "runner.prose", "runner.choice_text", "runner.interruptible", "runner.unread_replies",
        "runner.standard_output",
    }  # fmt: skip
    assert packages == {*FLOORS, *COMMANDS, *READING, *alone}


def test_nothing_is_built_on_a_command() -> None:
    for module in MODULES:
        commands = {name for name in _ours(MODULES[module]) if any(_is_under(name, command) for command in COMMANDS)}
        own = ".".join(module.split(".")[:2])
        assert {name for name in commands if not _is_under(name, own)} == set(), module


def test_the_runner_does_not_import_the_analysis() -> None:
    for module in (name for name in MODULES if _is_under(name, "runner")):
        assert {name for name in _ours(MODULES[module]) if _is_under(name, "analysis")} == set(), module


def test_no_import_cycle() -> None:
    # `static_order` raises CycleError, which names the cycle.
    graph = {module: _ours(file, at_import=True) - {module} for module, file in MODULES.items()}
    assert set(TopologicalSorter(graph).static_order()) >= set(MODULES)


def test_importing_loads_nothing_heavy() -> None:
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
