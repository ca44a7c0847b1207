"""`python -m runner.models check`: its output for models that exist, are missing, or fail."""

from pathlib import Path

import pytest

from runner.models import main
from tests.extras import skip_without
from tests.llms.chat_server import Reply, chat_server
from tests.test_readme import with_module

skip_without("torch")


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tests.models.tiny import save_bert

    return save_bert(tmp_path_factory.mktemp("bert"))


def _bert_score(model: str, revision: str = "") -> list[str]:
    return [
        "check",
        "metrics=models",
        "~metrics.scores.text2vec_similarity_crud_compat",
        f"metrics.scores.bert_score.model={model}",
        f"metrics.scores.bert_score.revision='{revision}'",
        "metrics.scores.bert_score.num_layers=2",
    ]


def test_models_check_measures_and_loads_a_folder(bert: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(_bert_score(str(bert))) == 0
    said = capsys.readouterr().out
    assert f"folder      {bert}" in said
    assert "parameters  31,520" in said
    assert "bert_score 0." in said


def test_documented_model_command_runs(
    bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """tests.test_readme runs the other commands, each in a process that would have to load torch for this one."""
    skip_without("sentence_transformers")
    from tests.models.tiny import save_sentence_encoder

    monkeypatch.chdir(tmp_path)
    save_sentence_encoder(tmp_path / "MODEL_FOLDER", bert, max_tokens=128)
    (arguments,) = with_module("runner.models")
    assert main([word.replace("MODEL_FOLDER", "./MODEL_FOLDER") for word in arguments]) == 0
    said = capsys.readouterr().out
    assert "up to 128 tokens" in said
    assert "32 dimensions" in said


def test_missing_hub_model_is_not_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    assert main(_bert_score("owner/name", "0" * 40)) == 1
    assert f"hf download owner/name --revision {'0' * 40}" in capsys.readouterr().out


def test_models_check_sends_a_line_to_the_server(capsys: pytest.CaptureFixture[str]) -> None:
    with chat_server(lambda request, attempt: Reply("Paris.")) as server:
        assert (
            main(["check", "llm=openai", "llm.model=a-model", "llm.api_key_env=''", f"llm.base_url={server.url}"]) == 0
        )
    assert "'Paris.' (ok" in capsys.readouterr().out


def test_models_check_sends_a_line_to_a_llama_index_class(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "llm=llama_index", "llm.class_path=llama_index.core.llms.MockLLM"]) == 0
    said = capsys.readouterr().out
    assert "llama_index.core.llms.MockLLM" in said
    assert "(ok" in said


def test_models_check_reports_an_unreachable_server(capsys: pytest.CaptureFixture[str]) -> None:
    away = ["llm.api_key_env=''", "llm.base_url=http://127.0.0.1:9/v1", "llm.max_retries=0"]
    assert main(["check", "llm=openai", "llm.model=a-model", *away]) == 1
    assert "no connection" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [(["llm=extractive"], "no chosen component has a model"), (["llm=none-such"], "none-such")],
)
def test_models_check_without_a_model_explains_the_error(
    overrides: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", *overrides]) == 2
    assert expected in capsys.readouterr().err
