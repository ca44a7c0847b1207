"""Extensions by users without a change in this repository: classes, presets, prompts, each from its own folder."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from components.errors import ConfigError, DataError
from components.records import Kind, Passage, Sample
from runner.engine.plugins import plugin_loading
from runner.launch.compose import compose_config
from runner.pipeline.building import build_cell
from runner.results import combiner, read_cells
from runner.results.loaded_sweep import load
from tests.runner.sweeping import (
    QUIET,
    RANKING_ONLY,
    SMALL,
    cells_in,
    only_sweep,
    own_data,
    run_command,
    run_small,
    sweep_in,
)

CODE = '''
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
import typing
from typing import ClassVar

from components.datasets.jsonl import Jsonl
from components.means import combine_mean, mean_scores


@dataclass(frozen=True)
class Answered:
    """1 for an answer with text."""

    floor: float = 0.0
    version: ClassVar[int] = 1
    larger_is_better: ClassVar[bool] = True
    names: ClassVar[tuple[str, ...]] = ("answered",)
    form: ClassVar[None] = None

    def score_answers(self, samples, predictions, references):
        return {"answered": mean_scores([float(bool(text)) for text in predictions.texts])}

    def combine(self, name, sums):
        return combine_mean(sums)


class Unusual(BaseException):
    pass


@dataclass(frozen=True)
class Misnamed(Answered):
    names: ClassVar[tuple[str, ...]] = ("../x/<b>",)


@dataclass(frozen=True)
class Nameless(Answered):
    names: ClassVar[None] = None


@dataclass(frozen=True)
class Numbered(Answered):
    names: ClassVar[tuple[int, ...]] = (1,)


@dataclass(frozen=True)
class Upwards(Answered):
    larger_is_better: ClassVar[str] = "yes"


@dataclass(frozen=True)
class Spoiling(Answered):
    """Does what no metric should: `how` says what."""

    how: str = ""

    def score_answers(self, samples, predictions, references):
        if self.how == "chdir":
            os.chdir("/")
        if self.how == "exit":
            raise SystemExit(0)
        if self.how == "base":
            raise Unusual
        if self.how == "os exit":
            os._exit(3)
        if self.how == "os exit 0":
            os._exit(0)
        if self.how == "none":
            return None
        if self.how == "short":
            return {"answered": mean_scores([1.0])}
        if self.how == "no number":
            return {"answered": mean_scores([1.0] * (len(samples) - 1) + [float("nan")])}
        return super().score_answers(samples, predictions, references)


@dataclass(frozen=True)
class WithFields(Jsonl):
    """A data set with a field that has no hash."""

    fields: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Thawed:
    version: ClassVar[int] = 1


@dataclass(frozen=True)
class Picky:
    level: int = 0
    version: ClassVar[int] = 1

    def __post_init__(self):
        raise ValueError("level: got 0, expected 1")


@dataclass(frozen=True)
class Raising:
    version: ClassVar[int] = 1

    @property
    def depth(self):
        raise LookupError("no depth")


@dataclass(frozen=True)
class Unfinished:
    version: ClassVar[int] = 1

    def __post_init__(self):
        raise NotImplementedError("later")


@dataclass(frozen=True)
class Odd:
    levels: list[int] = field(default_factory=list)
    plain: list = field(default_factory=list)
    named: typing.Dict = field(default_factory=dict)
    anything: typing.Any = None
    version: ClassVar[int] = 1
'''


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "users_code" / "__init__.py", "")
    write(tmp_path / "users_code" / "parts.py", CODE)
    write(tmp_path / "users_code" / "broken.py", "1 / 0\n")
    return tmp_path


@pytest.fixture
def importable(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(folder)
    return folder


@pytest.fixture(scope="module", autouse=True)
def _forget_the_package() -> Iterator[None]:
    """Tests of other modules would otherwise expect this code on other hosts."""
    yield
    plugin_loading._state.set({})


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def problem(target: str, *overrides: str, where: str = "reranker", **fields: object) -> str:
    config = compose_config(overrides)
    config[where] = {"_target_": target, **fields}
    with pytest.raises(ConfigError) as caught:
        build_cell(config)
    (found,) = caught.value.problems
    return found


class TestClasses:
    def test_class_of_a_working_directory_package_is_used(self, folder: Path) -> None:
        mine = "+metrics.scores.mine={_target_: users_code.parts.Answered}"
        arguments = (*SMALL, *QUIET, "llm=scripted", mine, "run.plugins=[users_code]", "run.workers=2")
        done = run_command(folder, "-m", *arguments, "top_k=2,4")
        assert done.returncode == 0, done.stderr
        assert [cell.value("answered") for cell in load(only_sweep(folder)).cells] == [1.0, 1.0]

    def test_edited_class_recomputes_only_dependent_stages(self, importable: Path) -> None:
        mine = "+metrics.scores.mine={_target_: users_code.parts.Answered}"
        job = ("llm=scripted", mine, "run.plugins=[users_code]", "run.workers=1")
        assert run_small(importable, job, sweep_id="before") == 0
        parts = importable / "users_code" / "parts.py"
        parts.write_text(CODE.replace("float(bool(text))", "0.25 * float(bool(text))"), encoding="utf-8")
        for name in ("users_code.parts", "users_code"):  # another process would import them again
            del sys.modules[name]
        assert run_small(importable, job, sweep_id="after") == 0
        values = [cells_in(importable, sweep_id)[0].value("answered") for sweep_id in ("before", "after")]
        assert values == [1.0, 0.25]
        stages = sweep_in(importable, "after").plan["stages"]
        assert stages["answers"]["n_cached"] == stages["sparse_hits"]["n_cached"] == 1

    def test_class_defined_in_a_notebook_is_rejected(self, importable: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        problem("users_code.parts.Answered", "run.plugins=[users_code]")  # would import another module again
        monkeypatch.setattr(sys.modules["users_code.parts"], "__file__", None)
        assert "expected a class in a file" in problem("users_code.parts.Answered", "run.plugins=[users_code]")

    @pytest.mark.parametrize(
        "made",
        [
            "def make():\n    @dataclass(frozen=True)\n    class Made(Answered): ...\n    return Made\nOne = make()\n",
            "One = Answered\n@dataclass(frozen=True)\nclass Answered(One):\n    pass\n",
        ],
        ids=["by a function", "before another of its name"],
    )
    def test_class_whose_name_others_share_is_rejected(self, importable: Path, made: str) -> None:
        parts = importable / "users_code" / "parts.py"
        parts.write_text(f"{CODE}\n\n{made}", encoding="utf-8")
        for name in ("users_code.parts", "users_code"):  # another process would import them again
            sys.modules.pop(name, None)
        message = problem("users_code.parts.One", "run.plugins=[users_code]")
        assert "expected a class that its module defines under its name" in message
        assert "class One(...)" in message

    def test_result_classes_are_rebuilt_if_the_reader_names_their_package(
        self, importable: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # Earlier sweeps of this process filled it.
        monkeypatch.setattr("runner.engine.plugins.trusted_packages._named", {})
        mine = "+metrics.scores.mine={_target_: users_code.parts.Answered}"
        config = compose_config([mine, "run.plugins=[users_code]"])

        class Cell:
            cell_id = "x"

        Cell.config = config  # type: ignore[attr-defined]
        with pytest.raises(DataError, match=r"code that results name is not imported.*users_code"):
            combiner(Cell, "answered")  # type: ignore[arg-type]
        monkeypatch.setenv("RAG_GRID_PLUGINS", "users_code")
        combine = combiner(Cell, "answered")  # type: ignore[arg-type]
        assert combine(np.array([[1.0, 2.0]])).tolist() == [0.5]

    def test_class_outside_run_plugins_is_rejected(self, importable: Path) -> None:
        found = problem("users_code.parts.Answered")
        assert found.startswith("reranker._target_: got 'users_code.parts.Answered'")
        assert found.endswith("For your own code name its package: run.plugins=[users_code]")

    @pytest.mark.parametrize(
        ("name", "expected"),
        [
            (
                "parts.Answered",
                "but Answered lacks tokenizer, depth, score of a Reranker",
            ),
            ("parts.Thawed", "expected a frozen dataclass"),
            ("parts.Missing", "has no attribute 'Missing'"),
            ("broken.Anything", "(ZeroDivisionError: division by zero)"),
            ("parts.Picky", "reranker: Picky cannot be built from these values: level: got 0, expected 1"),
            ("parts.Unfinished", "Unfinished cannot be built from these values: NotImplementedError: later"),
            (
                "parts.Raising",
                "reranker: users_code.parts.Raising: a property or check() failed (LookupError: no depth",
            ),
        ],
    )
    def test_unusable_user_classes_are_rejected(self, name: str, expected: str, importable: Path) -> None:
        assert expected in problem(f"users_code.{name}", "run.plugins=[users_code]")

    @pytest.mark.parametrize(
        ("field", "value", "declared"),
        [
            ("levels", [1], "list[int]"),
            ("plain", [1], "<class 'list'>"),
            ("named", {"a": 1}, "typing.Dict"),
            ("anything", {"_target_": "users_code.parts.Answered"}, "typing.Any"),
        ],
    )
    def test_class_with_an_unsupported_field_type_is_rejected(
        self, field: str, value: object, declared: str, importable: Path
    ) -> None:
        found = problem("users_code.parts.Odd", "run.plugins=[users_code]", **{field: value})
        assert found.startswith(f"reranker.{field}: its class declares the type {declared}")

    def test_missing_plugin_package_is_reported_once(self, importable: Path) -> None:
        config = compose_config(["run.plugins=[users_cdoe]"])
        for where in ("reranker", "llm", "context"):
            config[where] = {"_target_": "users_code.parts.Answered"}
        with pytest.raises(ConfigError) as caught:
            build_cell(config)
        assert len(caught.value.problems) == 2, "the package that is not there, and the one that is not named"
        assert any(
            found.startswith("run.plugins: got 'users_cdoe', expected a pack") for found in caught.value.problems
        )

    @pytest.mark.parametrize("plugins", ["[a-b]", "['']", "[os.path;]"])
    def test_invalid_plugin_names_are_rejected(self, plugins: str) -> None:
        config = compose_config([f"run.plugins={plugins}".replace(";", "/x")])
        with pytest.raises(ConfigError, match=r"run\.plugins: got"):
            build_cell(config)


CLASS = " (your code in this stage: users_code.parts.Spoiling)"


class TestMisbehaviour:
    """Faults of a user's component: the sweep continues, or reports the fault."""

    def run(self, folder: Path, how: str) -> int:
        mine = f"+metrics.scores.mine={{_target_: users_code.parts.Spoiling, how: {how}}}"
        return run_small(folder, ("llm=scripted", mine, "run.plugins=[users_code]", "run.workers=1"))

    def test_component_that_changes_directory_does_not_move_the_results(
        self, importable: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(importable)  # and back at the end
        assert self.run(Path(), "chdir") == 0
        assert Path.cwd() == Path("/")
        assert [cell.status for cell in cells_in(importable)] == ["OK"]

    @pytest.mark.parametrize(
        ("how", "reason"),
        [
            ("exit", "a component called sys.exit(0) instead of raising an exception that says why" + CLASS),
            ("base", "a component raised Unusual instead of raising an exception that says why" + CLASS),
            ("none", "answer scores: AttributeError: 'NoneType' object has no attribute 'items'" + CLASS),
            ("short", "answer scores: ValueError: zip() argument 2 is shorter than argument 1" + CLASS),
            ("no number", "is nan, its statistics are [nan, 1.0], its state is 'value' (n=1 alike), expected finite"),
        ],
    )
    def test_component_misbehaviour_fails_its_cell(self, how: str, reason: str, importable: Path) -> None:
        assert self.run(importable, how) == 1
        assert sweep_in(importable).status == "FAILED"
        (cell,) = cells_in(importable)
        assert cell.status == "FAILED"
        assert reason in cell.reason

    def test_reason_names_the_component_that_ended_a_worker(self, folder: Path) -> None:
        mine = "+metrics.scores.mine={_target_: users_code.parts.Spoiling, how: os exit}"
        done = run_command(folder, *SMALL, *QUIET, "llm=scripted", mine, "run.plugins=[users_code]", "run.workers=2")
        assert done.returncode == 1, done.stderr
        (cell,) = read_cells(only_sweep(folder))
        assert f"(os._exit) instead of raising an exception that says why{CLASS}" in cell.reason

    @pytest.mark.parametrize(("how", "code", "returncode"), [("os exit", 3, 3), ("os exit 0", 0, 1)])
    def test_error_names_the_component_that_ended_the_command(
        self, how: str, code: int, returncode: int, folder: Path
    ) -> None:
        mine = f"+metrics.scores.mine={{_target_: users_code.parts.Spoiling, how: {how}}}"
        job = (*SMALL, *QUIET, "llm=scripted", mine, "run.plugins=[users_code]", "executor=local")
        done = run_command(folder, *job)
        assert done.returncode == returncode
        ended = f"answer scores: a component ended the process with code {code} (os._exit)"
        assert f"{ended} instead of raising an exception that says why{CLASS}" in done.stderr.splitlines()

    def test_error_names_the_pipeline_function_that_ended_the_command(self, folder: Path) -> None:
        (folder / "bye.py").write_text("import os\n\n\ndef answer(question):\n    os._exit(0)\n", encoding="utf-8")
        done = run_command(folder, *SMALL, *QUIET, "pipeline=python", "pipeline.call=bye.answer", "run.plugins=[bye]")
        assert done.returncode == 1
        assert done.stderr.splitlines()[-1].endswith("(your code in this stage: bye.answer)")

    def test_metric_with_an_unusable_file_name_is_refused(self, importable: Path) -> None:
        mine = "+metrics.scores.mine={_target_: users_code.parts.Misnamed}"
        with pytest.raises(ConfigError, match=r"metrics\.scores\.mine: Misnamed names a metric '\.\./x/<b>', expected"):
            build_cell(compose_config(["run.plugins=[users_code]", mine]))

    @pytest.mark.parametrize(
        ("name", "told"),
        [
            ("Nameless", "has the names None, expected a tuple of strings"),
            ("Numbered", r"has the names \(1,\), expected a tuple of strings"),
            ("Upwards", "has larger_is_better='yes', expected True, False or None"),
        ],
    )
    def test_metric_that_declares_values_of_other_types_is_refused(
        self, name: str, told: str, importable: Path
    ) -> None:
        mine = f"+metrics.scores.mine={{_target_: users_code.parts.{name}}}"
        with pytest.raises(ConfigError, match=rf"metrics\.scores\.mine: {name} {told}"):
            build_cell(compose_config(["run.plugins=[users_code]", mine]))

    def test_data_set_with_a_mapping_field_is_loaded_once(
        self, importable: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        chosen = own_data(importable, {"a": "one text", "b": "another"}, [{"id": "1", "question": "which text?"}])
        own = ("dataset._target_=users_code.parts.WithFields", "+dataset.fields={text: body}")
        job = (*chosen, *own, "run.plugins=[users_code]", *RANKING_ONLY, "run.workers=1")
        assert run_small(importable, (*job, "top_k=1"), (*job, "top_k=2")) == 0
        assert capsys.readouterr().out.count("loading jsonl") == 1


class TestFiles:
    """Option files in `--config-dir` or in a folder of `hydra.searchpath`."""

    PLAN = (*SMALL, *QUIET, *RANKING_ONLY, "run.plan_only=true")

    @pytest.fixture
    def conf(self, folder: Path) -> Path:
        write(folder / "my_conf" / "retriever" / "mine.yaml", "defaults: [bm25, _self_]\ndepth: 7\n")
        write(
            folder / "my_conf" / "sweeps" / "mine.yaml",
            "# @package _global_\nhydra: {sweeper: {params: {top_k: '2,4,6'}}}\n",
        )
        return folder / "my_conf"

    @pytest.mark.parametrize("where", [["--config-dir", "my_conf"], ["hydra.searchpath=[file://my_conf]"]])
    def test_user_option_and_user_preset_are_combined(self, where: list[str], conf: Path) -> None:
        done = run_command(conf.parent, "-m", *where, *self.PLAN, "retriever=mine", "+sweeps=mine")
        assert done.returncode == 0, done.stderr
        assert "Plan: 3 cells" in done.stdout

    def test_built_in_preset_works_with_a_user_config_folder(self, conf: Path) -> None:
        done = run_command(conf.parent, "-m", "--config-dir", "my_conf", *self.PLAN, "+sweeps=smoke")
        assert done.returncode == 0, done.stderr

    def test_user_option_is_found_through_the_hydra_search_path(self, conf: Path) -> None:
        config = compose_config([f"hydra.searchpath=[file://{conf}]", "retriever=mine"])
        assert config["retriever"]["depth"] == 7

    def test_user_option_that_is_not_yaml_is_one_error(self, conf: Path) -> None:
        write(conf / "retriever" / "torn.yaml", "depth: [7, {\n")
        with pytest.raises(ConfigError, match=r"retriever/torn.*: cannot be read as YAML"):
            compose_config([f"hydra.searchpath=[file://{conf}]", "retriever=torn"])

    def test_unknown_preset_error_lists_all_presets(self, conf: Path) -> None:
        done = run_command(conf.parent, "-m", "--config-dir", "my_conf", *self.PLAN, "+sweeps=nonsense")
        assert done.returncode == 2
        assert "sweeps: got 'nonsense', expected one of " in done.stderr
        assert all(name in done.stderr for name in ("mine", "smoke", "grid"))


class TestPrompts:
    def built(self, folder: Path, text: str) -> Any:
        write(folder / "prompt" / "mine.yaml", text)
        return build_cell(compose_config([f"hydra.searchpath=[file://{folder}]", "prompt=mine"])).prompt

    def said(self, prompt: Any, kind: Kind = Kind.QA) -> str:
        return str(prompt.render(Sample("s", "qa", kind, "Who?", ("x",)), [Passage("a text")])[-1].content)

    @pytest.mark.parametrize("base", ["english", "chinese"])
    def test_user_prompt_overrides_one_template_of_a_built_in_prompt(self, base: str, folder: Path) -> None:
        prompt = self.built(folder, f'defaults: [{base}, _self_]\nqa: "{{context}} - {{question}}"\n')
        assert self.said(prompt) == "[1] a text - Who?"
        assert self.said(prompt, Kind.LONG_FORM) == self.said(
            build_cell(compose_config([f"prompt={base}"])).prompt, Kind.LONG_FORM
        )

    def test_default_template_applies_to_every_kind(self, folder: Path) -> None:
        text = '_target_: components.prompts.by_kind.PromptByKind\ndefault: "{context} - {question}"\n'
        prompt = self.built(folder, text)
        assert {self.said(prompt, kind) for kind in Kind} == {"[1] a text - Who?"}

    def test_misspelt_prompt_field_is_reported(self, folder: Path) -> None:
        with pytest.raises(ConfigError, match=r"prompt\.sytem: unknown; did you mean system\?"):
            self.built(folder, 'defaults: [english, _self_]\nsytem: "{context} {question}"\n')
        with pytest.raises(ConfigError, match=r"prompt\.qa: the template has no \{context\}"):
            self.built(folder, 'defaults: [english, _self_]\nqa: "{question}"\n')
