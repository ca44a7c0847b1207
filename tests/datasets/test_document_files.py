"""A user's documents as files of several kinds."""

import errno
import os
from io import BytesIO
from pathlib import Path

import pytest

from components.datasets import document_files
from components.datasets.document_files import missing_extras, read_documents
from components.datasets.file_content import ReadingOptions
from components.datasets.jsonl import Jsonl
from components.errors import DataError
from tests.datasets.test_beir import write_lines


def pdf(text: str, title: str = "") -> bytes:
    """A PDF of one page, written by hand."""
    stream = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET".encode()
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R "
        b"/Resources << /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        f"<< /Title ({title}) >>".encode(),
    ]
    content, offsets = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, start=1):
        offsets.append(len(content))
        content += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    trailer = b"trailer << /Size 6 /Root 1 0 R /Info 5 0 R >>\nstartxref\n%d\n%%%%EOF" % len(content)
    return content + b"xref\n0 6\n0000000000 65535 f \n" + table + trailer


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "more" / "deep").mkdir(parents=True)
    (tmp_path / ".hidden").mkdir()
    (tmp_path / "a.txt").write_text("Plain text.\nSecond line.", encoding="utf-8")
    (tmp_path / "more" / "b.MD").write_text("# A heading", encoding="utf-8")
    (tmp_path / "more" / "deep" / "c.html").write_text(
        "<html><head><title>A page</title><style>p {}</style></head><body><p>Seen.</p><script>x</script></body></html>",
        encoding="utf-8",
    )
    (tmp_path / "d.pdf").write_bytes(pdf("Printed.", "A paper"))
    (tmp_path / "e.docx").write_bytes(b"not read")
    (tmp_path / ".hidden" / "f.txt").write_text("not read", encoding="utf-8")
    return tmp_path


def test_document_folder_is_read_with_its_subfolders(folder: Path) -> None:
    documents, counts = read_documents(folder)
    assert dict(zip(documents.ids, documents.texts, strict=True)) == {
        "a.txt": "Plain text.\nSecond line.",
        "more/b.MD": "# A heading",
        "more/deep/c.html": "Seen.",
        "d.pdf": "Printed.",
    }
    assert dict(zip(documents.ids, documents.titles, strict=True))["more/deep/c.html"] == "A page"
    assert dict(zip(documents.ids, documents.titles, strict=True))["d.pdf"] == "A paper"
    assert counts == {"n_files_of_other_kinds": 1, "files_of_other_kinds": "1 .docx"}


def test_keep_structure_keeps_headings_and_pages(tmp_path: Path) -> None:
    from pypdf import PdfWriter

    html = "<h1>One</h1><p>Text.</p><h3>Two <b>words</b></h3>Behind.<h2> </h2>"
    (tmp_path / "a.html").write_text(html, encoding="utf-8")
    with PdfWriter() as writer:
        for text in ("First.", "Second."):
            writer.append(BytesIO(pdf(text)))
        writer.write(tmp_path / "b.pdf")
    assert read_documents(tmp_path, ReadingOptions(keep_structure=True))[0].texts == [
        "# One\nText.\n### Two words\nBehind.", "First.\n\f\nSecond.",
    ]  # fmt: skip
    assert read_documents(tmp_path)[0].texts == ["One\nText.\nTwo words\nBehind.", "First.\nSecond."]


def test_text_file_with_markup_is_read_verbatim(tmp_path: Path) -> None:
    (tmp_path / "a.rst").write_text("Bridges\n=======\n\nThe *red* one.", encoding="utf-8")
    documents, counts = read_documents(tmp_path)
    assert documents.texts == ["Bridges\n=======\n\nThe *red* one."]
    assert counts["n_files_of_other_kinds"] == 0


def test_unread_files_are_counted_by_extension(folder: Path) -> None:
    for name in ("f.xlsx", "more/g.XLSX", "LICENSE"):
        (folder / name).write_bytes(b"not read")
    _, counts = read_documents(folder)
    assert counts["files_of_other_kinds"] == "2 .xlsx, 1 .docx, 1 without extension"
    assert counts["n_files_of_other_kinds"] == 4


