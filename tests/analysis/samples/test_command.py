"""`python -m analysis samples`."""

import re
import shutil
from pathlib import Path

import pytest

from analysis.__main__ import main
from runner.results.loaded_sweep import LoadedSweep

CONTEXT, QUESTION = "llm.reply={context}", "llm.reply={question}"


@pytest.fixture
def samples(planted: LoadedSweep, capsys: pytest.CaptureFixture[str]) -> "Command":
    return Command(planted, capsys)


class Command:
    """The command over the planted sweep."""

    def __init__(self, sweep: LoadedSweep, capsys: pytest.CaptureFixture[str]) -> None:
        self.sweep = sweep
        self._capsys = capsys

    def __call__(self, *arguments: str, cell: int = 0, code: int = 0) -> str:
        """Return the output; standard error if it fails."""
        self._capsys.readouterr()
        assert main(["samples", str(self.sweep.folder), self.sweep.cells[cell].cell_id, *arguments]) == code
        printed = self._capsys.readouterr()
        return printed.err if code else printed.out


def ids_in(text: str) -> list[str]:
    return re.findall(r"^\d+\. (.*?)  planted", text, re.MULTILINE)


def test_samples_command_sorts_worst_first_and_missing_values_last(samples: Command) -> None:
    text = samples("--metric", "rouge_l", "--worst", "30")
    scores = [float(own) for own in re.findall(r"^score +rouge_l ([\d.e-]+)$", text, re.MULTILINE)]
    assert scores == sorted(scores)
    assert len(ids_in(text)) == 21
    assert set(ids_in(text)[-2:]) == {"error", "unanswerable"}
    assert "sorted last, because they have no value: 1 not applicable, 1 with a failed answer" in text


def test_samples_command_shows_the_requested_number(samples: Command) -> None:
    text = samples("--worst", "3", "--metric", "rouge_l")
    assert len(ids_in(text)) == 3
    assert "3 of 21 samples" in text


def test_class_counts_cover_samples_that_are_not_shown(samples: Command) -> None:
    lines = samples("--worst", "1").splitlines()
    [line] = [line for line in lines if line.startswith("classes of all samples: ")]
    assert sum(int(part.split()[-1]) for part in line.split(", ")) == 21
    assert "ranked_low 1" in line


def test_samples_command_shows_a_sample_with_its_evidence(samples: Command) -> None:
    text = samples("--class", "ranked_low")
    assert ids_in(text) == ["low"]
    lines = dict(line.split(maxsplit=1) for line in text.splitlines() if re.match(r"[a-z]+ {2,}", line))
    assert lines["question"] == "lighthouse?"
    assert lines["reference"] == "Maren"
    assert lines["verdict"].startswith("ranked_low: the evidence was found, below top_k (all of it would need rank 3)")
    assert lines["gold"] == "low-3 (About low-3), characters 0 to 73: rank 3 holds 100%; 0% of it in the prompt"
    assert "  «Among the things that sailors see at night is a lighthouse kept by Maren.»\n" in text
    assert "rank 1, sparse 1: low-1: Lighthouse, lighthouse, lighthouse." in text


def test_samples_command_sorts_by_the_loss_to_another_cell(samples: Command) -> None:
    text = samples("--against", samples.sweep.cells[0].cell_id, "--metric", "rouge_l", "--worst", "4", cell=1)
    differences = [float(own) for own in re.findall(r"^difference +rouge_l ([+-][\d.e-]+)$", text, re.MULTILINE)]
    assert differences == sorted(differences)
    assert differences[0] < 0
    assert text.count("\nanswer ") == 8
    assert "where it loses most to" in text


def test_samples_page_has_the_same_content_as_the_terminal(samples: Command, tmp_path: Path) -> None:
    page = tmp_path / "samples.html"
    assert str(page) in samples("--class", "ranked_low", "--html", str(page))
    text = page.read_text(encoding="utf-8")
    assert "<mark>Among the things that sailors see at night is a lighthouse kept by Maren.</mark>" in text
    assert "rank 3 holds 100%; 0% of it in the prompt" in text
    assert not re.search(r"(src|href)=.?https?:|url\(", text)
    samples("--class", "ranked_low", "--html", str(page))
    assert page.read_text(encoding="utf-8") == text


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--class", "rankedlow"), "--class: got 'rankedlow'; did you mean ranked_low?"),
        (("--class", "refused", "--metric", "planted:rouge_l", "--against", "nothing"), "no cell matches"),
        (("--metric", "elegance"), "overall has no metric 'elegance'"),
        (("--html", "nowhere/at/all.html"), "cannot be written"),
    ],
)
def test_samples_command_rejects_unknown_classes_cells_metrics_and_paths(
    samples: Command, arguments: tuple[str, ...], told: str
) -> None:
    assert told in samples(*arguments, code=2)


def test_class_without_samples_lists_the_classes_with_samples(samples: Command) -> None:
    text = samples("--class", "low", code=2)
    assert "a class without samples" in text
    assert "none (" in text
    assert "ranked_low (1)" in text


def test_invalid_number_of_samples_is_rejected(samples: Command, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["samples", str(samples.sweep.folder), "best", "--worst", "0"])
    assert ended.value.code == 2
    assert "expected a number of samples, at least 1" in capsys.readouterr().err


def test_samples_command_reports_a_damaged_list_of_documents(
    planted: LoadedSweep, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "results" / planted.folder.name
    shutil.copytree(planted.folder, folder)
    (documents,) = folder.glob("documents_*.parquet")
    documents.write_bytes(documents.read_bytes()[:100])
    assert main(["samples", str(folder), planted.cells[0].cell_id]) == 2
    assert re.match(
        r".*documents_\w+\.parquet: cannot be read .*Run the sweep's command again", capsys.readouterr().err
    )


def test_constant_metric_gives_no_order_and_suggests_another(samples: Command) -> None:
    text = samples("--class", "none", "--metric", "passage_coverage")
    first, second, *_ = text.splitlines()
    assert first.endswith("by passage_coverage of all samples, which is the same for all of them"), first
    assert second == "to see the worst answers first: --metric rouge_l"
