"""Search in a table of a real PostgreSQL with pgvector."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyarrow.parquet import read_table

from components.embedders.hashing import Hashing
from components.errors import ComponentError
from components.records import IndexedText, SpanTexts
from components.retrievers.pgvector import Pgvector
from runner.pipeline.corpus.cell_texts import choose_texts
from runner.pipeline.corpus.chunk_vectors import embed_all_blocks
from tests.extras import skip_without
from tests.retrievers.postgres_server import PASSWORD, postgres_server, programs
from tests.retrievers.test_retrievers import RetrieverContract
from tests.runner.sweeping import FEW_METRICS, cells_in, plan_small, read_or_make, run_small, small_request, store_of

skip_without("psycopg", extra="pgvector")
BINARIES = programs()
if BINARIES is None:
    pytest.skip("no PostgreSQL with pgvector is installed", allow_module_level=True)

SQL = "SELECT id, text FROM passages ORDER BY embedding <#> {vector}, id LIMIT {top_k}"
TEXTS = ("The bridge was opened in 1932.", "100 % of the red towers", "The harbour is deep.")
VECTORS = np.eye(3, dtype=np.float32)
RETRIEVER = Pgvector(sql=SQL, revision="1", embedder=Hashing(), text_field="text", id_field="id", dsn_env="TEST_DSN")


@pytest.fixture(scope="module")
def dsn() -> Iterator[str]:
    assert BINARIES
    with postgres_server(BINARIES) as string:
        filled(string, TEXTS, VECTORS)
        yield string


@pytest.fixture(autouse=True)
def _known(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_DSN", dsn)


def filled(string: str, texts: Sequence[str], vectors: Any, table: str = "passages") -> None:
    """Create a table of texts and vectors, whose ids are their positions."""
    import psycopg

    with psycopg.connect(string, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        connection.execute(
            f"CREATE TABLE {table} (id int, text text, source text, embedding vector({len(vectors[0])}))"
        )
        rows = [
            (i, text, "s", str(vector)) for i, (text, vector) in enumerate(zip(texts, vectors.tolist(), strict=True))
        ]
        connection.cursor().executemany(f"INSERT INTO {table} VALUES (%s, %s, %s, %s)", rows)


def find_texts(retriever: Pgvector, *queries: str, depth: int = 2) -> list[list[IndexedText]]:
    return list(retriever.find(queries or ("a", "b"), VECTORS[1:], depth))


class TestPgvector(RetrieverContract):
    component = RETRIEVER


def test_pgvector_query_finds_the_nearest_rows() -> None:
    first, second = find_texts(RETRIEVER)
    assert [(hit.id, hit.text) for hit in first] == [("1", TEXTS[1]), ("0", TEXTS[0])]
    assert [hit.id for hit in second] == ["2", "0"]


def test_pgvector_query_text_is_bound_as_a_parameter() -> None:
    by_words = replace(RETRIEVER, sql="SELECT * FROM passages WHERE text LIKE '%' || {query} || '%' LIMIT {top_k}")
    assert not by_words.reads_vectors
    queries = ("red", "'; DROP TABLE passages; --", "{top_k}", "% of")
    assert [[hit.id for hit in own] for own in by_words.find(queries, None, 5)] == [["1"], [], [], ["1"]]
    assert len(find_texts(RETRIEVER)) == 2


def test_pgvector_refuses_a_statement_that_writes() -> None:
    writing = "WITH gone AS (DELETE FROM passages RETURNING *) SELECT id, text, {vector} FROM gone LIMIT {top_k}"
    with pytest.raises(ComponentError, match="read-only transaction"):
        find_texts(replace(RETRIEVER, sql=writing))
    assert find_texts(RETRIEVER)[0]


def test_pgvector_reads_document_hints_from_a_column() -> None:
    hinting = replace(RETRIEVER, sql=SQL.replace("text", "text, source"), document_field="source")
    assert find_texts(hinting)[0][0].document == "s"


def test_pgvector_refuses_two_statements() -> None:
    with pytest.raises(ComponentError, match="multiple commands"):
        find_texts(replace(RETRIEVER, sql=f"SET transaction_read_only = off; {SQL}"))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"text_field": "body"}, "retriever.text_field: the statement returns no column 'body'; its columns: id, text"),
        ({"text_field": "id"}, "retriever.text_field: got a number in 'id', expected a string"),
        ({"sql": SQL.replace("passages", "nowhere")}, 'relation "nowhere" does not exist'),
        ({"sql": SQL.replace("id,", "key,")}, 'column "key" does not exist'),
        ({"sql": SQL.replace("ORDER", "WHERE pg_sleep(9) IS NULL ORDER"), "timeout_s": 0.1}, "retriever.timeout_s=0.1"),
    ],
)
def test_failed_pgvector_statement_is_one_clear_error(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ComponentError) as error:
        find_texts(replace(RETRIEVER, **fields))
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_pgvector_wrong_vector_dimension_names_the_embedder() -> None:
    with pytest.raises(ComponentError, match=r"different vector dimensions 3 and 256; the embedder's vectors have 256"):
        list(RETRIEVER.find(["a"], np.zeros((1, 256), dtype=np.float32), 2))


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (PASSWORD, "wr0ng-and-secret", "password authentication failed"),
        ("127.0.0.1", "127.0.0.2", "connection failed"),
        ("/postgres", "/nowhere", 'database "nowhere" does not exist'),
        ("postgresql://", "", "cannot connect"),
        ("tester:", "tester:x y z:", "cannot connect"),
    ],
)
def test_failed_pgvector_connection_does_not_show_the_password(
    before: str, after: str, message: str, dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_DSN", dsn.replace(before, after))
    with pytest.raises(ComponentError, match="cannot connect with the string in TEST_DSN") as error:
        find_texts(RETRIEVER)
    assert message in str(error.value)
    assert not any(secret in str(error.value) for secret in (PASSWORD, "wr0ng-and-secret"))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"sql": ""}, "sql: is empty"),
        ({"sql": "SELECT 1 LIMIT {top_k}"}, "sql: has neither {vector} nor {query}"),
        ({"sql": "SELECT {vector}"}, "sql: has no {top_k}"),
        ({"sql": "SELECT '%{query}%' LIMIT {top_k}"}, "sql: has {query} inside quotes"),
        ({"revision": " "}, "revision: is empty"),
        ({"dsn_env": "NOT_SET_HERE"}, "dsn_env: the environment variable NOT_SET_HERE is not set"),
        ({"dsn_env": "postgresql://a:b@c/d"}, "dsn_env: expected the name of an environment variable"),
        ({"timeout_s": 0.0}, "timeout_s: got 0.0"),
        ({"depth": 0}, "depth: got 0"),
    ],
)
def test_pgvector_rejects_invalid_settings(fields: dict[str, Any], message: str) -> None:
    (problem,) = replace(RETRIEVER, **fields).check()
    assert problem.startswith(message)
    assert "a:b" not in problem


@pytest.mark.parametrize(
    "password",
    [
        "Sum@mer9!",
        "Sum/mer9!",
        "Sum%mer9!",
        "Sum mer9!",
        "x/Y?mer9!",
        "Kj7%admer9!",
        "1/mer9!",
        "a@b/mer9!@",
        "a@mer9/x",
    ],
)
def test_pgvector_refuses_an_unreadable_address_without_showing_it(
    password: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_DSN", f"postgresql://rag:{password}@127.0.0.1:1/db")
    problems = RETRIEVER.check()
    if not problems:  # libpq reads "1" as the port, and the rest as the name of the database
        with pytest.raises(ComponentError) as raised:
            list(RETRIEVER.find(["q"], None, 1))
        problems = [str(raised.value)]
    assert "mer9" not in problems[0]


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("postgresql+psycopg://u:pw12345abc@h/db", "it begins with postgresql+psycopg://, expected postgresql://"),
        ("jdbc:postgresql://h/db", "it begins with jdbc:postgresql://, expected postgresql://"),
        ("postgresql://u:pw12345abc@h/db?schema=public", "it has the parameter schema, which libpq does not know."),
        ("'postgresql://u:pw12345abc@h/db'", "it is in quotes. Leave them out."),
        ("postgresql://u:pw1@2345abc@h/db", "its password may contain characters such as @ or /."),
    ],
)
def test_pgvector_says_why_libpq_cannot_read_an_address(
    address: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_DSN", address)
    (problem,) = RETRIEVER.check()
    assert f"which is not shown: {reason}" in problem
    assert "2345abc" not in problem


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://rag:Sum%40mer9!@127.0.0.1/db?target_session_attrs=any",
        "postgresql://rag:a[b]?#c@db:5432/rag",
        "postgresql://rag:pw@db:5432/rag?application_name=team@prod",
        "postgresql://db:5432/rag?user=me@server&password=x",
        "postgresql://rag@db:5432/rag?sslrootcert=/home/me@x/ca.pem",
        "postgresql://h1:5432,h2:5433/my@db",
        "postgresql://[::1]:5432/my@db",
        "host=db user=rag password=a@b/c",
    ],
)
def test_pgvector_accepts_addresses_that_libpq_reads(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_DSN", address)
    assert RETRIEVER.check() == []


def test_missing_psycopg_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    (problem,) = RETRIEVER.check()
    assert "psycopg" in problem
    assert "[pgvector]" in problem


DEMO = ("dataset=demo_en", "dataset.limit=null", "llm=none", *FEW_METRICS, "retriever.depth=10", "top_k=3")
OVER_TABLE = (
    "retriever=pgvector",
    "retriever.dsn_env=TEST_DSN",
    "retriever.revision=demo",
)


def over(table: str) -> tuple[str, ...]:
    statement = f"SELECT id, text FROM {table} ORDER BY embedding <#> {{vector}}, id LIMIT {{top_k}}"
    return (*OVER_TABLE, f'retriever.sql="{statement}"')


def demo_chunks(folder: Path) -> tuple[list[str], Any]:
    """Return the texts and the vectors of the chunks of `DEMO` with retriever=dense."""
    (planned,) = plan_small(folder, [*DEMO, "retriever=dense"]).cells
    cell, store = small_request(*DEMO, "retriever=dense").cell, store_of(folder)
    texts = choose_texts(cell, planned.graph.data, None)
    corpus, spans = read_or_make(texts.corpus, store), read_or_make(texts.chunks, store)
    vectors = read_or_make(embed_all_blocks(cell.embedder, texts.data, texts.chunks), store)
    return list(SpanTexts(corpus.texts, spans)), vectors


def retrieved(folder: Path) -> list[list[list[dict[str, Any]]]]:
    """Return the column `retrieved` of each cell."""
    places = [folder / "results" / "a-sweep" / cell.cell_id / "samples.parquet" for cell in cells_in(folder)]
    return [read_table(place)["retrieved"].to_pylist() for place in places]


def is_within(hit: dict[str, Any], chunk: dict[str, Any]) -> bool:
    """Return True for a chunk without the whitespace at its ends."""
    is_inside = chunk["start"] <= hit["start"] < hit["end"] <= chunk["end"]
    n_missing = (chunk["end"] - chunk["start"]) - (hit["end"] - hit["start"])
    return bool(hit["document_id"] == chunk["document_id"] and is_inside and n_missing <= 4)


def test_pgvector_demo_rankings_equal_the_exact_index(tmp_path: Path, dsn: str) -> None:
    texts, vectors = demo_chunks(tmp_path)
    filled(dsn, texts, vectors, "demo")
    assert run_small(tmp_path, [*DEMO, "retriever=dense", "vector_index=flat"], [*DEMO, *over("demo")]) == 0
    flat, table = retrieved(tmp_path)
    assert len(flat) == len(table) > 100
    for expected, own in zip(flat, table, strict=True):
        same = [next(i for i, one in enumerate(expected) if is_within(hit, one)) for hit in own]
        assert sorted(same) == list(range(10))
        scores = [expected[i]["score"] for i in same]
        np.testing.assert_allclose(scores, sorted(scores, reverse=True), atol=2e-6)  # the server rounds otherwise
        assert [hit["gold_grade"] for hit in own].count(None) == [hit["gold_grade"] for hit in expected].count(None)
    dense, pgvector = cells_in(tmp_path)
    assert pgvector.value("passage_coverage") == pytest.approx(dense.value("passage_coverage"), abs=0.01)
    assert pgvector.steps["retriever"] == {
        "n_hits": 10 * len(table),
        "n_not_in_corpus": 0,
        "n_near_copies": 0,
        "n_repeated": 0,
        "n_without_text": 0,
    }