def test_links_out_of_the_document_folder_are_not_followed(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "secret.txt").write_text("a key", encoding="utf-8")
    (folder / "link.txt").symlink_to(outside / "secret.txt")
    (folder / "up.txt").symlink_to("../outside0/secret.txt")
    (folder / "linked_folder").symlink_to(outside)
    (folder / "more" / "same.txt").symlink_to("../a.txt")
    documents, counts = read_documents(folder)
    assert "a key" not in documents.texts
    assert dict(zip(documents.ids, documents.texts, strict=True))["more/same.txt"].startswith("Plain text")
    assert counts["files_of_other_kinds"] == "2 leading out of the folder, 1 .docx, 1 linking to a folder"


def test_document_folder_that_cannot_be_listed_is_an_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scandir = os.scandir

    def refusing(path: str) -> object:  # tests may run as root, which may read every file
        if os.fspath(path).endswith(("more", ".hidden")):
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)
    with pytest.raises(DataError, match=r"more: cannot be listed \(Permission denied\)\. Make the folder readable"):
        read_documents(folder)


def test_overlong_path_of_documents_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"cannot be read \(File name too long\), expected documents"):
        read_documents(tmp_path / ("x" * 300))


def test_gold_in_an_unread_file_suggests_the_parser(folder: Path) -> None:
    write_lines(folder / ".samples", [{"id": "1", "question": "?", "gold": ["e.docx"]}])
    expected = (
        r"no document 'e\.docx' with text.* Files that were not read: 1 \.docx\. Add parser=office, which reads them\."
    )
    with pytest.raises(DataError, match=expected):
        Jsonl(str(folder), str(folder / ".samples")).load()


def test_ids_of_unnamed_lines_depend_only_on_their_text(tmp_path: Path) -> None:
    path = tmp_path / "documents.jsonl"
    write_lines(path, [{"id": "one", "title": "T", "text": "x"}, {"text": "y"}, {"text": "z"}])
    documents, _ = read_documents(path)
    assert documents.ids[0] == "one"
    assert len(set(documents.ids)) == 3
    write_lines(path, [{"text": "z"}, {"id": "one", "text": "x"}])
    assert read_documents(path)[0].ids[0] == documents.ids[2], "an id that is made of the text stays the same"


def test_repeated_text_without_an_id_is_left_out_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "documents.jsonl"
    write_lines(path, [{"text": "x"}, {"text": "y"}, {"text": "x"}, {"id": "one", "text": "x"}])
    documents, counts = read_documents(path)
    assert documents.texts == ["x", "y", "x"]
    assert counts == {"n_documents_repeated": 1}


def test_document_files_with_equal_ids_are_rejected(tmp_path: Path) -> None:
    write_lines(tmp_path / "documents.jsonl", [{"id": "one", "text": "x"}, {"id": "one", "text": "y"}])
    write_lines(tmp_path / "samples.jsonl", [{"id": "1", "question": "?"}])
    with pytest.raises(DataError, match="the document id 'one' occurs twice, as document 1 and as document 2"):
        Jsonl(str(tmp_path / "documents.jsonl"), str(tmp_path / "samples.jsonl")).load()


@pytest.mark.parametrize("name", ["d.pdf", "a.txt"])
def test_single_file_is_read_as_a_document(folder: Path, name: str) -> None:
    documents, counts = read_documents(folder / name)
    assert documents.ids == [name]
    assert documents.texts[0].startswith(("Printed", "Plain"))
    assert counts == {"n_files_of_other_kinds": 0, "files_of_other_kinds": ""}


def test_unread_files_change_the_fingerprint(folder: Path) -> None:
    write_lines(folder / ".samples", [{"id": "1", "question": "?"}])
    dataset = Jsonl(str(folder), str(folder / ".samples"))
    before = dataset.fingerprint()
    (folder / "more.docx").write_bytes(b"not read")
    assert dataset.fingerprint() != before


