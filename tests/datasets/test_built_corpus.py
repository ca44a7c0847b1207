"""A built corpus: cleaned, without copies, and with counts of every change."""

from io import BytesIO
from pathlib import Path

import pytest
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

from components.datasets.built_corpus import LEFT_OUT, BuiltCorpus
from components.datasets.cleaning import Cleaning
from components.errors import DataError
from components.protocols import Source
from runner.launch.hydra_startup import BASE_VERSION
from runner.pipeline.building import build_component
from tests.datasets.test_beir import write_lines
from tests.datasets.test_document_files import pdf

CONF = Path(__file__).parents[2] / "runner" / "testset" / "conf"

FACTS = "The bridge at the northern end of the harbour was opened to the public in 1932, after nine years of work. "
MORE = "It carries two railway lines and eight lanes of traffic, and is painted in the same grey as at first."


def write(folder: Path, **texts: str) -> Path:
    for name, text in texts.items():
        (folder / f"{name}.txt").write_text(text, encoding="utf-8", newline="")
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(
        tmp_path,
        a=FACTS + MORE,
        b=(FACTS + MORE).replace(" ", "\n"),
        c=FACTS + MORE.replace("grey", "green"),
        d=" \n",
        e="Too short.",
        f="\ufeffAnother   matter\x07 altogether, which nobody else writes about.\r\n",
        g="x" * 5000,
    )


def test_corpus_counts_every_document_left_out(folder: Path) -> None:
    documents, counts = BuiltCorpus(str(folder), max_characters=4000).read()
    assert list(documents.ids) == ["a.txt", "f.txt"]
    assert documents.texts[1] == "Another matter altogether, which nobody else writes about."
    assert {name: n for name, n in counts.items() if "left_out" in name and n} == {
        "n_left_out_empty": 1,
        "examples_left_out_empty": "d.txt",
        "n_left_out_too_short": 1,
        "examples_left_out_too_short": "e.txt",
        "n_left_out_too_long": 1,
        "examples_left_out_too_long": "g.txt",
        "n_left_out_copy": 1,
        "examples_left_out_copy": "b.txt (as a.txt)",
        "n_left_out_near_duplicate": 1,
        "examples_left_out_near_duplicate": "c.txt (as a.txt)",
    }
    assert (counts["n_cleaned_unseen_characters"], counts["n_cleaned_white_space"]) == (1, 2)
    assert counts["examples_cleaned_unseen_characters"] == "f.txt"
    n_left_out = sum(int(counts[f"n_left_out_{reason}"]) for reason in LEFT_OUT)
    assert counts["n_documents_read"] == int(counts["n_documents_kept"]) + n_left_out == 7


