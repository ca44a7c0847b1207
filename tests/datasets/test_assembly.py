"""Checks of every data set."""

from dataclasses import replace
from typing import Any

import pytest

from components.datasets.assembly import assemble, limit_and_count, require_gold_in_corpus
from components.errors import DataError
from components.records import Benchmark, Documents, Evidence, Kind, Sample

DOCUMENTS = Documents(["b", "a"], ["B", "A"], ["乙乙", "甲甲甲"])
SAMPLE = Sample("s1", "read/qa_1doc", Kind.QA, "问?", ("答",), (Evidence("a", 0, 3),))


def assembled(documents: Documents = DOCUMENTS, *samples: Sample) -> Benchmark:
    return assemble("the source", documents, samples or (SAMPLE,), {"read": "Read"}, {"n_things": 7})


def test_assembly_sorts_documents_and_keeps_samples_and_labels() -> None:
    benchmark = assembled()
    assert benchmark.documents == Documents(["a", "b"], ["A", "B"], ["甲甲甲", "乙乙"])
    assert benchmark.samples == (SAMPLE,)
    assert benchmark.labels == {"read": "Read"}
    assert benchmark.notes == {"n_things": 7, "n_documents": 2, "n_empty_documents": 0, "n_samples_read": 1}


def test_references_that_look_like_lists_are_counted() -> None:
    samples = [
        replace(SAMPLE, id=text, references=(text,)) for text in ("['1932', 'in 1932']", ' ["a"]', "[1] m", "['a'", "a")
    ]
    assert assembled(DOCUMENTS, *samples).notes["n_references_like_lists"] == 2


def test_empty_documents_are_left_out_counted_and_named() -> None:
    benchmark = assembled(Documents(["a", "b", "c"], [""] * 3, ["甲甲甲", "", " \u3000\n"]))
    assert list(benchmark.documents.ids) == ["a"]
    assert benchmark.notes["n_empty_documents"] == 2
    assert benchmark.notes["empty_documents"] == "b, c"


def test_only_three_of_many_empty_documents_are_named() -> None:
    ids = ["e", "d", "c", "b", "a"]
    benchmark = assembled(Documents(ids, [""] * 5, ["", "", "", "", "甲甲甲"]))
    assert benchmark.notes["empty_documents"] == "b, c, d and 1 more"


@pytest.mark.parametrize("texts", [[], [" ", ""]])
def test_empty_corpus_is_rejected_by_assembly(texts: list[str]) -> None:
    ids = [str(number) for number in range(len(texts))]
    with pytest.raises(DataError, match=rf"the source: no document of the corpus has text \({len(texts)} empty ones\)"):
        assembled(Documents(ids, ids, texts))


def test_assembly_without_samples_is_rejected() -> None:
    with pytest.raises(DataError, match="the source: no samples were found"):
        assemble("the source", DOCUMENTS, (), {}, {})


def test_duplicate_id_error_names_both_places() -> None:
    with pytest.raises(DataError, match="sample id 's1' occurs twice, as sample 1 and as sample 3 of 3"):
        assembled(DOCUMENTS, SAMPLE, replace(SAMPLE, id="s2"), replace(SAMPLE, question="另一个问题?"))
    with pytest.raises(DataError, match="document id 'a' occurs twice"):
        assembled(Documents(["a", "a"], ["", ""], ["甲", "乙"]))


@pytest.mark.parametrize("references", [(), ("",), (" ", "\n")])
def test_sample_without_a_reference_is_rejected(references: tuple[str, ...]) -> None:
    with pytest.raises(DataError, match="the source: sample 's1' has no reference answer"):
        assembled(DOCUMENTS, replace(SAMPLE, references=references))


def test_retrieval_samples_without_a_reference_are_counted() -> None:
    samples = [SAMPLE, replace(SAMPLE, id="s2", references=())]
    benchmark = assemble("the source", DOCUMENTS, samples, {}, {}, references_required=False)
    assert benchmark.samples == tuple(samples)
    assert benchmark.notes["n_samples_without_reference"] == 1


def test_empty_question_is_rejected() -> None:
    with pytest.raises(DataError, match="the question of sample 's1' is empty"):
        assembled(DOCUMENTS, replace(SAMPLE, question=" "))


@pytest.mark.parametrize(("start", "end"), [(0, 4), (2, 2), (-1, 2), (None, 2), (1, None)])
def test_gold_span_outside_its_document_is_rejected(start: int | None, end: int | None) -> None:
    with pytest.raises(DataError, match=r"the gold of sample 's1' (has start|is characters) .* expected"):
        assembled(DOCUMENTS, replace(SAMPLE, gold=(Evidence("a", start, end),)))


def test_gold_in_an_empty_document_suggests_omitting_the_field() -> None:
    benchmark = assembled(DOCUMENTS, replace(SAMPLE, gold=(Evidence(" "),)))
    with pytest.raises(DataError, match=r"'s1' has a blank document id.*Omit gold.*\"answerable\": false"):
        require_gold_in_corpus(benchmark, "the source")


def test_gold_outside_the_corpus_is_counted() -> None:
    samples = (
        SAMPLE,
        replace(SAMPLE, id="s2", gold=(Evidence("a"), Evidence("nowhere"))),
        replace(SAMPLE, id="s3", gold=(Evidence("nowhere", 5, 9),)),
        replace(SAMPLE, id="s4", gold=()),
    )
    notes = limit_and_count(assembled(DOCUMENTS, *samples), None, 0).notes
    assert (notes["n_samples_without_gold_in_corpus"], notes["n_gold_units_not_in_corpus"]) == (2, 2)