def test_json_line_without_text_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "documents.jsonl").write_text('{"text": "x"}\n{"contents": "y"}\n', encoding="utf-8")
    with pytest.raises(DataError, match=r"documents\.jsonl, line 2: no field 'text'. Its fields are: contents"):
        read_documents(tmp_path / "documents.jsonl")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"<html>",
        pdf("Printed.")[:300],
        pdf("Printed.").replace(b"trailer <<", b"trailer 4<<"),  # an AttributeError in pypdf
        pdf("Printed.").replace(b"/Length ", b"/Length<"),  # a TypeError in pypdf
    ],
)
def test_damaged_pdf_error_names_the_file(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.pdf").write_bytes(content)
    with pytest.raises(DataError, match=r"a\.pdf: cannot be read as PDF \(.*\)\. Repair the file, or remove it"):
        read_documents(tmp_path)


def test_non_text_title_becomes_a_string(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(pdf("Printed.").replace(b"/Title ()", b"/Title 12"))
    (tmp_path / "b.pdf").write_bytes(pdf("Printed."))
    (tmp_path / "c.html").write_text("<title/>", encoding="utf-8")
    documents, _ = read_documents(tmp_path)
    assert list(documents.titles) == ["12", "b", "c"]
    assert {type(title) for title in documents.titles} == {str}


def test_unreadable_document_files_are_errors(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"does not exist, expected documents as JSON Lines"):
        read_documents(tmp_path / "gone")
    with pytest.raises(DataError, match=r"it has no readable file\. Expected documents as \.txt"):
        read_documents(tmp_path)
    (tmp_path / "a.pdf").write_bytes(b"%PDF-1.4 broken")
    with pytest.raises(DataError, match=r"a\.pdf: cannot be read as PDF"):
        read_documents(tmp_path)
    (tmp_path / "a.pdf").unlink()
    (tmp_path / "a.txt").write_bytes(b"\xff")
    with pytest.raises(DataError, match=r"a\.txt: byte 0xff at byte offset 0"):
        read_documents(tmp_path)


def test_missing_reader_packages_are_found_before_any_work(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert missing_extras(folder) == []
    monkeypatch.setattr(document_files, "find_spec", lambda name: None)
    (message,) = missing_extras(folder)
    assert "needs the packages 'bs4', 'pypdf'" in message
    assert message.count("pip install") == 1
    (folder / "d.pdf").unlink()
    (folder / "more" / "deep" / "c.html").unlink()
    assert missing_extras(folder) == []


def test_file_name_that_is_not_utf8_is_an_error_with_its_bytes(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"caf\xe9.txt")).write_text("text")
    with pytest.raises(DataError, match=r"the name of the file b'caf\\xe9\.txt' is not UTF-8"):
        read_documents(tmp_path)


def test_dangling_links_and_special_files_are_counted(folder: Path) -> None:
    (folder / "g.txt").symlink_to("fetched_later.txt")
    (folder / "h.txt").symlink_to("h.txt")
    os.mkfifo(folder / "i.db")
    documents, counts = read_documents(folder)
    assert len(documents) == 4
    assert counts["files_of_other_kinds"] == "2 linking to nothing, 1 .docx, 1 special (a pipe, socket or device)"


def test_file_without_permission_to_look_at_is_an_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    is_folder = Path.is_dir

    def refusing(path: Path) -> bool:  # like a folder that may be listed, but not entered
        if path.name == "a.txt":
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return is_folder(path)

    monkeypatch.setattr(Path, "is_dir", refusing)
    with pytest.raises(DataError, match=r"a\.txt: cannot be read \(Permission denied\)"):
        read_documents(folder)


def test_folder_without_search_permission_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder can be listed but not searched (mode 444), except by root."""

    def refuse(path: Path) -> bool:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    (tmp_path / "sub").mkdir()
    monkeypatch.setattr(Path, "is_symlink", refuse)
    with pytest.raises(DataError, match=r"sub: cannot be read \(Permission denied\)"):
        read_documents(tmp_path)


def test_json_files_without_a_text_field_are_rejected(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"content": "a bridge"}\n', encoding="utf-8")
    with pytest.raises(DataError, match="none of its 1 JSON files begins with a record that has a field 'text'"):
        read_documents(tmp_path)
