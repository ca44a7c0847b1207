"""RGB's files: answers in parts, sets of passages, and false passages."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from components.datasets.rgb import Part, Rgb
from components.errors import ConfigError, DataError
from components.protocols import Dataset
from components.records import Sample
from tests.contracts.dataset_contract import DatasetContract

NOISE = {
    "id": 0,
    "query": "When was the bridge opened?",
    "answer": ["1932", ["in May", "May"]],
    "positive": ["It was opened in May 1932.", " "],
    "negative": ["It is painted green.", "It has two lanes."],
}
PLAIN = {"id": 1, "query": "What colour is it?", "answer": "green", "positive": ["It is green."], "negative": []}
SETS = {
    "id": 0,
    "query": "How high and how long is it?",
    "answer": ["20 m", "90 m"],
    "answer1": ["20 m"],
    "positive": [["20 m high.", "Its height is 20 m."], ["90 m long.", "20 m high."]],
    "negative": ["It is painted green."],
}
FALSE = {
    "id": 0,
    "query": "When was it widened?",
    "answer": "1950",
    "fakeanswer": "1958",
    "positive_wrong": ["It was widened in 1958."],
    "positive": ["It was widened in 1950.", "In 1950 it was widened."],
    "negative": ["It is painted green."],
}
LINES = {Part.EN_REFINE: [NOISE, PLAIN], Part.EN_INT: [SETS], Part.EN_FACT: [FALSE]}


def write(root: Path, part: Part = Part.EN_REFINE, lines: Sequence[object] = ()) -> Path:
    root.mkdir(parents=True, exist_ok=True)
    content = "".join(json.dumps(line) + "\n" for line in lines or LINES[part])
    (root / f"{part}.json").write_text(content, encoding="utf-8")
    return root


def loaded(root: Path, part: Part) -> tuple[dict[str, str], Sample]:
    """The texts of the documents, and the first sample."""
    benchmark = Rgb(str(write(root, part)), part).load()
    return dict(zip(benchmark.documents.ids, benchmark.documents.texts, strict=True)), benchmark.samples[0]


class TestContract(DatasetContract):
    @pytest.fixture(autouse=True)
    def written(self, tmp_path_factory: pytest.TempPathFactory) -> None:
        self.component = Rgb(str(write(tmp_path_factory.mktemp("rgb"))))

    component: Dataset = Rgb("somewhere")

    def with_one_byte_more(self, tmp_path: Path) -> Sequence[Dataset]:
        longer = write(tmp_path / "longer") / "en_refine.json"
        longer.write_bytes(longer.read_bytes() + b"\n")
        return [Rgb(str(write(tmp_path / "same"))), Rgb(str(longer.parent))]


def test_rgb_answer_parts_require_a_wording_of_each(tmp_path: Path) -> None:
    texts, sample = loaded(tmp_path, Part.EN_REFINE)
    assert sample.answer_parts == (("1932",), ("in May", "May"))
    assert sample.references == ("1932, in May",)
    assert sample.subset == "noise"
    assert [texts[an_id] for an_id in sample.passages] == [
        "It was opened in May 1932.",
        "It is painted green.",
        "It has two lanes.",
    ]
    assert [texts[unit.document_id] for unit in sample.gold] == ["It was opened in May 1932."]


def test_blank_rgb_passages_are_left_out_and_counted(tmp_path: Path) -> None:
    assert Rgb(str(write(tmp_path))).load().notes["n_blank_passages"] == 1


def test_rgb_integration_requires_one_passage_of_each_set(tmp_path: Path) -> None:
    texts, sample = loaded(tmp_path, Part.EN_INT)
    assert sample.subset == "integration"
    sets: dict[int, set[str]] = {}
    for unit in sample.gold:
        sets.setdefault(unit.one_of, set()).add(texts[unit.document_id])
    assert sorted(map(sorted, sets.values())) == [["20 m high.", "90 m long."], ["20 m high.", "Its height is 20 m."]]


def test_false_passages_are_gold_in_counterfactual_rgb(tmp_path: Path) -> None:
    texts, sample = loaded(tmp_path, Part.EN_FACT)
    assert (sample.subset, sample.fake_answers) == ("false_passages", ("1958",))
    assert [texts[unit.document_id] for unit in sample.gold] == ["It was widened in 1958."]
    assert [texts[an_id] for an_id in sample.passages] == ["It was widened in 1958.", "It is painted green."]
    assert Rgb(str(tmp_path), Part.EN_FACT).load().notes["n_correct_passages_left_aside"] == 2


def test_rgb_data_folder_of_the_repository_is_found(tmp_path: Path) -> None:
    write(tmp_path / "data")
    assert len(Rgb(str(tmp_path)).load().samples) == 2


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ({**PLAIN, "positive": ["  "]}, "line 1, field 'positive': has no text"),
        ({**PLAIN, "positive": "It is green."}, "line 1, field 'positive': got a string, expected a list"),
        ({**PLAIN, "negative": [3]}, "field 'negative': got a number"),
        ({**PLAIN, "answer": ""}, "line 1, field 'answer_parts': a part is blank"),
        ({name: value for name, value in PLAIN.items() if name != "query"}, "line 1: no field 'query'"),
    ],
)
def test_damaged_rgb_lines_are_refused_with_their_place(tmp_path: Path, line: object, text: str) -> None:
    with pytest.raises(DataError, match=text):
        Rgb(str(write(tmp_path, lines=[line]))).load()


def test_rgb_without_a_root_or_part_file_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"root: is empty, expected the folder that holds RGB's en_int\.json"):
        Rgb(part=Part.EN_INT).load()
    with pytest.raises(DataError, match=r"zh\.json: does not exist"):
        Rgb(str(write(tmp_path)), Part.ZH).load()
