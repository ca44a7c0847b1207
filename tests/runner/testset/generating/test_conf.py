"""Every option of python -m runner.generate can be composed and built, in both languages of prompts."""

from pathlib import Path

import pytest
from omegaconf.errors import ConfigAttributeError

import runner
from components.errors import ConfigError
from components.records import Kind
from runner.testset.making.composing import build_settings, compose_generation
from runner.testset.making.generation_settings import GenerationSettings

CONF = Path(runner.__file__).parent / "testset" / "conf"


def options(group: str) -> list[str]:
    return sorted(file.stem for file in (CONF / group).glob("*.yaml"))


def settings(*overrides: str) -> GenerationSettings:
    corpus = [] if "corpus=demo" in overrides else ["corpus.path=docs.jsonl"]
    return build_settings(compose_generation(["llm=scripted", "out=set", *corpus, *overrides]))


@pytest.fixture(autouse=True)
def _in_a_folder_with_documents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs.jsonl").write_text('{"text": "One document."}\n')
    (tmp_path / "tree.yaml").write_text("{Banking: [Loans, Cards]}")


@pytest.mark.parametrize("language", ["zh", "en"])
def test_all_tasks_and_gates_compose_together(language: str) -> None:
    chosen = [f"{group}=[{','.join(options(group))}]" for group in ("tasks", "gates")]
    made = settings(*chosen, f"language={language}", "topics=file", "topics.tree.path=tree.yaml")
    assert list(made.tasks) == options("tasks")
    assert list(made.gates) == options("gates")
    assert {task.kind for task in made.tasks.values()} == set(Kind)
    wording = str(made.tasks) + str(made.gates) + str(made.topics.voting)
    assert ("文档" in wording) == (language == "zh")


@pytest.mark.parametrize("topics", options("topics"))
def test_every_topics_option_composes(topics: str) -> None:
    more = ["topics.tree.path=tree.yaml"] if topics == "file" else []
    made = settings(f"topics={topics}", "tasks=[extractive]", "gates=[]", *more)
    assert (made.topics.tree is None) == (made.topics.voting is None) == (topics == "none")


@pytest.mark.parametrize("corpus", options("corpus"))
def test_every_corpus_option_composes(corpus: str) -> None:
    assert settings(f"corpus={corpus}", "tasks=[extractive]", "gates=[]").corpus.fingerprint()


@pytest.mark.parametrize("language", options("language"))
def test_every_generation_language_composes(language: str) -> None:
    made = settings(f"language={language}", "tasks=[extractive]", "gates=[]")
    assert made.language.name == language


def test_generation_checker_defaults_to_the_writer() -> None:
    same = settings("tasks=[]", "gates=[]", "tasks=[extractive]")
    assert same.checker == same.llm
    other = settings("tasks=[extractive]", "gates=[closed_book]", "checker=scripted", "checker.reply=yes")
    assert other.checker != other.llm
    assert other.gates["closed_book"].llm == other.checker


def test_interrupt_while_composing_is_no_error_in_the_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    """OmegaConf's own clean-up fails after an interrupt, and its error takes the interrupt's place."""

    def interrupted(*_: object, **__: object) -> None:
        try:
            raise KeyboardInterrupt
        finally:
            raise ConfigAttributeError("'NoneType' object has no attribute '_invalidate_flags_cache'")

    monkeypatch.setattr("runner.testset.making.composing.plain_config", interrupted)
    with pytest.raises(KeyboardInterrupt):
        compose_generation(["tasks=[extractive]"])


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        (["tasks=[nonsense]"], "tasks: got 'nonsense', expected one of continuation, contrast"),
        (["corpus.path=???"], "corpus.path: is missing"),
        (["per_cells=3"], "per_cells: unknown; did you mean per_cell?"),
        (["topics.tree.path=tree.yaml"], "the chosen option of topics does not have this field; .* auto, demo, file"),
        (["gates=[leaks]", "gates.leaks.words=4"], "gates.leaks.words: unknown, expected one of .*longest_run"),
        (["seed=1,2"], "seed=1,2: got several values, but a run makes one set"),
        (["nothing_like_it=1"], "nothing_like_it: unknown; --cfg shows all fields"),
        (["checker=openai", "checker.modl=m"], "checker.modl: unknown; did you mean checker.model?"),
        (["checker.model=m"], "checker.model: no checker is chosen.* checker=openai"),
        (["per_cell=0"], "per_cell: got 0"),
        (["out="], "out: is empty"),
        (["tasks=[]"], "tasks: got none"),
        (["budget.max_requests=0"], "budget.max_requests: got 0"),
        (["waves.first=9", "waves.largest=8"], "waves.largest: got 8"),
        (["-m", "per_cell=1,2"], "-m: unknown option"),
        (["topics=file", "topics.tree.path=gone.yaml"], "gone.yaml"),
        (["near_duplicates.threshold=2"], "threshold"),
    ],
)
def test_invalid_generation_settings_give_one_error_each(overrides: list[str], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        settings("gates=[]", *overrides)
