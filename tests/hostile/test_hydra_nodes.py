"""No node of Hydra runs code other than ours and that of `run.plugins`, however it is composed."""

import pickle
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hydra.errors import HydraException
from hydra.types import RunMode
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

import runner
from components.errors import ConfigError
from runner.launch import grid_launcher
from runner.launch.compose import compose_config
from runner.launch.hydra_state import isolate_hydra
from runner.testset.making.composing import compose_generation
from tests.hostile.planting import Planted
from tests.runner.sweeping import run_command

PLAN = ("run.plan_only=true", "tracking=none", "retriever=bm25", "embedder=hashing")
LOGS = ("hydra/job_logging=default", "hydra/hydra_logging=default")
CALL = "evil_package.run"


def mappings() -> list[str]:
    """The dotted names of all mappings of Hydra's configuration, and of places that it has none at yet."""
    grid_launcher.register()
    with isolate_hydra() as hydra:
        config = hydra.compose_config("config", [*LOGS], RunMode.MULTIRUN, from_shell=False)
    found: Any = OmegaConf.to_container(config.hydra, resolve=False)
    new = ("callbacks.x", "callbacks.x.y", "launcher.x", "sweeper.x", "job_logging.handlers.x", "job_logging.filters.x")
    return [*_names(found, "hydra"), *(f"hydra.{name}" for name in new)]


def _names(node: Mapping[str, Any], place: str) -> Iterator[str]:
    yield place
    for name, value in node.items():
        if isinstance(value, dict):
            yield from _names(value, f"{place}.{name}")


PLACES = mappings()
FORMS: Mapping[str, Callable[[str], str]] = {
    "target": lambda place: f"++{place}._target_={CALL}",
    "nested": lambda place: f"++{place}.own={{deep: {{_target_: {CALL}}}}}",
    "list": lambda place: f"++{place}.own=[{{_target_: {CALL}}}]",
    "partial": lambda place: f"++{place}.own={{_target_: {CALL}, _partial_: true}}",
    "class": lambda place: f"++{place}.class={CALL}",
    "number": lambda place: f"++{place}={{1: {{_target_: {CALL}}}}}",
    "object": lambda place: f"++{place}.stream='ext://{CALL}'",
    "interpolated": lambda place: f'++{place}._target_=${{oc.decode:"{CALL}"}}',
}


def test_hydra_nodes_to_check_include_the_known_ones() -> None:
    for name in ("hydra.launcher", "hydra.sweeper", "hydra.callbacks", "hydra.job.env_set", "hydra.runtime.choices"):
        assert name in PLACES
    assert len(PLACES) > 20


@pytest.mark.parametrize("form", FORMS)
def test_composition_refuses_code_at_every_hydra_node(form: str, evil: Planted) -> None:
    """Every place receives the plain form, and every third place the other forms, each from another first place."""
    places = PLACES if form == "target" else PLACES[list(FORMS).index(form) % 3 :: 3]
    n_refused = 0
    grid_launcher.register()
    with isolate_hydra() as hydra:
        for place in places:
            override = FORMS[form](place)
            try:
                hydra.compose_config("config", [*LOGS, override], RunMode.RUN, from_shell=False)
            except (HydraException, OmegaConfBaseException):
                n_refused += 1
            else:  # Hydra builds no object here
                assert form in ("class", "object"), override
            assert not evil.has_run, override
    assert n_refused > len(places) / 4


