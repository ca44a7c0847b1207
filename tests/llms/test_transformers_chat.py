"""Local models against transformers' own `generate`, one prompt at a time."""

import itertools
import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from components.errors import ComponentError
from components.llms import transformers_chat
from components.llms.transformers_chat import TransformersChat
from components.pretrained import causal_model
from components.pretrained.dtype import Dtype
from components.records import Answer, AnswerState, ErrorClass, Message, Request
from runner.engine.identity import describe
from tests.contracts.llm_contract import LLMContract, request
from tests.extras import skip_without
from tests.models.tiny import CHAT_TEMPLATE, MAX_TOKENS, save_llama, save_lora, save_qwen2

skip_without("torch", "transformers", "peft")

QUESTIONS = ["yes?", "Who was it, and when did it begin?", "No", "a b c d e f", "hm " * 20]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("causal")
    qwen2 = save_qwen2(root / "qwen2", chat_template=CHAT_TEMPLATE)
    return {
        "qwen2": qwen2,
        "llama": save_llama(root / "llama", chat_template=CHAT_TEMPLATE),
        "lora": save_lora(root / "lora", qwen2),
    }


def chat(folder: Path, **fields: Any) -> TransformersChat:
    settings = {"dtype": Dtype.FLOAT32, "max_new_tokens": 12, "device": "cpu", **fields}
    return TransformersChat(str(folder), "", **settings)


def make_requests(questions: Sequence[str]) -> list[Request]:
    return [Request(q, (Message("user", q),), request(q).sample, ()) for q in questions]


def answers(llm: TransformersChat, questions: Sequence[str] = QUESTIONS) -> dict[str, Answer]:
    return {answer.request_id: answer for answer in llm.generate(make_requests(questions))}


def texts(llm: TransformersChat, questions: Sequence[str] = QUESTIONS) -> dict[str, str]:
    return {name: answer.text for name, answer in answers(llm, questions).items()}


def plainly_generated(folder: Path, question: str, adapter: Path | None = None) -> str:
    """Compute the answer with transformers (and PEFT) directly."""
    import torch
    from peft import PeftModel
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    network = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    network = PeftModel.from_pretrained(network, adapter) if adapter else network
    inputs = tokenizer(f"user: {question}\nassistant:", return_tensors="pt", add_special_tokens=False)
    written = network.generate(**inputs, max_new_tokens=12, do_sample=False)
    return tokenizer.decode(written[0, inputs["input_ids"].shape[1] :], skip_special_tokens=True).strip()


class TestContract(LLMContract):
    component = TransformersChat("owner/model", "a" * 40)

    @pytest.fixture(autouse=True)
    def tiny(self, models: dict[str, Path]) -> None:
        self.component = chat(models["qwen2"])


@pytest.mark.parametrize(("name", "adapter"), [("qwen2", None), ("llama", None), ("qwen2", "lora")])
def test_batched_greedy_texts_equal_single_calls_of_generate(
    models: dict[str, Path], name: str, adapter: str | None
) -> None:
    llm = chat(models[name], adapter=str(models[adapter]) if adapter else "")
    expected = {q: plainly_generated(models[name], q, models[adapter] if adapter else None) for q in QUESTIONS}
    assert texts(llm) == expected
    assert texts(replace(llm, batch_tokens=1)) == expected


def test_adapter_changes_the_answers_and_the_identity(models: dict[str, Path]) -> None:
    plain, adapted = chat(models["qwen2"]), chat(models["qwen2"], adapter=str(models["lora"]))
    assert texts(plain) != texts(adapted)
    assert plain.content_hash() != adapted.content_hash()


