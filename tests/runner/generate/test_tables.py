"""What a run says of its corpus."""

from pathlib import Path

from components.datasets.built_corpus import BuiltCorpus
from runner.generate.tables import corpus_lines
from tests.datasets.test_table_documents import SHOP, write_database

TEXT = "The harbour bridge was opened to the public in 1932.\x1b[31m"


def test_what_was_cleaned_and_left_out_is_said(tmp_path: Path) -> None:
    for name, content in {"a.txt": TEXT, "b.txt": TEXT, "c.txt": "short", "e.docx": "", "f.jsonl": "{}"}.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    write_database(tmp_path / "shop.db", SHOP)
    _, counts = BuiltCorpus(str(tmp_path)).read()
    assert corpus_lines(counts) == [
        "read:     10 documents",
        "cleaned:  unseen_characters 2 (a.txt, b.txt)",
        'left out: empty 1 (shop.db/an "odd" name/000002), too_short 4 (c.txt, shop.db/an "odd" name/000001, '
        'shop.db/an "odd" name/000003 and 1 more), copy 1 (b.txt (as a.txt))',
        "not read: 1 unsupported file (1 .docx), 1 textless JSON file, 1 view, 1 binary value",
    ]