def test_gold_in_an_empty_document_counts_as_missing() -> None:
    documents = Documents(["a", "b"], ["", ""], ["甲", " "])
    benchmark = assembled(documents, replace(SAMPLE, gold=(Evidence("b"),)))
    assert limit_and_count(benchmark, None, 0).notes["n_samples_without_gold_in_corpus"] == 1


def test_gold_outside_the_corpus_is_rejected_if_required() -> None:
    require_gold_in_corpus(assembled(), "the source")
    with pytest.raises(DataError, match="'s1' is not in the corpus, which has no document 'nowhere'"):
        require_gold_in_corpus(assembled(DOCUMENTS, replace(SAMPLE, gold=(Evidence("nowhere"),))), "the source")


def test_gold_in_another_unicode_form_is_reported() -> None:
    composed, decomposed = "caf\u00e9.txt", "cafe\u0301.txt"
    documents = Documents([composed], [""], ["text"])
    with pytest.raises(DataError, match="looks the same, in another Unicode normalization form"):
        require_gold_in_corpus(assembled(documents, replace(SAMPLE, gold=(Evidence(decomposed),))), "the source")


def test_all_missing_gold_is_reported_together() -> None:
    lost = [replace(SAMPLE, id=f"s{n}", gold=(Evidence(f"nowhere{n}"),)) for n in range(12)]
    with pytest.raises(DataError) as raised:
        require_gold_in_corpus(assembled(DOCUMENTS, *lost), "the source")
    lines = str(raised.value).split("\n")
    assert [f"'nowhere{n}'" in line for n, line in enumerate(lines[:-1])] == [True] * 10
    assert lines[-1] == "... and 2 more errors"


def test_sample_limit_keeps_the_corpus() -> None:
    benchmark = limit_and_count(assembled(DOCUMENTS, *(replace(SAMPLE, id=f"s{n}") for n in range(9))), 4, 0)
    assert len(benchmark.documents) == 2
    assert (benchmark.notes["n_samples_read"], benchmark.notes["n_samples"], len(benchmark.samples)) == (9, 4, 4)


def test_corpus_limit_keeps_the_gold_documents() -> None:
    ids = [f"d{n:02}" for n in range(40)]
    documents = Documents(ids, [""] * 40, ["甲"] * 40, [{"n": an_id} for an_id in ids])
    benchmark = assembled(documents, replace(SAMPLE, gold=(Evidence("d07"), Evidence("gone")), passages=("d33",)))

    def kept(most: int | None, seed: int = 0) -> set[str]:
        limited = limit_and_count(benchmark, None, seed, most)
        assert list(limited.documents.ids) == sorted(limited.documents.ids)
        assert [facts["n"] for facts in limited.documents.metadata] == limited.documents.ids
        assert limited.notes["n_documents"] == len(limited.documents)
        assert limited.notes.get("n_documents_left_aside", 0) == 40 - len(limited.documents)
        return set(limited.documents.ids)

    assert kept(1) == {"d07", "d33"}
    assert kept(None) == kept(40) == kept(50) == set(ids)
    assert {"d07", "d33"} < kept(10) < kept(20)
    assert (len(kept(10)), len(kept(20))) == (10, 20)
    assert kept(10, seed=1) != kept(10)


def test_corpus_limit_reduces_parallel_corpora_proportionally() -> None:
    ids = [*(f"a/{n:02}" for n in range(30)), *(f"b/{n:02}" for n in range(10))]
    samples = [replace(SAMPLE, id=name, gold=(), corpus_prefix=f"{name}/") for name in ("a", "b")]
    limited = limit_and_count(assembled(Documents(ids, [""] * 40, ["甲"] * 40), *samples), None, 0, 8)
    assert [an_id[0] for an_id in limited.documents.ids] == [*"aaaaaabb"]


def test_lone_surrogate_is_reported_with_its_place() -> None:
    half = "\ud83d"
    with pytest.raises(
        DataError, match=r"document 'a' contains half of a character \(an unpaired surrogate\), '\\ud83d', at 1"
    ):
        assembled(Documents(["a"], [""], [f"甲{half}"]), replace(SAMPLE, gold=()))
    with pytest.raises(DataError, match=r"sample 's1' contains half of a character"):
        assembled(DOCUMENTS, replace(SAMPLE, references=(half,)))


@pytest.mark.parametrize(
    ("fields", "what"),
    [
        ({"subset": "overall"}, "subset"),
        ({"subset": "macro/deep"}, "subset"),
        ({"subset": "topic/banks"}, "subset"),
        ({"topic": "all"}, "topic"),
        ({"task": "all"}, "task"),
    ],
)
def test_reserved_result_names_are_rejected(fields: dict[str, Any], what: str) -> None:
    name = fields[what].split("/")[0]
    with pytest.raises(DataError, match=f"the {what} of sample '.*' is '{name}', a name that the results reserve"):
        assembled(DOCUMENTS, replace(SAMPLE, **fields))


def test_subset_may_be_named_all() -> None:
    assert assembled(DOCUMENTS, replace(SAMPLE, subset="all")).samples[0].subset == "all"
