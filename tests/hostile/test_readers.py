"""The project has no reader that runs code from a file: every call that could is one of a few, each with its reason."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FILES = [path for name in ("analysis", "components", "runner") for path in sorted((ROOT / name).rglob("*.py"))]

RUNNING = {
    "pickle.load", "pickle.loads", "pickle.Unpickler", "cloudpickle.load", "cloudpickle.loads", "joblib.load",
    "dill.load", "dill.loads", "marshal.loads", "shelve.open", "eval", "exec", "compile", "__import__", "import_module",
    "importlib.import_module", "yaml.load", "yaml.unsafe_load", "yaml.full_load", "torch.load", "np.load",
    "numpy.load", "mlflow.pyfunc.load_model", "os.system", "os.popen", "pd.read_pickle", "hydra.utils.instantiate",
    "instantiate", "runpy.run_path", "runpy.run_module",
}  # fmt: skip

SAFE_OPTIONS = {
    "np.load": {"allow_pickle": False},
    "numpy.load": {"allow_pickle": False},
    "torch.load": {"weights_only": True},
}

KNOWN = {
    "analysis/__main__.py": {"import_module"},  # commands of ours
    "components/user_code/calls.py": {"import_module"},  # packages that run.plugins names
    "components/pretrained/remote_code.py": {"importlib.import_module"},  # two modules that it names itself
    "components/pretrained/llama_index_class.py": {"importlib.import_module"},  # classes of llama_index alone
    "components/testset/topics/tree_file.py": {"yaml.load"},  # with a safe loader
    "runner/console/interruptible.py": {"exec", "import_module"},  # of an empty text; our commands
    "runner/engine/executors/fork_server.py": {"pickle.loads"},  # between processes of one command
    "runner/engine/executors/processes.py": {"pickle.loads"},
    "runner/engine/executors/ray_cluster_worker.py": {"pickle.loads"},
    "runner/engine/executors/slurm_bootstrap.py": {"pickle.loads"},
    "runner/engine/executors/slurm_worker.py": {"pickle.loads"},
    "runner/launch/axis_naming.py": {"yaml.load"},  # with a safe loader
    "runner/engine/plugins/named_code.py": {"import_module"},  # packages that run.plugins names
    "runner/launch/config_schema.py": {"importlib.import_module"},  # modules of ours
    "runner/launch/parts_loader.py": {"pickle.loads"},  # what this process made
    "runner/launch/preloading.py": {"import_module"},
    "runner/pipeline/building.py": {"importlib.import_module"},  # ours, and what run.plugins names
    "runner/output/logging_process.py": {"importlib.import_module"},
    "runner/serving/nodes.py": {"import_module"},  # the nodes were checked before
    "runner/engine/plugins/trusted_packages.py": {"import_module"},  # ours
}


def calls(path: Path) -> Iterator[str]:
    """Return the calls and references in a file that may run code, except calls whose options forbid it."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    safe = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call) and _is_safe(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name | ast.Attribute) and id(node) not in safe and ast.unparse(node) in RUNNING:
            yield ast.unparse(node)


def _is_safe(call: ast.Call) -> bool:
    wanted = SAFE_OPTIONS.get(ast.unparse(call.func))
    given = {word.arg: word.value.value for word in call.keywords if isinstance(word.value, ast.Constant)}
    return wanted is not None and all(given.get(name, ...) is value for name, value in wanted.items())


@pytest.mark.parametrize("package", ["analysis", "components", "runner"])
def test_source_calls_only_known_code_running_functions(package: str) -> None:
    found = {str(path.relative_to(ROOT)): set(calls(path)) for path in FILES if path.is_relative_to(ROOT / package)}
    more = {name: own - KNOWN.get(name, set()) for name, own in found.items() if own - KNOWN.get(name, set())}
    assert more == {}, "tell in KNOWN why no file of somebody else's gets there"


def test_known_code_running_functions_still_exist() -> None:
    assert {name: set(calls(ROOT / name)) for name in KNOWN} == KNOWN


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("np.load(p)", ["np.load"]),
        ("np.load(p, allow_pickle=True)", ["np.load"]),
        ("np.load(p, allow_pickle=False)", []),
        ("torch.load(p, weights_only=True)", []),
        ("map(pickle.loads, parts)", ["pickle.loads"]),
    ],
)
def test_unsafe_reader_calls_are_detected(text: str, expected: list[str], tmp_path: Path) -> None:
    path = tmp_path / "reader.py"
    path.write_text(text)
    assert list(calls(path)) == expected


def _handlers_of_json(path: Path) -> Iterator[str]:
    """The errors that are caught where a file of ours reads JSON."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Try):
            calls = {
                ast.unparse(inner.func) for line in node.body for inner in ast.walk(line) if isinstance(inner, ast.Call)
            }
            if calls & {"json.loads", "json.load", "parse_json"}:
                yield " ".join(ast.unparse(handler.type) for handler in node.handlers if handler.type)


def test_json_nested_too_deeply_is_reported_as_unreadable() -> None:
    caught = [(path.name, names) for path in FILES for names in _handlers_of_json(path)]
    assert len(caught) > 20
    unsafe = [(name, names) for name, names in caught if "ValueError" in names and "RecursionError" not in names]
    assert unsafe == []
