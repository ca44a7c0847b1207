"""`python -m runner.datasets describe`: the content of a data set."""

import json
from dataclasses import replace
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from components.records import Benchmark, Documents, Evidence, Kind, Sample, Turn
from components.text.similar_documents import count_near_duplicates, hash_shingles, jaccard
from runner.datasets import main, show
from runner.testset.describing.data_description import count_leaks, describe_benchmark


def benchmark(*samples: Sample, **texts: str) -> Benchmark:
    return Benchmark(Documents(sorted(texts), [""] * len(texts), [texts[name] for name in sorted(texts)]), samples)


def sample(number: int, question: str, *references: str, gold: tuple[Evidence, ...] = (), **more: object) -> Sample:
    return Sample(str(number), "all", Kind.QA, question, references, gold, **more)  # type: ignore[arg-type]


class TestNearDuplicates:
    def test_near_duplicate_similarity_is_the_jaccard_index_of_shingles(self) -> None:
        one, other = "abcdefgh", "abcdefgx"
        sets = [{text[i : i + 5] for i in range(4)} for text in (one, other)]
        assert jaccard(hash_shingles(one), hash_shingles(other)) == len(sets[0] & sets[1]) / len(sets[0] | sets[1])

    def test_near_duplicate_similarity_ignores_white_space(self) -> None:
        assert jaccard(hash_shingles("北京 是\n中国的首都"), hash_shingles("北京是中国的首都")) == 1.0

    def test_near_duplicates_equal_a_comparison_of_all_pairs(self) -> None:
        """Few to many characters were changed, so the pairs far from the threshold are classified correctly."""
        random = np.random.default_rng(2)
        texts = []
        for _ in range(60):
            base = random.integers(0x4E00, 0x5E00, size=300)
            changed = base.copy()
            changed[random.choice(300, random.choice([1, 2, 40, 80]), replace=False)] = 0x9000
            texts += ["".join(map(chr, base)), "".join(map(chr, changed))]
        sets = [hash_shingles(text) for text in texts]
        near = {i for i in range(120) for j in range(120) if i != j and jaccard(sets[i], sets[j]) >= 0.8}
        assert 20 < len(near) < 100
        assert count_near_duplicates(texts) == len(near)

    def test_near_duplicates_in_families_equal_a_comparison_of_all_pairs(self) -> None:
        """Eight variants of each text, all pairs of them close to the threshold: they lie mixed in the buckets."""
        random = np.random.default_rng(3)
        texts = []
        for _ in range(40):
            base = random.integers(0x4E00, 0x5E00, size=300)
            for _ in range(8):
                changed = base.copy()
                changed[random.choice(300, 4, replace=False)] = random.integers(0x9000, 0x9100, size=4)
                texts.append("".join(map(chr, changed)))
        sets = [hash_shingles(text) for text in texts]
        near = {i for i in range(320) for j in range(320) if i != j and jaccard(sets[i], sets[j]) >= 0.8}
        assert 50 < len(near) < 270
        assert count_near_duplicates(texts) == len(near)

    @pytest.mark.parametrize("texts", [[], [""], ["ab", "ab"], ["完全不同的一段文字", "another text entirely"]])
    def test_short_or_different_texts_are_not_near_duplicates(self, texts: list[str]) -> None:
        assert count_near_duplicates(texts) == 0


class TestLeaks:
    def test_references_in_questions_are_counted_as_leaks(self) -> None:
        found = count_leaks(
            benchmark(
                sample(1, "Paris", " Pa ris"),
                sample(2, "Is it the year 1932 or 1933?", "the year 1932"),
                sample(3, "Is it 1932?", "1932"),
                a="x",
            )
        )
        assert (found["reference_equals_question"], found["reference_within_question"]) == (1, 1)

    def test_questions_in_their_gold_are_counted_as_leaks(self) -> None:
        whole, part = Evidence("a"), Evidence("a", 0, 4)
        found = count_leaks(
            benchmark(
                sample(1, "The bridge opened.", "x", gold=(whole,)),
                sample(2, "The ", "x", gold=(part,)),
                sample(3, "bridge", "x", gold=(part, Evidence("absent"))),
                sample(4, "When?", "x", gold=(part,), query="The"),
                sample(5, "When?", "x", gold=(whole,), query="The"),
                a="The bridge opened. In 1932.",
            )
        )
        assert (found["question_within_gold"], found["gold_equals_question"]) == (1, 2)

    def test_equal_questions_with_different_answers_are_counted(self) -> None:
        found = count_leaks(
            benchmark(
                sample(1, "Who?", "she"),
                sample(2, "Who ?", "he"),
                sample(3, "Who?", "they", history=(Turn("Where?", "there"),)),
                sample(4, "When?", "in 1932"),
                sample(5, "When?", "in  1932"),
                a="x",
            )
        )
        assert found["equal_questions_other_references"] == 2


