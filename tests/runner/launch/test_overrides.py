"""Overrides as people type them."""

import pytest

from components.errors import ConfigError
from runner.launch.overrides import quote_values


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("dataset.root=/数据/新闻", "dataset.root='/数据/新闻'"),
        ("dataset.root=docs/C&A (new)", "dataset.root='docs/C&A (new)'"),
        ("dataset.topics=北京,shanghai", "dataset.topics='北京',shanghai"),
        ("+experiment.name=Grüße", "+experiment.name='Grüße'"),
    ],
)
def test_values_that_hydra_cannot_parse_are_quoted(typed: str, expected: str) -> None:
    assert quote_values([typed]) == [expected]


@pytest.mark.parametrize(
    "typed",
    [
        "-m",
        "--config-dir",
        "my conf",
        "chunk.size=64,128",
        "dataset.root='/数据/新闻'",
        'llm.reply="{question}!"',
        "run.plugins=[my_package]",
        "retriever=glob(*)",
        "chunk.size=range(64,256,step=64)",
        "~metrics.scores.bleu",
        "experiment.name='北",
    ],
)
def test_other_arguments_are_unchanged(typed: str) -> None:
    assert quote_values([typed]) == [typed]


@pytest.mark.parametrize("typed", ["=5", "+=5", "~=5"])
def test_override_without_a_key_is_rejected(typed: str) -> None:
    with pytest.raises(ConfigError, match="no key before the ="):
        quote_values([typed])