def test_cleaning_a_clean_corpus_is_idempotent(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    documents, _ = BuiltCorpus(str(folder)).read()
    again = tmp_path_factory.mktemp("again")
    for an_id, text in zip(documents.ids, documents.texts, strict=True):
        (again / an_id).write_text(text, encoding="utf-8")
    repeated, counts = BuiltCorpus(str(again)).read()
    assert repeated == documents
    assert {n for name, n in counts.items() if name.startswith("n_cleaned")} == {0}


def test_shared_menus_are_removed_but_table_rows_remain(tmp_path: Path) -> None:
    for name in "abcde":
        (tmp_path / f"{name}.md").write_text(f"Home | About\n\nA guide to the city of {name * 9}.", encoding="utf-8")
    rows = "".join(f"the city of {name * 9},open\n" for name in "abcde")
    (tmp_path / "t.csv").write_text(f"place,status\n{rows}", encoding="utf-8")
    documents, counts = BuiltCorpus(str(tmp_path), without_near_duplicates=False).read()
    assert documents.texts[0] == "A guide to the city of aaaaaaaaa."
    assert documents.texts[5] == "place: the city of aaaaaaaaa\nstatus: open"
    assert counts["n_cleaned_shared_edges"] == 5


def test_rows_of_a_table_are_not_near_duplicates(tmp_path: Path) -> None:
    rows = [f"{FACTS}It cost {price} pounds.\n" for price in (100, 200, 200)]
    (tmp_path / "t.csv").write_text("text\n" + "".join(rows).replace(",", ""), encoding="utf-8")
    write_lines(tmp_path / "t.jsonl", [{"id": place, "text": row} for place, row in enumerate(rows)])
    documents, counts = BuiltCorpus(str(tmp_path)).read()
    assert list(documents.ids) == ["t.csv/000001", "t.csv/000002", "t.jsonl/0"]
    assert (counts["n_left_out_copy"], counts["n_left_out_near_duplicate"]) == (2, 1)


def test_running_heads_of_a_pdf_are_removed(tmp_path: Path) -> None:
    from pypdf import PdfWriter

    bodies = ("A first page, of which much could be said.", "A second page.", "A third page.")
    with PdfWriter() as writer:
        for number, body in enumerate(bodies, start=1):
            lines = ("ACME Annual Report", body, f"Page {number} of 3")
            writer.append(BytesIO(pdf(") Tj 0 -20 Td (".join(lines))))
        writer.write(tmp_path / "a.pdf")
    documents, counts = BuiltCorpus(str(tmp_path)).read()
    assert documents.texts == ["\n\f\n".join(bodies)]
    assert counts["n_cleaned_running_heads"] == 1


def test_built_corpus_lines_have_the_ids_of_the_benchmark(tmp_path: Path, shared_data: Path) -> None:
    file = shared_data / "crud_rag" / "80000_docs" / "documents_hallu.txt_part_1"
    lines = file.read_text(encoding="utf-8").split("\n")[:400]
    (tmp_path / file.name).write_text("\n".join(lines), encoding="utf-8")
    documents, counts = BuiltCorpus(str(tmp_path), one_per_line=True).read()
    n_left_out = sum(int(counts[f"n_left_out_{reason}"]) for reason in LEFT_OUT)
    assert len(documents) + n_left_out == counts["n_documents_read"] == 400
    assert counts["n_left_out_copy"] == 400 - len({"".join(line.split()) for line in lines}) > 0
    assert documents.ids[0] == "documents_hallu.txt_part_1:000001"
    assert "".join(documents.texts[0].split()) == "".join(lines[0].split())


def test_decomposed_characters_and_titles_are_normalized(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("---\ntitle: 'Cafe\u0301 \u202e x'\n---\nThe cafe\u0301 is closed on Mondays.")
    documents, counts = BuiltCorpus(str(tmp_path)).read()
    assert (documents.titles, documents.texts) == (["Café x"], ["The café is closed on Mondays."])
    assert counts["n_cleaned_unicode_nfc"] == 1


def test_empty_corpus_error_counts_the_excluded_documents(tmp_path: Path) -> None:
    write(tmp_path, a=" ", b="Too short.")
    (tmp_path / "c.docx").write_bytes(b"not read")
    with pytest.raises(
        DataError,
        match=r"none of the 2 documents remains \(1 empty, 1 too short, 0 too long, .*other kinds: 1 \.docx\)",
    ):
        BuiltCorpus(str(tmp_path)).read()


def test_duplicate_document_id_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"id": "1", "text": "x"}\n{"id": "1", "text": "y"}\n')
    with pytest.raises(DataError, match=r"the document id 'a\.jsonl/1' occurs twice"):
        BuiltCorpus(str(tmp_path)).read()


def test_invalid_corpus_settings_are_reported_before_reading(tmp_path: Path) -> None:
    assert "path: is empty" in BuiltCorpus().check()[0]
    problems = BuiltCorpus(
        str(tmp_path / "gone"), keep_structure=False, min_characters=9, max_characters=5, similarity=0.2
    ).check()
    assert [problem.split(":")[0] for problem in problems] == [
        "max_characters", "similarity", "cleaning.running_heads", "path"
    ]  # fmt: skip


def test_built_corpus_fingerprint_depends_on_content(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    before = BuiltCorpus(str(folder)).fingerprint()
    assert BuiltCorpus(str(write(folder, e="Too small."))).fingerprint() != before


READERS = "components.datasets.parsers.built_in.BuiltInReaders"


@pytest.mark.parametrize("name", ["files", "lines", "raw"])
def test_every_corpus_option_composes_and_builds(folder: Path, name: str) -> None:
    with initialize_config_dir(str(CONF), **BASE_VERSION):
        config = OmegaConf.to_container(
            compose(f"corpus/{name}", [f"corpus.path={folder}", f"+parser._target_={READERS}"]), resolve=True
        )
    assert isinstance(config, dict)
    corpus = build_component(config["corpus"], Source, "corpus")
    assert set(config["corpus"]) - {"_target_"} == set(vars(BuiltCorpus()))
    assert set(config["corpus"]["cleaning"]) - {"_target_"} == set(vars(Cleaning()))
    assert len(corpus.read()[0]) == {"files": 3, "lines": 3, "raw": 6}[name]
    if name == "files":
        assert corpus == BuiltCorpus(str(folder)), "the options of the YAML are those of the class"