def test_described_benchmark_has_counts_and_lengths() -> None:
    described = describe_benchmark(
        "own",
        benchmark(
            sample(1, "Who?", "she", gold=(Evidence("a"), Evidence("absent")), topic="t", task="u"),
            sample(2, "When?", gold=(Evidence("absent"),)),
            a="One text.",
            b="One  text.",
            c="Another",
        ),
    )
    assert (described["n_documents"], described["n_samples"]) == (3, 2)
    assert described["lengths"]["questions"] == {"min": 4, "median": 4.5, "mean": 4.5, "p99": 5.0, "max": 5}
    assert described["subsets"]["all"] == {
        "n_samples": 2, "n_with_references": 1, "n_with_gold": 2, "kinds": {"qa": 2},
    }  # fmt: skip
    assert described["matrix"] == {"t": {"u": 1}}
    assert described["gold"] == {
        "n_samples_with_gold": 2, "n_samples_with_gold_in_corpus": 1, "n_samples_with_alternatives": 0,
        "n_units": 3, "n_units_in_corpus": 1,
        "n_gold_documents": 1, "n_gold_documents_added_by_loader": 0,
    }  # fmt: skip
    assert described["duplicates"]["n_exact"] == 1


def test_describe_reports_gold_added_by_the_loader() -> None:
    loaded = benchmark(sample(1, "Who?", "she", gold=(Evidence("a"),)), a="x")
    described = describe_benchmark("own", replace(loaded, notes={"n_gold_added": 1}))
    assert described["gold"]["n_gold_documents_added_by_loader"] == 1


class TestTables:
    """The printed tables, 100 columns wide."""

    def show(self, *samples: Sample) -> str:
        console = Console(file=StringIO(), width=100)
        show(console, describe_benchmark("own", benchmark(*samples, a="x")))
        assert isinstance(console.file, StringIO)
        return console.file.getvalue()

    def test_describe_counts_samples_outside_of_the_matrix(self) -> None:
        samples = [sample(1, "Who?", "she", topic="t", task="u"), sample(2, "When?", "now", topic="t")]
        assert "samples without a topic or a task: 1" in self.show(*samples)

    def test_long_matrix_shows_the_largest_topics_and_tasks(self) -> None:
        cells = [(topic, task) for topic in range(23) for task in range(8) if topic <= task or task == 0]
        output = self.show(
            *(sample(i, "Who?", "she", topic=f"topic{a}", task=f"task{b}") for i, (a, b) in enumerate(cells))
        )
        rows = {line.split()[0]: line.split()[1:] for line in output.splitlines() if line.startswith("topic")}
        assert rows["topic"] == ["task0", *(f"task{b}" for b in (7, 6, 5, 4, 3)), "all"]
        assert rows["topic0"] == ["1"] * 6 + ["8"]
        assert len(rows) == 21
        assert "and 3 smaller topics, 2 smaller tasks: --json has them all" in output
        assert max(map(len, output.splitlines())) <= 100

    def test_described_topic_names_are_not_read_as_markup(self) -> None:
        assert "[bold]" in self.show(sample(1, "Who?", "she", topic="[bold]", task="u"))


class TestCommand:
    def test_describe_command_describes_the_bundled_benchmark(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["describe", "--json", str(tmp_path / "demo.json")]) == 0
        output = capsys.readouterr().out
        assert "demo: 112 documents, 312 samples" in output
        assert "Retail banking" in output
        described = json.loads((tmp_path / "demo.json").read_text(encoding="utf-8"))
        assert described["matrix"]["funds"]["extractive"] == 2
        assert len(described["matrix"]) == 16

    def test_describe_overrides_choose_the_data_set(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (tmp_path / "a.md").write_text("The bridge was opened in 1932.", encoding="utf-8")
        (tmp_path / "q.jsonl").write_text('{"id": "1", "question": "When was it opened?"}', encoding="utf-8")
        overrides = ["dataset=jsonl", f"dataset.documents={tmp_path}", f"dataset.samples={tmp_path / 'q.jsonl'}"]
        assert main(["describe", *overrides]) == 0
        assert "jsonl: 1 document, 1 sample" in capsys.readouterr().out

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["dataset=nothing"], "dataset: got 'nothing', expected one of "),
            (["dataset=beir"], "dataset.root: is empty"),
            (["dataset=beir", "dataset.root=nowhere"], "nowhere: does not exist"),
            (["--json", "no/such/folder.json"], "--json: no/such/folder.json cannot be written"),
        ],
    )
    def test_describe_rejects_unusable_data_sets_and_paths(
        self, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
    ) -> None:
        assert main(["describe", *arguments]) == 2
        assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("own", "is_said"), [(sample(1, "Where?"), True), (sample(1, "Where?", "here"), False)], ids=["neither", "answered"]
)
def test_describe_points_out_questions_without_gold_and_references(own: Sample, is_said: bool) -> None:
    output = StringIO()
    show(Console(file=output, width=100), describe_benchmark("mine", benchmark(own, a="It is here.")))
    assert ("No question has gold or a reference." in output.getvalue()) is is_said