class TestDrawing:
    def test_drawn_text_does_not_depend_on_the_batch(self, models: dict[str, Path]) -> None:
        llm = chat(models["qwen2"], temperature=1.0, top_p=0.9)
        together = texts(llm)
        assert together == {q: texts(llm, [q])[q] for q in reversed(QUESTIONS)}
        assert together != texts(chat(models["qwen2"]))

    def test_drawn_text_depends_on_seed_draw_and_request_number(self, models: dict[str, Path]) -> None:
        llm = chat(models["qwen2"], temperature=1.0)
        (one,) = make_requests(["yes?"])
        variants = [one, replace(one, draw=1), replace(one, id="yes?-1")]
        drawn = [answer.text for variant in variants for answer in llm.generate([variant])]
        drawn += texts(replace(llm, seed=1), ["yes?"]).values()
        assert len(set(drawn)) == 4

    def test_small_top_p_equals_greedy_decoding(self, models: dict[str, Path]) -> None:
        assert texts(chat(models["llama"], temperature=1.0, top_p=1e-6)) == texts(chat(models["llama"]))


class TestEnds:
    def test_answer_of_max_new_tokens_is_truncated(self, models: dict[str, Path]) -> None:
        found = answers(chat(models["qwen2"]))["No"]
        assert (found.state, found.n_completion_tokens) == (AnswerState.TRUNCATED, 12)

    def test_answer_with_an_end_token_is_complete(self, models: dict[str, Path], tmp_path: Path) -> None:
        text = texts(chat(models["qwen2"], max_new_tokens=40))["No"]
        folder = shutil.copytree(models["qwen2"], tmp_path / "model")
        vocabulary = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))["model"]["vocab"]
        letter = next(letter for letter in text[3:] if letter in vocabulary and text.index(letter) >= 1)
        settings = json.loads((folder / "generation_config.json").read_text())
        (folder / "generation_config.json").write_text(json.dumps({**settings, "eos_token_id": vocabulary[letter]}))
        found = answers(chat(folder, max_new_tokens=40))["No"]
        assert (found.state, found.text) == (AnswerState.OK, text[: text.index(letter)].strip())
        assert found.n_completion_tokens < 40

    def test_stop_word_ends_the_text_before_the_word(self, models: dict[str, Path]) -> None:
        whole = texts(chat(models["qwen2"]))
        word = whole["No"][2:4]
        found = answers(chat(models["qwen2"], stop=(word,)))
        assert found["No"].text == whole["No"][: whole["No"].index(word)].strip()
        assert found["No"].state is AnswerState.OK
        for question, text in whole.items():
            assert found[question].text == text.partition(word)[0].strip()


def test_prompt_beyond_the_window_fails_only_its_own_request(models: dict[str, Path]) -> None:
    found = answers(chat(models["qwen2"]), ["yes?", "x" * MAX_TOKENS])
    assert found["yes?"].text
    long = found["x" * MAX_TOKENS]
    assert (long.state, long.error_class) == (AnswerState.ERROR, ErrorClass.TOO_LONG)
    assert f"{MAX_TOKENS} tokens. Use fewer or shorter passages" in long.error


def test_template_that_refuses_messages_fails_the_request(models: dict[str, Path]) -> None:
    (found,) = answers(chat(models["qwen2"], chat_template="{{ raise_exception('no system role') }}"), ["q"]).values()
    assert (found.error_class, "no system role" in found.error) == (ErrorClass.BAD_REQUEST, True)


def test_model_without_a_chat_template_requires_one_in_the_configuration(tmp_path: Path) -> None:
    folder = save_qwen2(tmp_path / "base")
    with pytest.raises(ComponentError, match="has no chat template"):
        answers(chat(folder))
    assert texts(chat(folder, chat_template=CHAT_TEMPLATE))


