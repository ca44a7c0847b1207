"""`train` and `evaluate`, with a model of a few thousand random weights that learns to grade."""

import json
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from components.llms.transformers_chat import TransformersChat
from runner.judge_training import main
from runner.labels.training.prepared_folder import read_manifest, read_pairs
from runner.labels.training.trained_judge import Training, read_training
from runner.labels.training.training_examples import make_examples
from runner.launch.compose import compose_config
from runner.results import cell_folders, read_samples
from tests.extras import skip_without
from tests.models.tiny import CHAT_TEMPLATE, save_qwen2
from tests.test_readme import with_module

skip_without("torch", "transformers", "peft", "trl", "datasets", extra="train")

WINDOW = 128
SHORT_WORDING = [
    override
    for metric in ("accuracy", "hallucination")
    for override in (
        f"judge.scores.{metric}.system=''",
        f"judge.scores.{metric}.instruction='{metric} {{question}} {{answer}}'",
        f"judge.scores.{metric}.max_attempts=1",
    )
]
ANSWERS = ("no", "half", "yes")
LONG = (12, 30)
"""Numbers of two long questions: one of the training part, one held out."""


class Prepared(NamedTuple):
    data: Path
    model: Path


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    """Answers that say themselves how good they are; one is longer than the model's window."""
    folder = tmp_path_factory.mktemp("judge_training")
    rows = [
        {
            "id": f"q{i}",
            "question": f"q{i}" + "?" * WINDOW * (i in LONG),
            "references": ["yes"],
            "answer": ANSWERS[i % 3],
            "passages": ["p"],
            "labels": {"accuracy": i % 3, "hallucination": int(i % 3 == 0)},
        }
        for i in range(40)
    ]
    labels = folder / "labels.jsonl"
    labels.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    command = ["prepare", "--labels", str(labels), "--judge", "omnieval_en", "--out", str(folder / "data")]
    assert main([*command, *SHORT_WORDING]) == 0
    return Prepared(folder / "data", save_qwen2(folder / "qwen2", chat_template=CHAT_TEMPLATE, max_tokens=WINDOW))


def train(prepared: Prepared, out: Path, *more: str) -> int:
    settings = "--epochs 10 --learning-rate 0.01 --batch-size 8 --micro-batch-size 8 --device cpu".split()
    return main(
        ["train", "--data", str(prepared.data), "--model", str(prepared.model), "--out", str(out), *settings, *more]
    )


