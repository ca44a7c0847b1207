"""The pages of docs/: links, anchors, navigation, lines and words. tests/test_readme.py runs their commands."""

import json
import re
import shlex
from pathlib import Path

import pytest
import yaml

from runner.datasets import main

ROOT = Path(__file__).resolve().parent.parent
DOCS = sorted((ROOT / "docs").glob("*.md"))
AGENTS, LLMS = ROOT / "AGENTS.md", ROOT / "docs" / "llms.txt"
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", AGENTS, *DOCS]
MAX_LINE_CHARACTERS = 100
MAX_LINES_FOR_AGENTS = 80


def prose_of(page: Path) -> str:
    return re.sub(r"^( *)```.*?^\1```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """Return the anchors of the headings, as GitHub and MkDocs both make them."""
    headings = re.findall(r"^#+ (.+)$", prose_of(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


def links(page: Path) -> list[tuple[Path, str]]:
    """Files that a page links to, each with the anchor, or ""."""
    found = re.findall(r"\]\(([^)#:\s]*)(?:#([\w-]+))?\)", prose_of(page))
    return [((page.parent / path).resolve() if path else page, anchor) for path, anchor in found]


def navigation() -> list[str]:
    """The pages that `mkdocs.yml` lists. Its tags of other programs are read as nothing."""

    def pages(entry: object) -> list[str]:
        if isinstance(entry, str):
            return [entry]
        entries = entry.values() if isinstance(entry, dict) else entry
        assert hasattr(entries, "__iter__")
        return [page for item in entries for page in pages(item)]

    return pages(yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_and_anchors_of_pages_resolve(page: Path) -> None:
    broken = [
        f"{path.name}#{anchor}"
        for path, anchor in links(page)
        if not path.exists() or (anchor and anchor not in anchors(path))
    ]
    assert broken == []


@pytest.mark.parametrize("page", DOCS, ids=lambda page: page.stem)
def test_pages_link_only_to_pages_of_the_site(page: Path) -> None:
    outside = [str(path) for path, _ in links(page) if ROOT / "docs" not in path.parents]
    assert outside == []


@pytest.mark.parametrize("page", DOCS, ids=lambda page: page.stem)
def test_prose_lines_are_short(page: Path) -> None:
    lines = prose_of(page).splitlines()
    assert [line for line in lines if len(line) > MAX_LINE_CHARACTERS and not line.lstrip().startswith("|")] == []


@pytest.mark.parametrize("page", DOCS, ids=lambda page: page.stem)
def test_prose_has_no_private_words(page: Path) -> None:
    """Words that earlier pages used in place of: again, stored, reported, error, who."""
    prose = re.sub(r"`[^`]*`|\*[^*]*\*", "", prose_of(page))
    assert re.findall(r"\b(?:anew|kept|told|mistakes?|whoever)\b", prose, re.IGNORECASE) == []


@pytest.mark.parametrize("page", DOCS, ids=lambda page: page.stem)
def test_headings_of_a_page_are_unique(page: Path) -> None:
    headings = re.findall(r"^#+ (.+)$", prose_of(page), re.MULTILINE)
    assert len(headings) == len(set(headings))
    assert len(re.findall(r"^# ", prose_of(page), re.MULTILINE)) == 1


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_rows_of_a_table_have_the_columns_of_its_heading(page: Path) -> None:
    lines = [re.sub(r"`[^`]*`", "", line) for line in prose_of(page).splitlines()]
    tables = re.findall(r"(?:^\|.*\n?)+", "\n".join(lines), re.MULTILINE)
    widths = [{line.replace("\\|", "").count("|") for line in table.splitlines()} for table in tables]
    assert [table[:80] for table, found in zip(tables, widths, strict=True) if len(found) > 1] == []


def test_every_page_is_in_the_navigation_once() -> None:
    assert sorted(navigation()) == [page.name for page in DOCS]


def test_front_page_leads_to_every_page() -> None:
    linked = {path.name for path, _ in links(ROOT / "docs" / "index.md")}
    assert {page.name for page in DOCS} - linked == {"index.md", "api-records.md"}


def test_files_named_in_the_documentation_exist() -> None:
    folders = "analysis|components|conf|docs|runner|sweeps|tests"
    named = {name for page in PAGES for name in re.findall(rf"`((?:{folders})/[\w./]*)`", page.read_text("utf-8"))}
    assert len(named) > 10
    assert sorted(name for name in named if not (ROOT / name).exists()) == []


def test_pages_that_code_names_exist() -> None:
    sources = [
        path for folder in ("analysis", "components", "conf", "runner", "sweeps") for path in (ROOT / folder).rglob("*")
    ]
    named = {
        name
        for path in sources
        if path.suffix in {".py", ".yaml"}
        for name in re.findall(r"\bdocs/[\w-]+\.md", path.read_text(encoding="utf-8"))
    }
    assert len(named) > 5
    assert sorted(name for name in named if not (ROOT / name).exists()) == []


def test_glossary_is_sorted_and_defines_each_word_once() -> None:
    words = re.findall(r"^\| ([^|]+?) \| ", (ROOT / "docs/glossary.md").read_text("utf-8"), re.MULTILINE)[1:]
    assert words == sorted(set(words), key=str.lower)
    assert {"cell", "stage", "sweep", "subset", "scenario", "group", "gold", "verdict", "field", "arm"} <= set(words)


def test_api_pages_cover_the_public_modules() -> None:
    shown = {name for page in DOCS for name in re.findall(r"^::: ([\w.]+)$", page.read_text("utf-8"), re.MULTILINE)}
    modules = {
        f"components.{folder}.{path.stem}"
        for folder in ("protocols", "records")
        for path in (ROOT / "components" / folder).glob("*.py")
        if path.stem not in {"__init__", "lazy_sequence"}
    }
    assert modules | {"runner", "analysis"} <= shown
    assert {name for name in shown if re.match(r"components\.(protocols|records)\.", name)} <= modules


class TestPagesForCodingAgents:
    @pytest.mark.parametrize("page", [AGENTS, LLMS], ids=lambda page: page.name)
    def test_agent_page_is_short(self, page: Path) -> None:
        assert len(page.read_text(encoding="utf-8").splitlines()) <= MAX_LINES_FOR_AGENTS

    def test_llms_txt_has_the_form_of_llmstxt_org(self) -> None:
        """A title, a summary as a quote, prose without headings, then sections that are lists of links."""
        head, *sections = re.split(r"^## .+$", LLMS.read_text(encoding="utf-8"), flags=re.MULTILINE)
        assert re.match(r"# rag-grid\n\n> [^\n]+\n\n", head)
        assert re.findall(r"^#", head, re.MULTILINE) == ["#"]
        for section in sections:
            lines = section.strip().splitlines()
            assert lines
            assert [line for line in lines if not re.fullmatch(r"- \[[^]]+\]\([\w-]+/\): .+", line)] == []

    def test_links_of_llms_txt_lead_to_pages_with_their_titles(self) -> None:
        linked = re.findall(r"\[([^]]+)\]\(([\w-]+)/\)", LLMS.read_text(encoding="utf-8"))
        titles = {page.stem: page.read_text("utf-8").splitlines()[0].removeprefix("# ") for page in DOCS}
        assert [(title, name) for title, name in linked if titles.get(name) != title] == []
        assert titles.keys() - {name for _, name in linked} == {"index"}

    def test_files_named_for_agents_exist(self) -> None:
        named = re.findall(r"`(docs/[\w./-]+)`", AGENTS.read_text(encoding="utf-8"))
        assert len(named) > 3
        assert [name for name in named if not (ROOT / name).is_file()] == []


def test_documented_command_for_questions_from_a_table_writes_the_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (ROOT / "docs" / "own-data.md").read_text(encoding="utf-8")
    (command,) = re.findall(r"^python -m runner.datasets (table .*)$", page, re.MULTILINE)
    monkeypatch.chdir(tmp_path)
    rows = ['A-1,"When, then?",In 1932,a.md; b.md,,Rail', "A-2,Who?,,a.md,Ann did.,Rail", "A-3,Why?,,,,Rail"]
    head = "Ticket No,Customer question,Correct answer,Article,Sentence,Category"
    Path("questions.csv").write_text("\n".join([head, *rows]), encoding="utf-8-sig")  # as spreadsheets save it
    assert main(shlex.split(command)) == 0
    lines = map(json.loads, Path("questions.jsonl").read_text(encoding="utf-8").splitlines())
    paths, sentence, nothing = ({**line, "id": "", "topic": ""} for line in lines)
    common = {"id": "", "topic": ""}
    known = {"references": ["In 1932"], "gold_any": ["a.md", "b.md"], "subset": "document known"}
    assert paths == {**common, "question": "When, then?", **known}
    quoted = [{"document": "a.md", "quote": "Ann did."}]
    assert sentence == {**common, "question": "Who?", "gold": quoted, "subset": "sentence known"}
    assert nothing == {**common, "question": "Why?", "subset": "no gold"}
