"""A preset that reads a secret out of the environment gets it into no file, no folder's name and no output."""

from pathlib import Path

import pytest

from components.errors import ConfigError
from components.secrets import known
from runner.launch.compose import compose_config
from runner.testset.making.composing import compose_generation
from tests.runner.sweeping import run_command

NEVER = "x7Qm2f9LkT4vWz8RbN3c"
READ = "${oc.env:MY_API_KEY}"


@pytest.mark.parametrize(
    "override",
    [
        "hydra.run.dir='results/{}'", "hydra.sweep.dir='results/{}'", "hydra.sweep.subdir='x{}'",
        "hydra.output_subdir='{}'", "hydra.job.name='{}'", "hydra.help.template='{}'", "hydra.hydra_help.template='{}'",
        "+hydra.callbacks.x._target_='{}'", "hydra.verbose=['{}']",
        "+hydra.job_logging.handlers.file.filename='{}.log'", "hydra.job.config.override_dirname.kv_sep='{}'",
    ],
)  # fmt: skip
def test_secrets_in_hydra_nodes_are_rejected(override: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_API_KEY", NEVER)
    with pytest.raises(ConfigError, match="contains the secret of the environment variable MY_API_KEY") as raised:
        compose_config([override.format(READ)])
    assert NEVER not in str(raised.value)


@pytest.mark.parametrize(
    "override", ["hydra.sweep.dir='results/{}'", "hydra.job.name='{}'", "hydra.output_subdir='{}'"]
)
def test_variable_with_a_key_like_name_is_rejected_in_hydra_nodes(
    override: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sweeps").mkdir()
    axes = "hydra:\n  sweeper:\n    params:\n      llm.api_key_env: OTHER,MY_LLM\n"
    (tmp_path / "sweeps" / "mine.yaml").write_text(f"# @package _global_\n{axes}", encoding="utf-8")
    monkeypatch.setenv("MY_LLM", NEVER)
    for named in (("llm.api_key_env=MY_LLM",), (f"hydra.searchpath=[file://{tmp_path}]", "+sweeps=mine")):
        monkeypatch.setattr(known, "_marked", set())
        with pytest.raises(ConfigError, match="contains the secret of the environment variable MY_LLM") as raised:
            compose_config(["llm=openai", *named, override.format("${oc.env:MY_LLM}")])
        assert NEVER not in str(raised.value)


def test_override_that_names_a_variable_hides_its_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known, "_marked", set())
    monkeypatch.setenv("MY_LLM", NEVER)
    with pytest.raises(ConfigError, match="llm: contains the secret of the environment variable MY_LLM") as raised:
        compose_config(["llm.api_key_env=MY_LLM", f"llm={NEVER}"])
    assert NEVER not in str(raised.value)


def test_generation_error_shows_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known, "_marked", set())
    monkeypatch.setenv("MY_LLM", NEVER)
    with pytest.raises(ConfigError, match="contains the secret of the environment variable MY_LLM"):
        compose_generation(["llm=openai", "llm.api_key_env=MY_LLM", "llm.model='${oc.env:MY_LLM}'"])


def test_variable_copied_to_jobs_is_not_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_API_KEY", NEVER)
    assert compose_config(["hydra.job.env_copy=[MY_API_KEY]"])["top_k"] == 5


def test_resolved_configuration_hides_interpolated_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_API_KEY", NEVER)
    (tmp_path / "conf" / "sweeps").mkdir(parents=True)
    preset = f"# @package _global_\nexperiment:\n  name: {READ}\n"
    (tmp_path / "conf" / "sweeps" / "mine.yaml").write_text(preset, encoding="utf-8")
    done = run_command(tmp_path, "--config-dir", "conf", "--cfg", "job", "--resolve", "+sweeps=mine", "top_k=7")
    assert done.returncode == 0
    assert "  name: ***\n" in done.stdout
    assert NEVER not in done.stdout + done.stderr
