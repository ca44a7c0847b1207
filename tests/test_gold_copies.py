"""Documents that repeat the gold evidence count as gold."""

from collections.abc import Sequence

import numpy as np

from components.gold_copies import GoldCopies, GoldCredit, find_copies, gold_units
from components.records import Documents, Evidence, Kind, Sample

NEWS = (
    "青砚市昨日发布了新的公共交通方案，计划在三年内新增12条公交线路。首批4条线路将在明年三月正式开通，"
    "票价与现有的线路保持一致，市民可以在网站上查看每条线路的走向。"
)
OTHER = (
    "临澜市的博物馆在周末迎来一万名观众，馆方决定把开放时间延长一小时，并且在夏天增加夜场，"
    "让更多上班的人也能来看展览，这是第一次。"
)


def corpus(**texts: str) -> Documents:
    return Documents(list(texts), [""] * len(texts), list(texts.values()))


def sample(*gold: Evidence, prefix: str = "") -> Sample:
    return Sample("1", "all", Kind.QA, "?", ("!",), gold, corpus_prefix=prefix)


def copied(documents: Documents, *samples: Sample) -> set[str]:
    return {documents.ids[place] for place in find_copies(samples, documents).copy.tolist()}


class TestCopies:
    def test_copies_are_documents_with_nearly_the_same_text(self) -> None:
        documents = corpus(a=NEWS, b=NEWS.replace("昨日", "今天"), c=f"转载\n\n{NEWS}", d=OTHER, e=NEWS[:40] + OTHER)
        assert copied(documents, sample(Evidence("a"))) == {"b", "c"}

    def test_copies_have_the_numbers_of_the_gold(self) -> None:
        """Texts from one template differ in nothing but their numbers."""
        form = (
            "The company's revenue in fiscal year {} was ${} million, and its net income was ${} million, as reported."
        )
        documents = corpus(a=form.format(2021, 310, 12), b=form.format(2022, 355, 19), c=form.format(2021, 310, 12))
        assert copied(documents, sample(Evidence("a"))) == {"c"}

    def test_number_elsewhere_in_a_document_does_not_make_a_passage_a_copy(self) -> None:
        rule = "A licence for street trading in the harbour district is granted for {} months from the day of payment."
        documents = corpus(
            a=rule.format(18), b=f"Answers take 18 days.\n\n{rule.format(14)}", c=rule.format(18) + OTHER
        )
        assert copied(documents, sample(Evidence("a", 0, len(rule.format(18))))) == {"c"}

    def test_copy_of_a_document_may_have_its_date_in_another_line(self) -> None:
        report = "the council of the harbour district met and decided to build three new bridges over the river. " * 3
        documents = corpus(a=f"On 25 July, {report}", b=f"{report}Published 25/7.", c=f"On 26 July, {report}")
        assert copied(documents, sample(Evidence("a"))) == {"b"}

    def test_documents_containing_a_gold_passage_are_copies(self) -> None:
        start = len(OTHER)
        documents = corpus(a=OTHER + NEWS + OTHER[::-1], b=NEWS, c=OTHER)
        assert copied(documents, sample(Evidence("a", start, start + len(NEWS)))) == {"b"}

    def test_documents_containing_only_a_phrase_are_not_copies(self) -> None:
        documents = corpus(a=OTHER + NEWS, b=NEWS)
        assert copied(documents, sample(Evidence("a", len(OTHER), len(OTHER) + 30))) == set()

    def test_boilerplate_in_many_documents_has_no_copies(self) -> None:
        documents = corpus(**{f"d{number:02}": NEWS for number in range(60)})
        assert copied(documents, sample(Evidence("d00"))) == set()

    def test_copies_are_searched_only_in_the_used_part_of_the_corpus(self) -> None:
        documents = Documents(["x/a", "x/b", "y/a"], [""] * 3, [NEWS] * 3)
        assert copied(documents, sample(Evidence("x/a"), prefix="x/")) == {"x/b"}

    def test_gold_copies_are_counted(self) -> None:
        documents = corpus(a=NEWS, b=NEWS, c=NEWS, d=OTHER)
        one, other = sample(Evidence("a"), Evidence("d")), sample(Evidence("b"), Evidence("gone"))
        assert find_copies([one, other], documents).counts() == {
            "n_gold_units_with_copies": 2,
            "n_copies_of_gold_units": 4,
            "n_documents_that_copy_gold": 3,
        }

    def test_samples_without_gold_have_no_copies(self) -> None:
        assert find_copies([sample()], corpus(a=NEWS)).counts() == dict.fromkeys(
            ("n_gold_units_with_copies", "n_copies_of_gold_units", "n_documents_that_copy_gold"), 0
        )

    def test_copies_have_equal_characters(self) -> None:
        documents = corpus(a=NEWS, b="报道：\n" + NEWS.replace("方案，", "方案，\n").replace("三月", "四月"))
        copies = find_copies([sample(Evidence("a"))], documents)
        assert len(copies.unit) > 2
        for row in range(len(copies.unit)):
            gold, copy = (
                documents.texts[document][start : start + copies.length[row]]
                for document, start in (
                    (copies.gold[row], copies.gold_start[row]),
                    (copies.copy[row], copies.copy_start[row]),
                )
            )
            assert gold == copy


def credit(documents: Documents, *samples: Sample) -> GoldCredit:
    return GoldCredit(samples, documents, find_copies(samples, documents))


class TestCredit:
    DOCUMENTS = corpus(a=NEWS, b=NEWS, c=NEWS, d=OTHER)

    def ranked(self, gold: Sequence[str], ranking: Sequence[str]) -> list[str]:
        one = sample(*map(Evidence, gold))
        return list(credit(self.DOCUMENTS, one).rankings([ranking])[0])

    def test_gold_takes_the_rank_of_its_best_copy(self) -> None:
        assert self.ranked("a", "dcba") == ["d", "a"]
        assert self.ranked("a", "da") == ["d", "a"]

    def test_copy_that_is_gold_itself_keeps_its_rank(self) -> None:
        assert self.ranked("ab", "cb") == ["a", "b"]
        assert self.ranked("ab", "ba") == ["b", "a"]

    def test_copies_of_other_samples_gold_are_not_credited(self) -> None:
        documents = self.DOCUMENTS
        rankings = credit(documents, sample(Evidence("a")), sample(Evidence("d"))).rankings(["cb", "cb"])
        assert [list(ranking) for ranking in rankings] == [["a"], ["c", "b"]]

    def test_spans_in_a_copy_are_credited_to_the_gold(self) -> None:
        documents = corpus(a=OTHER + NEWS, b="转载：" + NEWS)
        one = sample(Evidence("a", len(OTHER), len(OTHER + NEWS)))
        (spans,) = credit(documents, one).spans([[(1, 0, 23), (0, 0, 5)]])
        assert spans == [(1, 0, 23), (0, 0, 5), (0, len(OTHER), len(OTHER) + 20)]

    def test_copies_belong_to_units_by_their_number(self) -> None:
        samples = [sample(Evidence("d"), Evidence("a", 0, 60)), sample(Evidence("a", 0, 60))]
        assert gold_units(samples) == [("d", None, None), ("a", 0, 60)]
        copies = find_copies(samples, self.DOCUMENTS)
        assert isinstance(copies, GoldCopies)
        assert set(copies.unit.tolist()) == {1}
        assert np.all(np.diff(copies.unit) >= 0)
