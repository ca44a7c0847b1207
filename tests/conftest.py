"""Rules for all tests: no network, and one thread per process, because pytest-xdist runs a process per core."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault(
    "NUMBA_OPT", "0"
)  # tests run compiled code briefly, so fast compilation matters more than fast code
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # or each of hundreds of commands would compile the project

import gc
import ipaddress
import signal
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest
from filelock import FileLock

from runner.console.private_shortcuts import VARIABLE
from tests.fork_server import PLACE
from tests.forked import stop_server

if TYPE_CHECKING:
    from runner.results.loaded_sweep import LoadedSweep

LOADING = (
    "chunkers/test_llama_index.py",
    "embedders",
    "llms/test_llama_index.py",
    "llms/test_transformers",
    "metrics/test_bert_score.py",
    "metrics/test_text2vec.py",
    "pipelines/test_langchain.py",
    "pipelines/test_llama_index.py",
    "pretrained",
    "rerankers/test_cross_encoder.py",
    "rerankers/test_flag_embedding.py",
    "rerankers/test_late_interaction.py",
    "retrievers/test_called.py",
    "runner/engine/executors/test_ray_cluster.py",
    "runner/labels/training/test_training.py",
    "runner/launch/models",
    "runner/launch/test_framework_pipelines.py",
    "runner/output/test_logging_process.py",
    "runner/output/test_mlflow",
    "runner/output/test_tracking.py",
    "runner/test_local_models.py",
    "statistics/test_agreement.py",
    "statistics/test_multiplicity.py",
    "statistics/test_paired.py",
    "statistics/test_variance.py",
    "test_readme.py::test_readme_track_command_runs",
    "vector_indexes/test_qdrant.py",
)
"""Tests that load packages for seconds which others do not need: torch, MLflow, llama-index, statsmodels, ...;
or that share a cluster.
"""

WHOLE = (
    "analysis/decision/test_rates.py",
    "analysis/notebooks",
    "analysis/report",
    "analysis/samples",
    "analysis/test_gate.py",
    "asking/test_hostile_content.py",
    "datasets/parsers/test_markitdown_files.py",
    "datasets/parsers/test_office.py",
    "datasets/parsers/test_plumber.py",
    "datasets/test_crud_rag.py::TestPublishedData",
    "datasets/test_financerag.py::TestRealFiles",
    "datasets/test_pdfium_texts.py",
    "hostile",
    "judges/test_nli.py",
    "judges/test_prompts_in_conf.py",
    "llms/test_vllm_chat.py",
    "metrics/test_coverage.py",
    "multi_vector_encoders",
    "network",
    "openai_server/test_body.py",
    "openai_server/test_chaos.py",
    "openai_server/test_hostile_replies.py",
    "openai_server/test_received_replies.py",
    "openai_server/test_slow_server.py",
    "retrievers/test_milvus_collection.py",
    "retrievers/test_pgvector.py",
    "runner/console",
    "runner/engine/executors",
    "runner/engine/spending",
    "runner/engine/store",
    "runner/engine/test_ask.py",
    "runner/engine/test_executors.py",
    "runner/engine/test_misbehaviour.py",
    "runner/engine/test_reading_results.py",
    "runner/engine/test_resources.py",
    "runner/labels/agreement/test_labelled_claims.py",
    "runner/labels/training",
    "runner/launch",
    "runner/output",
    "runner/pipeline",
    "runner/results/test_sample_verdicts.py",
    "runner/serving",
    "runner/test_main.py",
    "runner/test_schema.py",
    "runner/testset",
    "secrets/test_escapes.py",
    "secrets/test_interpolated.py",
    "secrets/test_mask.py",
    "secrets/test_no_secret_is_seen.py",
    "sparse_encoders",
    "sparse_indexes/test_bm25.py::TestCompiledSearch",
    "statistics/test_error_rates.py",
    "statistics/test_planning.py",
    "statistics/test_racing.py",
    "test_cache_soundness.py",
    "test_conf.py",
    "test_packaging.py",
    "test_pictures.py",
    "test_presets.py",
    "test_readme.py",
    "testset/quotes",
    "text/test_forms.py",
    "tokenizers/test_composed_text.py",
    "tokenizers/test_jieba_words.py",
    "tokenizers/test_kiwi_words.py",
)
"""Tests that run whole sweeps, processes, servers, programs, simulations or fuzzers. `--fast` leaves them out, and
`LOADING`.
"""

MakeOnce = Callable[[str, Callable[[Path], None]], Path]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--fast", action="store_true", help="leave out tests that load torch, run sweeps or start processes"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Block the network, unless `-m network` selects the tests that need it.

    We use an audit hook, because plugins such as pytest-socket undo a patch of `socket` after every test.

    This process and all processes that tests start handle Ctrl-C, even if a shell started the suite in its background.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if not hasattr(config, "workerinput"):  # only in the process that the user started; the others inherit the variable
        folder = TemporaryDirectory(prefix="rag-grid-")  # not pytest's: socket paths have a maximum length
        config.add_cleanup(folder.cleanup)
        os.environ[PLACE] = str(Path(folder.name) / "forks")
    if config.option.markexpr != "network":
        sys.addaudithook(_refuse_other_machines)


@pytest.fixture(scope="session")
def make_once(tmp_path_factory: pytest.TempPathFactory) -> MakeOnce:
    """`make_once(name, fill)` returns a folder that `fill` fills in the first worker that needs it."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base

    def make(name: str, fill: Callable[[Path], None]) -> Path:
        folder = shared / name
        with FileLock(shared / f"{name}.lock"):
            if not (folder / "done").exists():
                folder.mkdir(exist_ok=True)
                fill(folder)
                (folder / "done").touch()
        return folder

    return make


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real public data: $RAG_GRID_SHARED/data, or shared/data next to the repository. Tests that need it
    skip, with the reason, on a machine without it.
    """
    repository = Path(__file__).resolve().parents[1]
    folder = Path(os.environ.get("RAG_GRID_SHARED") or repository.parent / "shared") / "data"
    if not folder.is_dir():
        pytest.skip(f"no real data: {folder} does not exist (set RAG_GRID_SHARED to the folder that holds data/)")
    return folder


@pytest.fixture(scope="session")
def planted(make_once: MakeOnce) -> "LoadedSweep":
    """The sweep of `tests.forensics.planted`. Its two cells have models that repeat the passages, or the question.
    No test may change it.
    """
    from runner.results.loaded_sweep import load
    from tests.forensics.planted import FROM_CONTEXT, FROM_QUESTION, OVERRIDES
    from tests.runner.sweeping import FEW_METRICS, SWEEP_ID, run_small

    def fill(folder: Path) -> None:
        assert run_small(folder, *((*OVERRIDES, *FEW_METRICS, reply) for reply in (FROM_CONTEXT, FROM_QUESTION))) == 0

    return load(make_once("planted", fill) / "results" / SWEEP_ID)


@pytest.fixture(scope="session", autouse=True)
def _no_server_is_left() -> Iterator[None]:
    yield
    stop_server()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out files and folders of `--fast` before their import."""
    tests = Path(__file__).parent
    if not config.option.fast or not collection_path.is_relative_to(tests):
        return None
    return _is_slow(collection_path.relative_to(tests).as_posix()) or None


