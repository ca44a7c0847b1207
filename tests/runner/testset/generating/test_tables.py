"""Reports of a run about its corpus and its voters."""

from pathlib import Path

from components.datasets.built_corpus import BuiltCorpus
from components.testset.topics.voting import TopicVotes, Vote
from runner.testset.making.generation_tables import corpus_lines, votes_line
from tests.datasets.test_table_documents import SHOP, write_database

TEXT = "The harbour bridge was opened to the public in 1932.\x1b[31m"


def test_corpus_lines_report_cleaned_and_left_out_documents(tmp_path: Path) -> None:
    for name, content in {"a.txt": TEXT, "b.txt": TEXT, "c.txt": "short", "e.docx": "", "f.jsonl": "{}"}.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    write_database(tmp_path / "shop.db", SHOP)
    _, counts = BuiltCorpus(str(tmp_path)).read()
    assert corpus_lines(counts) == [
        "read:     10 documents",
        "cleaned:  unseen_characters 2 (a.txt, b.txt)",
        'left out: empty 1 (shop.db/an "odd" name/000002), too_short 4 (c.txt, shop.db/an "odd" name/000001, '
        'shop.db/an "odd" name/000003 and 1 more), copy 1 (b.txt (as a.txt))',
        "not read: 1 unsupported file (1 .docx), 1 JSON file without texts, 1 view, 1 binary value",
    ]


AGREED = TopicVotes("a", {}, "loans")
ADJUDICATED = TopicVotes("b", {}, "loans", Vote("loans", ""))
OUTSIDE = TopicVotes("c", {}, "")
WAITING = TopicVotes("d", {}, "", is_pending=True)


def test_votes_line_reports_alpha_and_vote_counts() -> None:
    alpha = {"value": 0.756, "low": 0.652, "high": 0.86}
    assert votes_line([AGREED, ADJUDICATED, OUTSIDE, WAITING], alpha) == (
        "voters:   alpha 0.76 (0.65 to 0.86) over 4 documents; 1 adjudicated, 1 without a topic, 1 waiting because a "
        "voter's request failed"
    )
    assert votes_line([AGREED] * 3, {"value": 0.5, "low": None, "high": None}).endswith(
        "0 without a topic, an alpha below 0.667: topics overlap, or do not fit the corpus"
    )
    assert votes_line([AGREED] * 3, {"value": None, "low": None, "high": None}) == (
        "voters:   Krippendorff's alpha is not defined over 3 documents; 0 adjudicated, 0 without a topic"
    )
