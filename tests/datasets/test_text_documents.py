"""Markdown with front matter, files of lines, JSON in folders, and PDF files that say little."""

import json
from io import BytesIO
from pathlib import Path

import pytest

from components.datasets.document_files import read_documents
from components.datasets.file_content import ReadingOptions
from components.errors import DataError
from tests.datasets.test_beir import write_lines
from tests.datasets.test_document_files import pdf

FRONT_MATTER = """---
title: "Bridges: a guide"
date: 2024-01-05
tags: [steel, arch]
author: {name: nobody}
draft: false
---

# Opening

It was opened in 1932.
"""


def test_front_matter_becomes_title_and_metadata(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(FRONT_MATTER, encoding="utf-8")
    (tmp_path / "b.md").write_text("Plain.", encoding="utf-8")
    documents, _ = read_documents(tmp_path)
    assert documents.texts == ["# Opening\n\nIt was opened in 1932.", "Plain."], "offsets begin below the front matter"
    assert documents.titles == ["Bridges: a guide", "b"]
    assert list(documents.metadata) == [{"date": "2024-01-05", "tags": "steel, arch", "draft": "false"}, {}]


def test_front_matter_that_is_not_yaml_is_counted(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("---\ntitle: Guide: travel\n---\nText.", encoding="utf-8")
    (tmp_path / "b.md").write_text("---\nA rule above, not a mapping.\n---\nText.", encoding="utf-8")
    _, counts = read_documents(tmp_path)
    assert counts["n_files_with_invalid_front_matter"] == 1


@pytest.mark.parametrize(
    "text",
    [
        "---\nA rule above, not a mapping.\n---\nText.",
        "---\nnever: closed\n\nText.",
        "---\nkey: [1\n---\nText.",
        "---\n---\nText.",
        "Text.\n---\ntitle: x\n---",
        "---\na: " + "[" * 1500 + "\n---\nText.",
    ],
)
def test_text_that_is_not_front_matter_is_part_of_the_document(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.md").write_text(text, encoding="utf-8")
    documents, _ = read_documents(tmp_path)
    assert (documents.texts, documents.titles) == ([text], ["a"])
    assert not documents.metadata


def test_one_per_line_splits_text_files_into_documents(tmp_path: Path) -> None:
    (tmp_path / "part_1").write_text("First.\n\nThird.\u2028Still third.\n", encoding="utf-8")
    (tmp_path / "part.txt_2").write_text("Other.", encoding="utf-8")
    (tmp_path / "page.html").write_text("<p>One</p><p>page</p>", encoding="utf-8")
    documents, counts = read_documents(tmp_path, ReadingOptions(one_per_line=True))
    assert dict(zip(documents.ids, documents.texts, strict=True)) == {
        "page.html": "One\npage",
        "part.txt_2:000001": "Other.",
        "part_1:000001": "First.",
        "part_1:000003": "Third.\u2028Still third.",
    }
    assert (counts["n_files_of_other_kinds"], counts["n_blank_lines"]) == (0, 1)
    alone, _ = read_documents(tmp_path / "part_1", ReadingOptions(one_per_line=True))
    assert alone.ids == ["part_1:000001", "part_1:000003"]


def test_folder_of_line_files_requires_one_per_line(tmp_path: Path) -> None:
    (tmp_path / "part_1").write_text("First.\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"it has no readable file, only 1 without extension"):
        read_documents(tmp_path)


def test_json_files_in_a_folder_become_documents(tmp_path: Path) -> None:
    write_lines(tmp_path / "a.jsonl", [{"id": 1, "title": "T", "text": "x", "metadata": {"n": 2}}, {"text": "y"}])
    (tmp_path / "b.json").write_text(json.dumps([{"id": "z", "text": "z"}], indent=1), encoding="utf-8")
    write_lines(tmp_path / "c.json", [{"id": "one", "text": "per line"}])
    write_lines(tmp_path / "samples.jsonl", [{"id": "1", "question": "?"}])
    (tmp_path / "package.json").write_text(json.dumps({"name": "n", "of": [{"text": "deep"}]}, indent=1))
    (tmp_path / "empty.jsonl").write_text("")
    documents, counts = read_documents(tmp_path)
    assert [an_id for an_id in documents.ids if "a.jsonl" not in an_id] == ["b.json/z", "c.json/one"]
    assert documents.ids[0] == "a.jsonl/1"
    assert documents.texts == ["x", "y", "z", "per line"]
    assert documents.metadata[0] == {"n": "2"}
    assert counts["n_json_files_without_texts"] == 3


def test_single_json_file_becomes_documents(tmp_path: Path) -> None:
    (tmp_path / "b.json").write_text(json.dumps([{"id": "z", "text": "z"}], indent=1), encoding="utf-8")
    assert read_documents(tmp_path / "b.json")[0].ids == ["z"]
    (tmp_path / "b.json").write_text("[1]", encoding="utf-8")
    with pytest.raises(DataError, match=r"b\.json, record 1: got a number, expected an object"):
        read_documents(tmp_path / "b.json")


def test_later_json_record_without_text_is_rejected(tmp_path: Path) -> None:
    write_lines(tmp_path / "a.jsonl", [{"text": "x"}, {"contents": "y"}])
    with pytest.raises(DataError, match=r"a\.jsonl, line 2: no field 'text'. Its fields are: contents"):
        read_documents(tmp_path)


def test_pdf_pages_without_text_are_counted(tmp_path: Path) -> None:
    from pypdf import PdfWriter

    with PdfWriter() as writer:
        writer.append(BytesIO(pdf("Printed.")))
        writer.add_blank_page()
        writer.write(tmp_path / "a.pdf")
    documents, counts = read_documents(tmp_path)
    assert documents.texts[0].strip() == "Printed."
    assert counts["n_pdf_pages_without_text"] == 1


def test_password_protected_pdf_is_an_error(tmp_path: Path) -> None:
    from pypdf import PdfWriter

    with PdfWriter() as writer:
        writer.append(BytesIO(pdf("Printed.")))
        writer.encrypt("secret", algorithm="RC4-128")
        writer.write(tmp_path / "a.pdf")
    with pytest.raises(DataError, match=r"a\.pdf: is protected by a password\. Save it without one"):
        read_documents(tmp_path)
