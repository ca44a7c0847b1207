"""`python -m runner.schema`: presets and options fit the schema, misspelt and mistyped ones do not."""

import copy
import json
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft7Validator
from omegaconf import OmegaConf

import conf
import sweeps
from runner.launch.config_schema import config_schema
from runner.schema import as_text, main
from tests.runner.sweeping import compose_job

CONF = Path(conf.__file__).parent
PRESETS = sorted(Path(sweeps.__file__).parent.glob("*.yaml"))
OPTIONS = sorted(path.relative_to(CONF) for path in CONF.glob("*/*.yaml"))
MODELINE = "# yaml-language-server: $schema=schema.json"


@cache
def validator(group: str = "") -> Draft7Validator:
    schema = config_schema(group)
    Draft7Validator.check_schema(schema)
    return Draft7Validator(schema)


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def is_valid(text: str, group: str = "") -> bool:
    return bool(validator(group).is_valid(yaml.safe_load(text)))


@pytest.mark.parametrize("path", PRESETS, ids=lambda path: path.stem)
class TestPresets:
    def test_every_preset_matches_the_schema(self, path: Path) -> None:
        assert list(validator().iter_errors(read(path))) == []

    def test_misspelt_and_mistyped_axes_fail_the_schema(self, path: Path) -> None:
        for key, value in (("parms", {}), ("coupled", "chunk.size"), ("max_cells", "many"), ("one_at_a_time", "yes")):
            preset = copy.deepcopy(read(path))
            preset.setdefault("hydra", {}).setdefault("sweeper", {})[key] = value
            assert not validator().is_valid(preset), key

    def test_preset_names_the_schema_for_editors(self, path: Path) -> None:
        assert path.read_text(encoding="utf-8").count(f"\n{MODELINE}\n") == 1


@pytest.mark.parametrize("path", OPTIONS, ids=str)
def test_every_option_matches_the_schema_unless_misspelt(path: Path) -> None:
    option = read(CONF / path) or {}
    assert list(validator(path.parent.name).iter_errors(option)) == []
    assert not validator(path.parent.name).is_valid({**option, "mispelt_field": 1})


@pytest.mark.parametrize(
    "overrides",
    [
        [],
        ["retriever=arms", "reranker=cascade", "expander=combined", "metrics=published"],
        ["language=en", "chunk=parents"],
    ],
    ids=" ".join,
)
def test_misspelt_component_field_invalidates_a_composed_configuration(overrides: list[str]) -> None:
    config = json.loads(json.dumps(compose_job(*overrides, "llm=scripted", "judge=omnieval_zh").config))
    assert list(validator().iter_errors(config)) == []
    for place in ("chunk", "retriever", "judge", "run"):
        broken = {**config, place: {**config[place], "sise": 1}}
        assert not validator().is_valid(broken), place


def test_default_configuration_matches_the_schema() -> None:
    assert list(validator().iter_errors(OmegaConf.to_container(OmegaConf.load(CONF / "config.yaml")))) == []


@pytest.mark.parametrize(
    "text",
    [
        "chnk: {size: 128}",  # a misspelt group
        "chunk: {sise: 128}",  # a misspelt field
        "chunk: {size: large}",  # a wrong type
        "chunk: 128",  # a value in place of a node
        "top_k: many",
        "top_k: 2.5",
        "run: {workers: all}",
        "run: {pictures: some}",  # not of the enumeration
        "run: {plugins: my_package}",  # not a list
        "chunk: {_target_: components.chunkers.sentence.Sentences}",  # no such class
        "chunk: {_target_: components.tokenizers.plain_words.PlainWords}",  # a class of another role
        "defaults: [override /retriever: bm52]",
        "defaults: {retriever: bm25}",
        "metrics: {scores: {f1: {_target_: components.metrics.f1.F1, omnieval_compat: 1.5}}}",
    ],
)
def test_invalid_preset_fails_the_schema(text: str) -> None:
    assert not is_valid(text)


@pytest.mark.parametrize(
    "text",
    [
        "chunk: {size: 128}",
        "chunk: {size: '${top_k}'}",
        "top_k: ???",
        "run: {max_cost: null, workers: 2}",
        "chunk: {_target_: my_package.paragraphs.Paragraphs, least: 3}",
        "defaults: [crud_table3, override /retriever: bm25, override /reranker@reranker.steps.precise: lexical]",
        "metrics: {scores: {answered: {_target_: my_package.answered.Answered}}}",
    ],
)
def test_partial_nodes_references_and_plugins_match_the_schema(text: str) -> None:
    assert is_valid(text)


def test_schema_fields_have_descriptions_defaults_and_enumerations() -> None:
    definitions = config_schema()["$defs"]
    run = definitions["runner.pipeline.settings.RunSettings"]["properties"]
    assert (
        run["report"]["description"]
        == "write the report at the end (.html, .md, .json), as python -m analysis report does"
    )
    assert run["report"]["default"] is False
    assert {"enum": ["headline", "all", "none"]} in run["pictures"]["anyOf"]
    (bm25,) = [node for name, node in definitions.items() if name.endswith(".Bm25")]
    assert bm25["description"]


def test_schema_of_a_group_lists_its_options() -> None:
    assert "bm25, closed_book, colbert, dense" in config_schema()["properties"]["retriever"]["description"]


def test_user_options_match_the_schema_of_their_config_folder(tmp_path: Path) -> None:
    (tmp_path / "metrics").mkdir()
    (tmp_path / "metrics" / "mine.yaml").touch()
    preset = {"defaults": [{"override /metrics": "mine"}]}
    assert not validator().is_valid(preset)
    assert Draft7Validator(config_schema(own_options=tmp_path)).is_valid(preset)


def test_schema_file_beside_the_presets_is_up_to_date() -> None:
    """Write it again: python -m runner.schema > sweeps/schema.json"""
    assert files("sweeps").joinpath("schema.json").read_text(encoding="utf-8") == as_text() + "\n"


def test_schema_command_prints_the_schema_of_a_group(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["chunk"]) == 0
    assert json.loads(capsys.readouterr().out) == config_schema("chunk")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["chunks"], "group: got 'chunks'; did you mean chunk?"),
        (["--config-dir", "nowhere"], "nowhere is not a folder"),
    ],
)
def test_schema_command_rejects_unknown_groups_and_folders(
    arguments: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert expected in " ".join(capsys.readouterr().err.split())
