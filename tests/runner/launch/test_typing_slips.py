"""Typing errors for which Hydra prints a traceback or nothing. Here, each is a one-line error."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hydra.core.config_store import ConfigStore
from hydra.core.override_parser.overrides_parser import OverridesParser

import runner
from components.errors import ConfigError
from components.text.brackets import bracket_depth
from runner.launch.compose import compose_config
from runner.launch.grid_sweeper import check_axis, expand
from runner.launch.overrides import quote_values, refuse_stray_words
from tests.runner.sweeping import run_command

DEEP = "[" * 5000 + "]" * 5000


def problems(*overrides: str) -> tuple[str, ...]:
    """Errors for which a sweep is refused."""
    with pytest.raises(ConfigError) as refused:
        runner.run([*overrides, "run.plan_only=true"])
    return refused.value.problems


@pytest.mark.parametrize("group", ["chunk", "language", "llm"])
def test_null_is_rejected_as_an_option(group: str) -> None:
    with pytest.raises(ConfigError, match=rf"{group}=null: expected the name of an option of {group}: \w+"):
        compose_config([f"{group}=null"])


def test_null_is_rejected_as_an_option_on_an_axis() -> None:
    (problem,) = problems("chunk=null,sentence")
    assert problem.startswith("chunk=null: expected the name of an option of chunk: ")


@pytest.mark.parametrize("value", [DEEP, "(" * 60, "{a:" * 60])
def test_deep_brackets_are_refused_before_the_parser_recurses(value: str) -> None:
    with pytest.raises(ConfigError, match=r"top_k: got a value with [\d,]+ nested brackets, expected at most 50"):
        quote_values([f"top_k={value}"])


@pytest.mark.parametrize(("text", "depth"), [("", 0), ("a(b)[c{d}]", 2), (")))(", 1), ("((", 2)])
def test_bracket_depth_counts_the_deepest_nesting(text: str, depth: int) -> None:
    assert bracket_depth(text) == depth


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["chunk.size=64,", "128"], "chunk.size=64, 128: separate values by commas, without spaces: chunk.size=64,128"),
        (["chunk.size=64", "128"], "commas, without spaces: chunk.size=64,128"),
        (["chunk.size=64", ",128", "256"], "commas, without spaces: chunk.size=64,128,256"),
        (["chunk.size=", "64"], "commas, without spaces: chunk.size=64"),
        (["help"], "'help' sets nothing, expected group=option or key=value"),
        (["run.plan_only=true", "chunk.size\uff1d64"], "contains full-width punctuation, expected chunk.size=64"),
        (["chunk.size=64\uff0c128"], "contains full-width punctuation, expected chunk.size=64,128"),
    ],
)
def test_list_with_blanks_suggests_the_corrected_override(words: list[str], expected: str) -> None:
    with pytest.raises(ConfigError) as refused:
        refuse_stray_words([*words, "top_k=3"])
    (problem,) = refused.value.problems
    assert problem.endswith(expected)


def test_full_width_punctuation_in_texts_is_kept() -> None:
    refuse_stray_words(["header.text=标题\uff0c正文", "top_k=2"])


def test_deletion_override_is_not_a_stray_word() -> None:
    refuse_stray_words(["~metrics.scores.bleu", "top_k=2"])


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        (
            "chunk.size='64 128'",
            "chunk.size: got '64 128' (str), expected a whole number; separate several values by commas",
        ),
        ("chunk.size=interval()", "; a grid takes no intervals: list the values, as in chunk.size=64,128"),
        ("chunk.size=1e26", "chunk.size: got 1e+26 (float), expected a whole number"),
        (f"chunk.size={10**26}", "expected a whole number of at most 9223372036854775807"),
        ("repeat=-1", "repeat: got -1, expected the number of a draw"),
        ("judge_repeat=-1", "judge_repeat: got -1, expected the number of a draw"),
        ("run.store_dir=", "run.store_dir: got '', expected a folder, e.g. results/store"),
        ("run.store_dir=' '", "run.store_dir: got ' ', expected a folder, e.g. results/store"),
        (
            "hydra.run.dir=elsewhere",
            "hydra.run.dir: got 'elsewhere', which does not move results. Set run.results_dir=",
        ),
        (
            "hydra.output_subdir=/else/where",
            "hydra.output_subdir: got '/else/where', expected null: the sweep writes .hydra/ into its own folder",
        ),
        (
            "hydra.sweep.subdir=/else/where",
            "hydra.sweep.subdir: got '/else/where', expected a folder inside the sweep's folder",
        ),
        (
            "hydra.sweep.subdir=../where",
            "hydra.sweep.subdir: got '../where', expected a folder inside the sweep's folder",
        ),
        (
            "hydra.sweep.dir=else/where",
            "hydra.sweep.dir: got 'else/where', expected a folder in run.results_dir=results",
        ),
    ],
)
def test_implausible_values_are_rejected_with_a_suggestion(
    override: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (problem,) = problems(override)
    assert expected in problem
    assert "\n" not in problem.partition("configuration:\n")[2]
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("url", ["http://local host:1/v1", " http://localhost:1/v1", "http://localhost:1/v1\n"])
def test_address_with_blanks_is_rejected(url: str) -> None:
    openai = ("llm=openai", "llm.model=x", "llm.api_key_env=''")
    assert "llm.base_url: got" in problems(*openai, f"llm.base_url='{url}'")[0]


def test_late_interaction_suggests_the_required_embedder() -> None:
    (problem,) = problems("reranker=late_interaction")
    lacking = "Lsa lacks encode_chunks, encode_queries of a ThreeWayEncoder"
    assert f"{lacking}. Choose an embedder that has them: embedder=bge-m3-heads" in problem


class TestAxes:
    @pytest.mark.parametrize(
        ("axis", "expected"),
        [
            ("top_k=range(0,0)", "top_k=range(0,0): is an empty range"),
            ("top_k=range(0,9,step=0)", "is an empty range"),
            ("top_k=range(0.0,0.5,step=-0.1)", "is an empty range"),
            ("top_k=range(1,inf)", "is an empty range"),
            ("top_k=range(1,1000000000)", "has 999,999,999 cells, more than hydra.sweeper.max_cells=100 allows"),
            ("top_k=range(0,1,step=0.001)", "the limit: hydra.sweeper.max_cells=1000"),
            ("top_k=interval(1,2)", "got an interval, expected single values. List them, as in top_k=64,128"),
        ],
    )
    def test_implausible_grid_values_are_rejected(self, axis: str, expected: str) -> None:
        with pytest.raises(ConfigError) as refused:
            check_axis(OverridesParser.create().parse_override(axis), max_cells=100)
        (problem,) = refused.value.problems
        assert expected in problem

    @pytest.mark.parametrize("axis", ["top_k=range(1,101)", "top_k=range(0,1,step=0.01)", "top_k=1,2", "top_k=3"])
    def test_valid_grid_values_are_accepted(self, axis: str) -> None:
        check_axis(OverridesParser.create().parse_override(axis), max_cells=100)

    def test_cell_limit_counts_cells_and_not_values(self) -> None:
        axes = {name: [f"{name}={n}" for n in range(11)] for name in "abc"}
        with pytest.raises(ConfigError, match="has 1,331 cells"):
            expand(axes, [], one_at_a_time=False, max_cells=1000)
        assert len(expand(axes, [], one_at_a_time=True, max_cells=31)) == 31
        assert len(expand(axes, [["a", "b", "c"]], one_at_a_time=False, max_cells=11)) == 11

    def test_cell_limit_is_configurable(self) -> None:
        assert "hydra.sweeper.max_cells=3 allows" in problems("top_k=1,2,3,4", "hydra.sweeper.max_cells=3")[0]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--resolve"], "requires --cfg, whose references it resolves"),
        (["-m", "--cfg", "job"], "--multirun and --cfg are mutually exclusive"),
        (["-m", "chunk.size=64,", "128"], "chunk.size=64,128"),
        (["language=null"], "language=null: expected the name of an option of language: de, en, "),
        (["dataset.limit=3", "~dataset"], "~dataset: removes the group that dataset.limit belongs to"),
        (["-m", "top_k=range(0,0)"], "top_k=range(0,0): is an empty range"),
    ],
)
def test_mistyped_command_exits_with_2_and_one_message(tmp_path: Path, arguments: list[str], expected: str) -> None:
    done = run_command(tmp_path, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert expected in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())


def test_flag_value_is_not_a_stray_word(tmp_path: Path) -> None:
    done = run_command(tmp_path, "--config-dir", str(tmp_path), "--cfg", "job", "-p", "top_k")
    assert (done.returncode, done.stdout) == (0, "5\n")


def test_sweep_folder_can_be_set_by_hydra_sweep_dir(tmp_path: Path) -> None:
    done = run_command(tmp_path, "hydra.sweep.dir=results/mine", "--cfg", "hydra", "-p", "hydra.sweep.dir")
    assert done.stdout == "results/mine\n"


class TestForeignPlugins:
    @pytest.fixture
    def trying(self) -> Iterator[str]:
        """A sweeper as an installed plugin registers it; nothing of it can be imported."""
        target = "hydra_plugins.hydra_trying_sweeper.Trying"
        ConfigStore.instance().store(group="hydra/sweeper", name="trying", node={"_target_": target})
        yield "hydra/sweeper=trying"
        ConfigStore.instance().repo["hydra"]["sweeper"].pop("trying.yaml")

    @pytest.mark.parametrize("plugins", ["[]", "[hydra_plugins]"])
    def test_plugin_sweeper_that_needs_results_is_refused(self, trying: str, plugins: str) -> None:
        (problem,) = problems(trying, "top_k=2,3", f"run.plugins={plugins}")
        assert (
            "hydra/sweeper: got hydra_plugins.hydra_trying_sweeper.Trying, a plugin's sweeper, which chooses" in problem
        )
        assert "Leave hydra/sweeper out and add search=tpe, or list the values of each axis" in problem

    def test_plugin_launcher_error_names_the_executors(self) -> None:
        (problem,) = problems("hydra.launcher._target_=hydra_plugins.submitit.Slurm")
        assert "Use executor=slurm or executor=ray instead" in problem

    def test_user_sweeper_must_extend_the_hydra_sweeper(self) -> None:
        (problem,) = problems("run.plugins=[json]", "hydra.sweeper._target_=json.JSONDecoder")
        assert "expected a subclass of hydra._internal.core_plugins.basic_sweeper.BasicSweeper" in problem