def _is_slow(name: str) -> bool:
    """Return True for the name of a folder, file or test below `tests` that `--fast` leaves out."""
    return name.startswith((*LOADING, *WHOLE))


def pytest_collection() -> None:
    gc.disable()


def pytest_collection_finish() -> None:
    """Exempt collected tests from garbage collection, because they live until the end."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 100)  # a tenth less time; memory is not scarce
    gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Forget which packages a module's tests loaded as plugins: other modules may import what these lack.

    Then collect and freeze what the tests loaded. The release of a model collects garbage, and then looks only through
    that model and not through all of torch.
    """
    if nextitem is None or nextitem.path != item.path:
        if loading := sys.modules.get("runner.engine.plugins.plugin_loading"):
            loading._state.set({})
            loading.allow_edits()
        gc.collect()
        gc.freeze()


def pytest_sessionfinish() -> None:
    """Pytest collects garbage five more times to find objects that warn. Once is enough, so exempt all others."""
    gc.collect()
    gc.freeze()


def pytest_xdist_auto_num_workers() -> int:
    """Return the number of cores plus one: tests spend a seventh of their time waiting for servers and processes."""
    return (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1) + 1


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip tests that need a GPU, the network or an external server unless `-m` selects them.

    Tests in `LOADING` run first, which keeps them in one process. pytest-xdist gives each worker a contiguous part, and
    an idle worker takes tests from the end of another worker's part.
    """
    if config.option.fast:
        slow = [item for item in items if _is_slow(item.nodeid.removeprefix("tests/"))]
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if item not in set(slow)]
    items.sort(key=lambda item: not item.nodeid.removeprefix("tests/").startswith(LOADING))
    for item in items:
        for mark in ("gpu", "network", "server"):
            if item.get_closest_marker(mark) and mark not in config.option.markexpr:
                item.add_marker(pytest.mark.skip(reason=f"off unless asked for with -m {mark}"))


def _refuse_other_machines(event: str, arguments: tuple[object, ...]) -> None:
    if event == "socket.connect":
        _, address = arguments
        if isinstance(address, tuple) and not _is_this_machine(address[0]):
            raise PermissionError(f"a test tried to connect to {address}: tests reach no machine but this one")
    elif event == "socket.getaddrinfo" and not _is_this_machine(arguments[0]):
        raise PermissionError(f"a test tried to look up {arguments[0]!r}: tests reach no machine but this one")


def _is_this_machine(host: object) -> bool:
    name = host.decode() if isinstance(host, bytes) else host
    if name is None or name in ("", "localhost"):
        return True
    try:
        address = ipaddress.ip_address(str(name))
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


@pytest.fixture(scope="session", autouse=True)
def _patches_by_tests_are_allowed() -> Iterator[None]:
    """Let a test replace a method of a component."""
    from runner.engine import source_code

    is_users_code = source_code.is_users_code
    with patch.object(source_code, "is_users_code", lambda package: package != "tests" and is_users_code(package)):
        yield


@pytest.fixture(scope="session", autouse=True)
def _files_of_tests_are_read_once() -> Iterator[None]:
    """Share one snapshot of `tests` among the components that tests define: no test edits a test. Each component would
    read a thousand files again, for half a second.
    """
    from runner.engine.plugins import plugin_loading
    from runner.engine.plugins.snapshot import Snapshot, take_snapshot

    snapshot_of_tests = cache(lambda: take_snapshot("tests"))

    def take(package: str, *others: Any) -> Snapshot:
        return snapshot_of_tests() if package == "tests" and not others else take_snapshot(package, *others)

    with patch.object(plugin_loading, "take_snapshot", take):
        yield


@pytest.fixture
def shortcuts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use shortcuts through private parts of libraries in this test, even under `make check-plain`."""
    monkeypatch.delenv(VARIABLE, raising=False)