class TestChecked:
    """Checks before any work begins."""

    def test_failing_chat_template_is_rejected(self, models: dict[str, Path]) -> None:
        (problem,) = chat(models["qwen2"], chat_template="{{ messages[0].content + 1 }}").check()
        assert problem.startswith("chat_template: it cannot render a user's question as a prompt (TypeError")

    def test_failing_chat_template_in_the_model_folder_is_rejected(
        self, models: dict[str, Path], tmp_path: Path
    ) -> None:
        folder = shutil.copytree(models["qwen2"], tmp_path / "model")
        (folder / "chat_template.jinja").write_text("{% for message in messages %}", encoding="utf-8")
        (problem,) = chat(folder).check()
        assert problem.startswith(f"model: the chat template of {str(folder)!r} cannot render")
        assert chat(folder, chat_template=CHAT_TEMPLATE).check() == []

    def test_model_without_a_chat_template_is_rejected(self, models: dict[str, Path], tmp_path: Path) -> None:
        folder = shutil.copytree(models["qwen2"], tmp_path / "model", ignore=shutil.ignore_patterns("*.jinja"))
        (problem,) = chat(folder).check()
        assert "has no chat template, like all base models" in problem


def test_lone_surrogate_fails_only_its_own_request(models: dict[str, Path]) -> None:
    found = answers(chat(models["qwen2"]), ["yes?", "half \ud800 of it"])
    assert found["yes?"].text
    bad = found["half \ud800 of it"]
    assert (bad.state, bad.error_class) == (AnswerState.ERROR, ErrorClass.BAD_REQUEST)
    assert r"contains '\ud800', half of a character" in bad.error


@pytest.mark.parametrize("computes", [True, False])
def test_dtype_emulated_by_the_cpu_is_warned_of(
    models: dict[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    computes: bool,
) -> None:
    monkeypatch.setattr(causal_model, "cpu_supports", lambda _: computes)
    folder = shutil.copytree(models["qwen2"], tmp_path / "model")  # loaded once in a process
    answers(chat(folder, dtype=Dtype.BFLOAT16, max_new_tokens=1), QUESTIONS[:1])
    said = [record.getMessage() for record in caplog.records if "no instructions for bfloat16" in record.getMessage()]
    assert len(said) == (0 if computes else 1)


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_non_finite_logits_are_an_error_and_not_an_answer(
    models: dict[str, Path], tmp_path: Path, temperature: float
) -> None:
    from safetensors.torch import load_file, save_file

    folder = shutil.copytree(models["qwen2"], tmp_path / "model")
    weights = load_file(folder / "model.safetensors")
    weights["model.norm.weight"][0] = float("nan")
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ComponentError, match="got logits that are not finite with dtype=float32"):
        answers(chat(folder, temperature=temperature))


def test_answer_latency_is_its_share_of_the_batch(models: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock advances by 6 seconds at each reading, and one batch contains all answers."""
    ticks = itertools.count(0.0, 6.0)
    llm = chat(models["qwen2"])
    texts(llm)  # loads the model
    monkeypatch.setattr(transformers_chat, "time", SimpleNamespace(perf_counter=lambda: next(ticks)))
    assert {answer.latency_s for answer in answers(llm).values()} == {6.0 / len(QUESTIONS)}


def test_transformers_identity_excludes_batch_size_and_device(models: dict[str, Path]) -> None:
    llm = chat(models["qwen2"])
    assert describe(replace(llm, batch_tokens=1, device="cuda")) == describe(llm)
    changes: list[dict[str, Any]] = [
        {"adapter": str(models["lora"])}, {"chat_template": "x"}, {"temperature": 1.0}, {"top_p": 0.5},
        {"stop": ("x",)}, {"max_new_tokens": 1}, {"seed": 1}, {"dtype": Dtype.FLOAT16}, {"model": str(models["llama"])},
    ]  # fmt: skip
    assert all(describe(replace(llm, **change)) != describe(llm) for change in changes)


def test_transformers_chat_rejects_missing_adapters_and_invalid_numbers(models: dict[str, Path]) -> None:
    llm = chat(models["qwen2"], adapter="/nowhere/at/all", batch_tokens=0, temperature=-1.0)
    assert [problem.split(":")[0] for problem in llm.check()] == ["temperature", "adapter", "batch_tokens"]