@pytest.mark.parametrize("place", ["hydra", "hydra.callbacks.x", "hydra.launcher", "hydra.sweeper.x", "hydra.job"])
def test_planning_runs_no_code_from_targets(place: str, evil: Planted, tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        runner.run([*PLAN, *LOGS, f"run.results_dir={tmp_path / 'results'}", FORMS["target"](place)])


COMMANDS: Mapping[str, tuple[str, ...]] = {
    "callback": (f"+hydra.callbacks.x._target_={CALL}",),
    "launcher": (f"hydra.launcher._target_={CALL}",),
    "sweeper": (f"hydra.sweeper._target_={CALL}",),
    "handler": ("hydra/job_logging=stdout", f"+hydra.job_logging.handlers.x.class={CALL}"),
    "stream": ("hydra/job_logging=stdout", f"hydra.job_logging.handlers.console.stream='ext://{CALL}'"),
    "variable": ("+hydra.job.env_set.PYTHONPATH=evil_package",),
    "config path": ("--config-path", "pkg://evil_package"),
    "reference": (f"+x={{_target_: {CALL}}}", "+hydra.callbacks.x=${x}"),
    "made of a text": (f'+hydra.callbacks.x=${{oc.create:"{{_target_: {CALL}}}"}}',),
    "kept for later": (
        "hydra/job_logging=stdout",
        "hydra.job.name='ext://evil_package.run'",
        "hydra.job_logging.handlers.console.stream=${hydra:job.name}",
    ),
    "attribute": ("hydra/job_logging=default", "+hydra.job_logging.handlers.file={'.': {baseFilename: /tmp/x.py}}"),
    "file": ("hydra/job_logging=default", "hydra.job_logging.handlers.file.filename=x.py"),
}


MODES = ((), ("-m",), ("--cfg", "hydra"), ("--hydra-help",), ("--info", "config"))
TRIED = [*((name, mode) for name in COMMANDS for mode in MODES[:1]), *(("callback", mode) for mode in MODES[1:])]


@pytest.mark.parametrize(("name", "mode"), [*TRIED, ("handler", ("-m",)), ("launcher", ("-m",)), ("sweeper", ("-m",))])
def test_command_overrides_run_no_code(name: str, mode: tuple[str, ...], evil: Planted) -> None:
    done = run_command(evil.folder, *mode, *PLAN, *COMMANDS[name])
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    assert not list(evil.folder.glob("x.*"))


@pytest.mark.parametrize("kind", ["pkg", "group"])
def test_config_search_path_imports_no_package(kind: str, evil: Planted) -> None:
    assert compose_config([f"hydra.searchpath=[{kind}://evil_package]"])["top_k"] == 5


@pytest.mark.parametrize(
    "place",
    ["structured://evil_package", "structured://missing", "PKG://evil_package", "http://127.0.0.1:1/x", "x://y"],
)
def test_unknown_search_path_scheme_is_an_error_and_imports_no_package(evil: Planted, place: str) -> None:
    with pytest.raises(ConfigError, match=r"hydra\.searchpath: got .*, expected a folder"):
        compose_config([f"hydra.searchpath=[{place}]"])
    assert not list(evil.folder.glob("x.*"))


@pytest.mark.parametrize("mode", [(), ("-m",)])
def test_config_folder_files_run_no_code(mode: tuple[str, ...], evil: Planted) -> None:
    conf = evil.folder / "conf"
    (conf / "hydra" / "callbacks").mkdir(parents=True)
    (conf / "hydra" / "callbacks" / "mine.yaml").write_text(f"x:\n  _target_: {CALL}\n")
    (conf / "hydra" / "launcher").mkdir()
    (conf / "hydra" / "launcher" / "mine.yaml").write_text(f"_target_: {CALL}\n")
    (conf / "sweeps").mkdir()
    (conf / "sweeps" / "mine.yaml").write_text(
        f"# @package _global_\nhydra:\n  callbacks:\n    x: {{_target_: {CALL}}}\n"
    )
    primary = "defaults: [config, _self_]\nhydra: {searchpath: ['pkg://evil_package']}\n"
    (conf / "primary.yaml").write_text(primary)
    for chosen in ("hydra/callbacks=mine", "hydra/launcher=mine", "+sweeps=mine"):
        done = run_command(evil.folder, *mode, "--config-dir", "conf", *PLAN, chosen)
        assert (done.returncode, "_target_: got 'evil_package.run'" in done.stderr) == (2, True), chosen
    done = run_command(evil.folder, *mode, "--config-dir", "conf", "--config-name", "primary", *PLAN)
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("key", ["()", "class", "_target_"])
@pytest.mark.parametrize("section", ["handlers", "formatters", "filters", "loggers", "root"])
@pytest.mark.parametrize("node", ["job_logging", "hydra_logging"])
def test_logging_configuration_runs_no_code(node: str, section: str, key: str, evil: Planted) -> None:
    write_logs(evil.folder, node, {section: {"x": {key: CALL}}})
    overrides = [f"hydra.searchpath=[file://{evil.folder}]", f"hydra/{node}=mine"]
    if (section, key) in [("loggers", "()"), ("loggers", "class"), ("root", "()"), ("root", "class")]:
        compose_config(overrides)  # Python builds nothing there
    else:
        with pytest.raises(ConfigError, match=rf"hydra\.{node}\.{section}\.x\.{re.escape(key)}: "):
            compose_config(overrides)


def write_logs(folder: Path, node: str, settings: Mapping[str, Any]) -> None:
    path = folder / "hydra" / node / "mine.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(OmegaConf.to_yaml(OmegaConf.create({"version": 1, "root": {"level": "INFO"}, **settings})))


@pytest.mark.parametrize("option", ["--experimental-rerun", "--experimental-r", "--exp"])
def test_hydra_job_pickle_is_not_rerun(option: str, evil: Planted) -> None:
    class Runs:
        def __reduce__(self) -> tuple[Any, ...]:
            return Path.touch, (evil.mark,)

    (evil.folder / "job.pickle").write_bytes(pickle.dumps(Runs()))
    done = run_command(evil.folder, option, "job.pickle")
    assert done.returncode == 2
    assert "Hydra would unpickle the file" in done.stderr


@pytest.mark.parametrize("place", ["callbacks.x._target_", "launcher._target_"])
def test_generation_rejects_code_in_its_configuration(place: str, evil: Planted) -> None:
    for name in ("config", "check"):
        with pytest.raises(ConfigError, match=r"_target_: got 'evil_package\.run'"):
            compose_generation([f"++hydra.{place}={CALL}"], name)


class TestCodeThatIsNamed:
    def test_callbacks_of_named_plugins_are_allowed(self, evil: Planted) -> None:
        named = ("run.plugins=[evil_package]", "+hydra.callbacks.x._target_=evil_package.OnRun")
        assert compose_config(named)["run"]["plugins"] == ["evil_package"]
        assert evil.has_run, "it was named"
        with pytest.raises(ConfigError, match=r"expected a subclass of hydra\.experimental\.callback\.Callback"):
            compose_config([*named, f"+hydra.callbacks.y._target_={CALL}"])
        evil.forget()

    def test_log_handlers_of_named_plugins_are_allowed(self, evil: Planted) -> None:
        named = ("run.plugins=[evil_package]", "hydra/job_logging=stdout")
        compose_config([*named, "+hydra.job_logging.handlers.x.class=evil_package.ToNowhere"])
        with pytest.raises(ConfigError, match=r"expected a subclass of logging\.Handler"):
            compose_config([*named, f"+hydra.job_logging.handlers.x.class={CALL}"])
        evil.forget()

    def test_functions_of_a_standard_library_plugin_are_refused(self) -> None:
        with pytest.raises(ConfigError, match=r"got 'os\.system', expected a subclass"):
            compose_config(["run.plugins=[os]", "+hydra.callbacks.x={_target_: os.system, command: 'true'}"])

    def test_package_on_the_search_path_is_not_imported(self, evil: Planted) -> None:
        options = evil.folder / "evil_package" / "llm"
        options.mkdir()
        (options / "mine.yaml").write_text("_target_: components.llms.scripted.Scripted\nreply: hello\n")
        config = compose_config(["hydra.searchpath=[pkg://evil_package]", "llm=mine"])
        assert config["llm"]["reply"] == "hello"

    @pytest.mark.parametrize(
        "overrides",
        [
            ("hydra.verbose=true",),
            ("hydra/job_logging=default", "hydra/hydra_logging=default"),
            ("hydra/job_logging=stdout", "hydra.job_logging.root.level=DEBUG"),
            ("hydra/launcher=basic",),
            ("hydra/launcher=joblib", "hydra.launcher.n_jobs=2"),
            ("hydra/job_logging=default", "hydra.job_logging.handlers.file.filename=a.log"),
            ("+hydra.callbacks.x._target_=hydra.experimental.callbacks.LogJobReturnCallback",),
            ("hydra.job.env_copy=[PATH]",),
        ],
    )
    def test_overrides_with_hydras_own_classes_are_accepted(self, overrides: tuple[str, ...]) -> None:
        assert compose_config(overrides)["top_k"] == 5

    @pytest.mark.parametrize("node", ["hydra/sweeper=basic", "hydra.sweeper._target_=${target}"])
    def test_sweeper_without_a_limit_on_cells_is_refused(self, node: str) -> None:
        target = "+target=hydra._internal.core_plugins.basic_sweeper.BasicSweeper"
        with pytest.raises(ConfigError, match=r"hydra/sweeper: got basic, .* stops at hydra\.sweeper\.max_cells"):
            compose_config([target, node])

    def test_interpolations_of_hydra_nodes_are_resolved_by_the_check(self) -> None:
        grid_launcher.register()
        overrides = ["+level=DEBUG", "hydra/job_logging=default", "hydra.job_logging.root.level=${level}"]
        with isolate_hydra() as hydra:
            config = hydra.compose_config("config", overrides, RunMode.RUN, from_shell=False)
        raw: Any = OmegaConf.to_container(config.hydra.job_logging, resolve=False)
        assert raw["root"]["level"] == "DEBUG"
        assert raw["handlers"]["file"]["filename"] == "${hydra.runtime.output_dir}/${hydra.job.name}.log"


def test_planted_package_runs_code_when_imported(evil: Planted) -> None:
    __import__("evil_package")
    assert evil.mark.exists()
    evil.forget()
    assert not list(evil.folder.glob("x.*"))
