"""What became of the files of a corpus: what was read, what was cleaned, what was left out and why."""

from collections.abc import Mapping

from rich.console import Console

from components.records import Documents
from runner.datasets.description import lengths_of
from runner.datasets.tables import print_table

_LEFT_OUT, _CLEANED = "left_out", "cleaned"


def show_corpus(console: Console, documents: Documents, counts: Mapping[str, int | str]) -> None:
    """What `BuiltCorpus.read` gave, as small tables: the sizes, the steps of the cleaning, the reasons for leaving
    documents out, and what else was counted.
    """
    n_read = counts.get("n_documents_read", len(documents))
    console.print(f"{n_read:,} documents were read, {len(documents):,} are kept", markup=False)
    lengths = lengths_of(documents.texts)
    print_table(console, "Lengths in characters", tuple(lengths), [tuple(lengths.values())])
    for title, group in (("Cleaned", _CLEANED), ("Left out", _LEFT_OUT)):
        rows = [
            (name.replace("_", " "), n, counts[f"examples_{group}_{name}"]) for name, n in _numbers(counts, group) if n
        ]
        print_table(console, title, ("", "documents", "for example"), rows or [("none", 0, "")])
    told = ("n_documents_read", "n_documents_kept")
    others = [
        (name.removeprefix("n_").replace("_", " "), value)
        for name, value in counts.items()
        if value and name not in told and _LEFT_OUT not in name and _CLEANED not in name
    ]
    if others:
        print_table(console, "Files", ("", ""), others)


def _numbers(counts: Mapping[str, int | str], group: str) -> list[tuple[str, int | str]]:
    prefix = f"n_{group}_"
    return [(name.removeprefix(prefix), n) for name, n in counts.items() if name.startswith(prefix)]
