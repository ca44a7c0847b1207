"""What became of the files of a corpus, in the terminal."""

from pathlib import Path

from components.datasets.built_corpus import BuiltCorpus
from runner.datasets.corpus import show_corpus
from runner.display import SafeConsole


def test_what_was_cleaned_and_left_out_is_shown(tmp_path: Path) -> None:
    text = "The harbour bridge was opened to the public in 1932.\x1b[31m"
    for name, content in {"a.txt": text, "b.txt": text, "c[bold]\x1b.txt": "short", "e.docx": "not read"}.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    console = SafeConsole(width=200, record=True, quiet=False)
    with console.capture() as captured:
        show_corpus(console, *BuiltCorpus(str(tmp_path)).read())
    shown = captured.get()
    lines = [line.split() for line in shown.splitlines()]
    assert ["3", "documents", "were", "read,", "1", "are", "kept"] in lines
    assert ["unseen", "characters", "2", "a.txt,", "b.txt"] in lines
    assert ["too", "short", "1", "c[bold]\\x1b.txt"] in lines
    assert ["copy", "1", "b.txt", "(as", "a.txt)"] in lines
    assert ["files", "of", "other", "kinds", "1", ".docx"] in lines
    assert "near duplicate" not in shown, "reasons for which nothing was left out are not shown"
