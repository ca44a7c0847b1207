"""python -m benchmarks.crud_part ROOT FOLDER: writes a part of CRUD-RAG, for studies on small machines.

The part is in the published layout. It has all documents that contain gold, with the news of the QA items, and other
documents up to `--documents`. `crud_split/split_merged.json` has the items all of whose gold is in this corpus, which
retrieval metrics need. `crud_split/split_answers.json` has at most `--items` of each list, for models that are slow.
Its continuations have no gold: they are drawn from news that are not in the corpus, because the end of such a news text
is the reference answer.
"""

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from components.datasets.crud_rag import CrudRag
from components.datasets.crud_split import SUBSETS
from components.datasets.subsampling import draw
from components.json_value import Json

_SPLIT = Path("crud_split")
_MERGED = "split_merged.json"
_CONTINUATIONS = "create/continuation"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the part and print its sizes. Returns 0."""
    options = _parser().parse_args(arguments)
    sizes = write_part(options.root, options.folder, options.documents, options.items, options.seed)
    for name, size in sizes.items():
        print(f"{name}: {size:,}")
    return 0


def write_part(root: Path, folder: Path, n_documents: int, n_items: int, seed: int) -> dict[str, int]:
    """Write the part into `folder`, which must not exist. Returns the sizes of the corpus and of all lists."""
    benchmark = CrudRag(root=str(root), max_documents=n_documents, limit_seed=seed).load()
    known = set(benchmark.documents.ids)
    found = {
        sample.id for sample in benchmark.samples if sample.gold and all(u.document_id in known for u in sample.gold)
    }
    split: Mapping[str, list[dict[str, Json]]] = json.loads((root / _SPLIT / _MERGED).read_text(encoding="utf-8"))
    with_gold, few = {}, {}
    news_in_corpus = {an_id.rpartition("/")[2] for an_id in found}
    for subset, form in SUBSETS.items():
        records = split.get(form.list_name, [])
        with_gold[form.list_name] = [record for record in records if f"{subset}/{record['ID']}" in found]
        outside = [record for record in records if record["ID"] not in news_in_corpus]
        choices = outside if subset == _CONTINUATIONS else with_gold[form.list_name]
        few[form.list_name] = sorted(choices, key=lambda record: draw(seed, str(record["ID"])))[:n_items]
    (folder / "80000_docs").mkdir(parents=True)
    (folder / _SPLIT).mkdir()
    lines = (" ".join(text.splitlines()) for text in benchmark.documents.texts)
    (folder / "80000_docs" / "part").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    sizes = {"documents": len(benchmark.documents)}
    for file, lists in ((_MERGED, with_gold), ("split_answers.json", few)):
        (folder / _SPLIT / file).write_text(json.dumps(lists, ensure_ascii=False), encoding="utf-8")
        sizes |= {f"{file}, {name}": len(records) for name, records in lists.items()}
    return sizes


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.crud_part", description="Write a part of CRUD-RAG.")
    parser.add_argument("root", type=Path, help="folder with 80000_docs/ and crud_split/")
    parser.add_argument("folder", type=Path, help="folder to write")
    parser.add_argument(
        "--documents", type=int, default=600, metavar="N", help="of the corpus, at least (default: 600)"
    )
    parser.add_argument(
        "--items", type=int, default=7, metavar="N", help="of each list in split_answers.json (default: 7)"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="(default: 0)")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