@pytest.fixture(scope="module")
def trained(prepared: Prepared, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trained") / "judge"
    assert train(prepared, folder) == 0
    return folder


def files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_training_halves_the_loss_and_counts_long_pairs(trained: Path, prepared: Prepared) -> None:
    training: Training = read_training(trained)
    losses = [loss for loss, _ in training.losses]
    assert losses[-1] < 0.5 * losses[0]
    validated = [loss for _, loss in training.losses]
    assert None not in validated
    assert training.kept == validated.index(min(validated)) + 1  # type: ignore[type-var]
    learned = read_pairs(prepared.data, "train")
    assert training.too_long
    assert all(each.startswith("q12, ") for each in training.too_long)
    assert training.n_pairs["train"] == len(learned) - len(training.too_long)
    assert sorted(path.name for path in trained.iterdir()) == ["adapter", "conf", "manifest.json", "settings.json"]


def test_training_loss_covers_only_the_reply(prepared: Prepared) -> None:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(prepared.model)
    pair = read_pairs(prepared.data, "train")[0]
    (row,) = make_examples([pair], tokenizer, WINDOW).rows
    learned = [token for token, label in zip(row["input_ids"], row["labels"], strict=True) if label != -100]
    asked = row["input_ids"][: -len(learned)]
    (message,), (reply,) = pair["prompt"], pair["completion"]
    assert tokenizer.decode(asked) == f"user: {message['content']}\nassistant:"
    assert tokenizer.decode(learned) == f" {reply['content']}\n{tokenizer.eos_token}"
    assert row["labels"] == [-100] * len(asked) + learned
    n_tokens = len(row["input_ids"])
    assert make_examples([pair], tokenizer, n_tokens).rows
    assert make_examples([pair], tokenizer, n_tokens - 1).too_long == (f"{pair['id']}, accuracy: {n_tokens} tokens",)


def test_killed_training_resumes_to_the_same_bytes(
    trained: Path, prepared: Prepared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from trl import SFTTrainer

    out = tmp_path / "killed"
    step, n_steps = SFTTrainer.training_step, 0

    def killed(*args: Any, **options: Any) -> Any:
        nonlocal n_steps
        n_steps += 1
        if n_steps == 14:
            raise KeyboardInterrupt
        return step(*args, **options)

    with monkeypatch.context() as patch:
        patch.setattr(SFTTrainer, "training_step", killed)
        with pytest.raises(KeyboardInterrupt):
            train(prepared, out)
    (last,) = (out / "checkpoints").glob("checkpoint-*")
    half_written = shutil.copytree(last, out / "checkpoints" / "checkpoint-1000")
    (half_written / "trainer_state.json").write_text("{")
    assert not (out / "adapter").exists()
    with monkeypatch.context() as patch:
        n_steps = 100
        patch.setattr(SFTTrainer, "training_step", killed)
        assert train(prepared, out) == 0
    assert n_steps - 100 < 50, "it began anew"
    assert files(out / "adapter") == files(trained / "adapter")
    assert read_training(out) == read_training(trained)


def test_finished_training_is_reused_and_other_settings_are_refused(
    trained: Path, prepared: Prepared, capsys: pytest.CaptureFixture[str]
) -> None:
    before = files(trained)
    assert train(prepared, trained) == 0
    assert files(trained) == before
    told = capsys.readouterr().out
    assert "left out because they are too long: 2, e.g. q12, accuracy: " in told
    judge = read_manifest(prepared.data).judge
    assert f"use it with: --config-dir {trained}/conf judge={judge} " in told
    assert f"next: python -m runner.judge_training evaluate --data {prepared.data} --trained {trained}" in told
    assert train(prepared, trained, "--seed", "1") == 2
    assert (
        "contains another training (seed is 0 in the folder, 1 now). Choose another folder." in capsys.readouterr().err
    )


def test_evaluate_reports_agreement_before_and_after_training(
    trained: Path,
    prepared: Prepared,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    command = ["evaluate", "--data", str(prepared.data), "--trained", str(trained), "--json", "report.json"]
    assert main([*command, "judge.llm.max_new_tokens=32", "judge.llm.device=cpu"]) == 1, "one question is too long"
    report = json.loads(Path("report.json").read_text(encoding="utf-8"))
    found = report["all metrics"]
    assert (found["n"], found["n_failed"]) == (2 * 15, 2)
    assert sum(found["failures"].values()) == 4, "two labels, before and after"
    assert found["n_unparsable"]["before"] == found["n"], "random weights write no JSON"
    assert found["after"]["accuracy"]["value"] > 0.4
    gained = found["gain"]["kappa"]
    assert gained["value"] == pytest.approx(found["after"]["kappa"]["value"] - found["before"]["kappa"]["value"])
    assert gained["interval"][0] < gained["value"] < gained["interval"][1]
    said = " ".join(capsys.readouterr().out.split())
    assert f"kappa {found['before']['kappa']['value']:.3f}" in said
    assert f"{gained['value']:+.3f}" in said
    assert said.count("failed, left out: 2 x ") == 2, "a prompt of each metric"
    assert main([*command, "judge.scores.accuracy.instruction='{answer}'", "judge.llm.device=cpu"]) == 2
    assert "its wording of accuracy changed since it was trained" in capsys.readouterr().err


def test_evaluation_on_data_of_another_training_is_refused(
    trained: Path, prepared: Prepared, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    labels = ["--labels", str(prepared.data.parent / "labels.jsonl"), "--judge", "omnieval_en", "--seed", "1"]
    assert main(["prepare", *labels, "--out", str(tmp_path / "other"), *SHORT_WORDING]) == 0
    assert main(["evaluate", "--data", str(tmp_path / "other"), "--trained", str(trained)]) == 2
    assert "this judge was not trained on" in capsys.readouterr().err


def test_trained_judge_options_use_the_adapter(trained: Path) -> None:
    options = [f"hydra.searchpath=[file://{trained / 'conf'}]", "judge=omnieval"]
    judge = compose_config([*options, "llm@judge.llm=trained_judge"])["judge"]["llm"]
    assert judge["_target_"] == f"{TransformersChat.__module__}.{TransformersChat.__qualname__}"
    assert (judge["adapter"], judge["dtype"]) == (str(trained / "adapter"), "float32")
    served = compose_config([*options, "llm@judge.llm=trained_judge_vllm"])["judge"]["llm"]
    assert (served["adapter"], served["arguments"]) == (str(trained / "adapter"), "--max-lora-rank 16")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--strict",), "--strict: 2 pairs are longer than the model's window or --max-length, e.g. q12, "),
        (("--max-length", "20"), "training pairs has 20 tokens or fewer. Use a larger"),
        (("--micro-batch-size", "3", "--epochs", "0"), "--epochs: got 0, expected at least 1"),
        (("--model", "owner/model"), "revision: got '', expected the commit of 'owner/model'"),
    ],
)
def test_judge_training_rejects_invalid_settings(
    prepared: Prepared, tmp_path: Path, capsys: pytest.CaptureFixture[str], more: tuple[str, ...], said: str
) -> None:
    assert train(prepared, tmp_path / "out", *more) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("template", "said"),
    [
        (
            CHAT_TEMPLATE.replace("assistant:", "assistant: <think>"),
            "renders a whole conversation differently from the prompt",
        ),
        (
            CHAT_TEMPLATE.replace("message.content", "message.content if message.role == 'user'"),
            "omits the text of a reply",
        ),
        (None, "has no chat template, expected a chat model"),
    ],
)
def test_unsuitable_chat_template_is_refused_for_training(
    prepared: Prepared, tmp_path: Path, capsys: pytest.CaptureFixture[str], template: str | None, said: str
) -> None:
    model = save_qwen2(tmp_path / "model", chat_template=template, max_tokens=WINDOW)
    assert train(prepared._replace(model=model), tmp_path / "out") == 2
    assert said in capsys.readouterr().err


def test_documented_training_commands_run(single_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """People's labels of the demo's answers; the model is as small as the others."""
    monkeypatch.chdir(tmp_path)
    (file,) = single_run.glob("results/*/sweep.json")
    (folder,) = cell_folders(file.parent)
    rows = read_samples(folder, ["id", "question"])
    lines = [json.dumps({**row, "labels": {"accuracy": i % 3}}) for i, row in enumerate(rows)]
    Path("labels.jsonl").write_text("\n".join(lines), encoding="utf-8")
    model = save_qwen2(tmp_path / "model", chat_template=CHAT_TEMPLATE, max_tokens=4096)
    places = {"LABELS": "labels.jsonl", "SWEEP": str(file.parent), "MODEL": str(model)}
    to_be_quick = {"train": ["--device", "cpu", "--epochs", "1"], "evaluate": ["judge.llm.max_new_tokens=8"]}
    for first, *words in with_module("runner.judge_training"):
        assert main([first, *(places.get(word, word) for word in words), *to_be_quick.get(first, [])]) == 0
    assert json.loads(Path("agreement.json").read_text(encoding="utf-8"))["accuracy"]["n"] > 0
