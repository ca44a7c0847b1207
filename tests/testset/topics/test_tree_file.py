import json
from pathlib import Path

import pytest

from components.errors import DataError
from components.testset.records import Topic
from components.testset.topics.given import GivenTopics
from components.testset.topics.tree import label_topics, nest
from components.text.slugs import make_slugs
from tests.contracts.component_contract import ComponentContract
from tests.contracts.judge_contract import ScriptedJudge, failed
from tests.testset.corpora import SmallCorpus


def tree_file(folder: Path, text: str, suffix: str = ".yaml", depth: int | None = None) -> GivenTopics:
    file = folder / f"tree{suffix}"
    file.write_text(text, encoding="utf-8")
    return GivenTopics(str(file), depth)


def topics(source: GivenTopics) -> list[Topic]:
    return list(source.topics(SmallCorpus({}), ScriptedJudge(failed)))


class TestContract(ComponentContract):
    @pytest.fixture(autouse=True)
    def _make(self, tmp_path: Path) -> None:
        self.component = tree_file(tmp_path, "[Loans]")


FORMS = {
    "nested": ("Banking: [Loans, Cards]\nFunds: a pool of money", ".yaml"),
    "mappings in lists": ("- Banking:\n    Loans:\n    Cards: {}\n- {Funds: a pool of money}", ".yml"),
    "flat": (
        "- {name: Banking}\n- {name: Loans, parent: Banking}\n- {name: Cards, parent: Banking}\n"
        "- {name: Funds, parent: '', description: a pool of money}",
        ".yaml",
    ),
    "JSON": ('\ufeff{"Banking": {"Loans": [], "Cards": null}, "Funds": "a pool of money"}', ".json"),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_tree_file_form_gives_the_same_leaves(tmp_path: Path, form: str) -> None:
    assert topics(tree_file(tmp_path, *FORMS[form])) == [
        Topic("loans", ("Banking", "Loans")),
        Topic("cards", ("Banking", "Cards")),
        Topic("funds", ("Funds",), "a pool of money"),
    ]


def test_topic_tree_in_the_omnieval_layout_is_read(shared_data: Path) -> None:
    file = str(shared_data / "omnieval_layout" / "topic_tree.json")
    sixteen = topics(GivenTopics(file, depth=2))
    assert len(sixteen) == 16
    assert sixteen[0].path == ("银行业务", "零售银行")
    assert sixteen[0].description == "储蓄账户, 支票账户, 信用卡, 个人贷款"
    assert len(topics(GivenTopics(file))) == 33


def test_topic_labels_are_restored_when_a_set_is_loaded(tmp_path: Path) -> None:
    tree = "银行: [基金, 贷款, Wealth management]\n投资: [基金, C++]\nAreas: [C]"
    found = topics(tree_file(tmp_path, tree))
    labels = label_topics(found)
    assert list(labels.values()) == [
        "银行 - 基金",
        "贷款",
        "Wealth management",
        "投资 - 基金",
        "投资 - C++",
        "Areas - C",
    ]
    for some in (list(labels.values()), list(labels.values())[1:2], list(labels.values())[-1:]):
        assert all(labels[slug] == label for label, slug in make_slugs(some).items())


def test_topic_names_lose_only_invisible_characters(tmp_path: Path) -> None:
    found = topics(tree_file(tmp_path, json.dumps({"a": ["x\u202ey\u0007\n z", "<script>", "🏦 银行"]}), ".json"))
    assert [topic.path[1] for topic in found] == ["xy z", "<script>", "🏦 银行"]
    assert all(topic.slug.isascii() for topic in found)


MISTAKES = {
    "empty": ("", "has no topics"),
    "an empty list": ("[]", "has no topics"),
    "a blank name": ("A: ['  ']", "blank name"),
    "no text": ("A: [yes, 2024]", r"got True \(bool\) as a topic's name, expected a string. Quote it."),
    "a name twice": ("A: [B, B]", "'B' twice"),
    "a key twice": ("A: [B]\nA: [C]", "'A' occurs twice"),
    "a leaf that is a branch": ("- A\n- A: [B]", "'A' twice"),
    "one slug": ("A: [C, C++]", "'A - C' and 'A - C[+][+]' have the same short form 'a_c'"),
    "a circle": (
        "- {name: A, parent: B}\n- {name: B, parent: C}\n- {name: C, parent: A}\n- {name: D}",
        "form a cycle: A -> B -> C -> A",
    ),
    "itself": ("A: &a\n  B: *a", "got more than 8 levels .* no topic below itself"),
    "too deep": ("[" * 3 + "A" + "]" * 3, "as a topic's name"),
    "too many": (json.dumps([f"topic {n}" for n in range(501)]), "more than 500 topics"),
    "too long": ("[" + "x" * 201 + "]", "a name of 201 characters"),
    "an unknown parent": ("- {name: Banking}\n- {name: A, parent: Bankin}", "did you mean Banking"),
    "an unknown field": ("- {name: A, parnt: B}", "did you mean parent"),
    "a flat name twice": ("- {name: A}\n- {name: A}", "'A' twice"),
    "a number": ("A: 5", "got 5 below A"),
    "no YAML": ("A: [", "cannot be read as a topic tree"),
    "a list as a name": ("? [a]\n: b", "cannot be read as a topic tree"),
    "no tree": ("just words", "got str, expected a mapping"),
}


@pytest.mark.parametrize("problem", MISTAKES)
def test_each_invalid_tree_is_one_clear_error(tmp_path: Path, problem: str) -> None:
    text, message = MISTAKES[problem]
    source = tree_file(tmp_path, text)
    (found,) = source.check()
    assert found.startswith("path: ")
    with pytest.raises(DataError, match=message) as error:
        topics(source)
    assert source.path in str(error.value)


def test_malformed_and_missing_tree_files_are_errors(tmp_path: Path) -> None:
    for text, message in (
        ('{"A": 1, "A": 2}', "'A' occurs twice"),
        ('{"topic_name": "all", "sub_topics": [{"sub_topics": []}]}', "expected a mapping with 'topic_name'"),
        ('{"topic_name": "all"}', "'topic_name' and a list of 'sub_topics'"),
        ("[" * 100_000, "cannot be read"),
    ):
        assert message in tree_file(tmp_path, text, ".json").check()[0]
    assert "does not exist" in GivenTopics(str(tmp_path / "missing.yaml")).check()[0]
    assert "expected a topic tree as .yaml" in tree_file(tmp_path, "A", ".txt").check()[0]
    assert tree_file(tmp_path, "[A]", depth=0).check() == ["depth: got 0, expected at least 1"]


def test_tree_file_is_identified_by_its_content(tmp_path: Path) -> None:
    one, other = tree_file(tmp_path, "[A]").content_hash(), tree_file(tmp_path, "[B]").content_hash()
    assert one != other == tree_file(tmp_path, "[B]", ".yml").content_hash()


@pytest.mark.parametrize("depth", [None, 1])
def test_written_topics_are_read_back_equal(depth: int | None, tmp_path: Path) -> None:
    text, suffix = FORMS["flat"]
    first = topics(tree_file(tmp_path, text, suffix, depth))
    assert topics(tree_file(tmp_path, json.dumps(nest(first)), ".json")) == first
