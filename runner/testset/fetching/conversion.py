"""Downloaded files become a folder in BEIR's layout, uncompressed: corpus.jsonl, queries.jsonl and qrels.tsv.

queries.jsonl has only queries with a judgement of the split. The repositories put the queries of all splits into one
file, which can be 20 times the number needed.
"""

import gzip
import json
import zlib
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path

from components.datasets.beir_files import CORPUS, QUERIES, read_qrels
from components.datasets.data_files import read_jsonl, read_lines
from components.errors import DataError
from components.json_value import Json
from runner.testset.fetching.downloads import BLOCK, file_errors

QRELS = "qrels.tsv"

_QRELS_COLUMNS = ("query-id", "corpus-id", "score")
_QRELS_COLUMNS_OF_C_MTEB = ("qid", "pid", "score")
_TEXTS = ("text", "content", "query")
"""Columns of the text: BEIR's, and those of documents and queries of BRIGHT."""
_NONE_EXCLUDED = "N/A"
_N_ROWS = 1000


def convert(corpus: Sequence[Path], queries: Sequence[Path], qrels: Sequence[Path], folder: Path) -> tuple[int, int]:
    """Write the three files into `folder`. Return the numbers of queries that it has, and of those left out.

    Raises DataError for files that cannot be read, and if no query has a judgement.
    """
    _write_joined(corpus, folder / CORPUS, _as_document)
    _write_joined(qrels, folder / QRELS, _as_judgements, "\t".join(_QRELS_COLUMNS) + "\n")
    all_queries = folder / f"all-{QUERIES}"
    _write_joined(queries, all_queries, _as_document)
    counts = _write_judged(all_queries, read_qrels(folder / QRELS).scores.keys(), folder / QUERIES)
    with file_errors(all_queries):
        all_queries.unlink()
    return counts


def _write_joined(sources: Sequence[Path], target: Path, as_lines: Callable[[Json], str], header: str = "") -> None:
    """Write the content of text files as it is, and the rows of Parquet files as lines below the header."""
    with file_errors(target), target.open("xb") as stream:
        if sources[0].suffix == ".parquet":
            stream.write(header.encode())
        for source in sources:
            if source.suffix == ".parquet":
                for row in _rows(source):
                    stream.write(f"{as_lines(row)}\n".encode())
            else:
                for block in _blocks(source):
                    stream.write(block)


def _blocks(source: Path) -> Iterator[bytes]:
    is_compressed = source.suffix == ".gz"
    with file_errors(source), gzip.open(source) if is_compressed else source.open("rb") as stream:
        while True:
            try:
                block = stream.read(BLOCK)
            except (EOFError, zlib.error, gzip.BadGzipFile) as error:
                raise DataError(f"{source}: cannot be decompressed ({error}). Delete it and fetch it again.") from error
            if not block:
                return
            yield block


def _rows(source: Path) -> Iterator[Json]:
    from pyarrow import ArrowException
    from pyarrow.parquet import ParquetFile

    try:
        with ParquetFile(source) as table:
            for batch in table.iter_batches(_N_ROWS):
                yield from batch.to_pylist()
    except ArrowException as error:
        raise DataError(f"{source}: is not a readable Parquet file ({error}). Delete it and fetch it again.") from error


def _as_document(row: Json) -> str:
    text = next((row[name] for name in _TEXTS if row.get(name)), "")
    names = {"_id": row.get("_id", row.get("id")), "title": row.get("title") or "", "text": text}
    return json.dumps(names, ensure_ascii=False)


def _as_judgements(row: Json) -> str:
    if "gold_ids" in row:
        return _convert_bright_judgements(row)
    named = next((names for names in (_QRELS_COLUMNS, _QRELS_COLUMNS_OF_C_MTEB) if row.keys() >= set(names)), row)
    cells = [row[name] for name in named]
    return "\t".join(map(str, cells))


def _convert_bright_judgements(row: Json) -> str:
    if excluded := set(row.get("excluded_ids") or ()) - {_NONE_EXCLUDED}:
        raise DataError(
            f"query {row['id']}: {len(excluded)} documents are excluded from its results, which is not supported"
        )
    return "\n".join(f"{row['id']}\t{document}\t1" for document in dict.fromkeys(row["gold_ids"]))


def _write_judged(source: Path, judged: Collection[str], target: Path) -> tuple[int, int]:
    """Copy the lines of judged queries. Return the numbers of lines copied and left out."""
    expected = "BEIR's queries, one {_id, text} per line"
    ids = {number: query.get("_id") for number, query in read_jsonl(source, expected) if isinstance(query, dict)}
    n_copied = n_left_out = 0
    with file_errors(target), target.open("x", encoding="utf-8", newline="\n") as stream:
        for number, line in read_lines(source, expected):
            if str(ids.get(number)) in judged:
                stream.write(f"{line}\n")
                n_copied += 1
            elif line.strip():
                n_left_out += 1
    if not n_copied:
        raise DataError(
            f"{source}: none of its {n_left_out:,} queries has a judgement, expected ids like those of qrels"
        )
    return n_copied, n_left_out
