"""`python -m runner.datasets fetch`: a published data set from the hub, whole or not at all."""

import errno
import gzip
import hashlib
import io
import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pyarrow
import pytest
from filelock import FileLock
from pyarrow import parquet

from components.datasets import named_sets
from components.datasets.beir import Beir
from components.datasets.named_sets import NAMED_SETS, Pin
from components.errors import ConfigError, DataError
from runner.datasets import main
from runner.testset.fetching import downloads, fetching
from runner.testset.fetching.hub import next_hub_address
from tests.runner.testset.fetching.hub_server import (
    COMMIT,
    CORPUS,
    JUDGEMENTS,
    QRELS,
    QRELS_COMMIT,
    QUERIES,
    TEXTS,
    HubServer,
    hub_server,
)

TOKEN = "hf_Zx81kQpLw20vbNtY"


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "data"
    monkeypatch.setenv("RAG_GRID_DATA", str(folder))
    monkeypatch.setattr(downloads, "_WAIT_S", 0.0)
    for name in ("HF_TOKEN", "HF_HUB_OFFLINE", "HF_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)
    return folder


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    with hub_server() as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        yield server


def table(*rows: Mapping[str, object]) -> bytes:
    stream = io.BytesIO()
    parquet.write_table(pyarrow.Table.from_pylist(list(rows)), stream)
    return stream.getvalue()


def fetch(*arguments: str) -> int:
    return main(["fetch", *arguments])


def error_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one line that a fetch fails with."""
    assert fetch(*(arguments or ("scifact",))) == 2
    (line,) = capsys.readouterr().err.splitlines()
    return line


def sets(data: Path) -> list[str]:
    """The finished sets."""
    return sorted(path.parent.name for path in data.glob("scifact/*/manifest.json"))


def pin(monkeypatch: pytest.MonkeyPatch, **fields: object) -> None:
    monkeypatch.setitem(NAMED_SETS, "scifact", replace(NAMED_SETS["scifact"], **fields))


class TestFetched:
    def test_fetched_set_contains_only_judged_queries(
        self, hub: HubServer, data: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert fetch("scifact") == 0
        folder = data / "scifact" / COMMIT
        assert (folder / "corpus.jsonl").read_bytes() == CORPUS
        assert (folder / "qrels.tsv").read_bytes() == QRELS
        assert (folder / "queries.jsonl").read_bytes() == b"".join(QUERIES.splitlines(keepends=True)[::2])
        assert sorted(path.name for path in folder.parent.iterdir()) == [".lock", COMMIT]
        printed = capsys.readouterr().out
        assert f"BeIR/scifact: revision {COMMIT}, licence cc-by-sa-4.0" in printed
        assert "pins no revision and no hashes" in printed

    def test_fetch_manifest_records_revisions_and_hashes(self, hub: HubServer, data: Path) -> None:
        assert fetch("scifact") == 0
        manifest = json.loads((data / "scifact" / COMMIT / "manifest.json").read_text())
        downloaded = gzip.compress(CORPUS, mtime=0)
        assert manifest["sources"][TEXTS]["files"]["corpus.jsonl.gz"] == {
            "sha256": hashlib.sha256(downloaded).hexdigest(),
            "n_bytes": len(downloaded),
        }
        assert manifest["sources"][JUDGEMENTS]["revision"] == QRELS_COMMIT
        assert manifest["files"]["corpus.jsonl"]["sha256"] == hashlib.sha256(CORPUS).hexdigest()
        assert (manifest["n_queries"], manifest["n_queries_left_out"]) == (2, 1)

    def test_second_fetch_checks_the_files_without_requests(
        self, hub: HubServer, data: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert fetch("scifact") == 0
        hub.requests.clear()
        assert fetch("scifact") == 0
        assert "match manifest.json" in capsys.readouterr().out
        file = data / "scifact" / COMMIT / "qrels.tsv"
        file.write_bytes(QRELS.replace(b"q3\td2\t1", b"q3\td2\t2"))
        assert f"{file}: is corrupted" in error_of(capsys)
        assert hub.requests == []

    def test_uncompressed_data_files_are_fetched(self, hub: HubServer, data: Path) -> None:
        hub.repositories[TEXTS] = (COMMIT, {"corpus.jsonl": CORPUS, "queries.jsonl": QUERIES})
        assert fetch("scifact") == 0
        assert (data / "scifact" / COMMIT / "corpus.jsonl").read_bytes() == CORPUS

    def test_parquet_data_files_are_fetched(self, hub: HubServer, data: Path) -> None:
        documents, queries = (list(map(json.loads, text.splitlines())) for text in (CORPUS, QUERIES))
        for query in queries:
            query.pop("metadata", None)
        rows = [line.split("\t") for line in QRELS.decode().splitlines()[1:]]
        hub.repositories = {
            TEXTS: (
                COMMIT,
                {
                    "corpus/corpus-00001-of-00002.parquet": table(*documents[1:]),
                    "corpus/corpus-00000-of-00002.parquet": table(*documents[:1]),
                    "queries/queries-00000-of-00001.parquet": table(*queries),
                },
            ),
            JUDGEMENTS: (
                QRELS_COMMIT,
                {
                    "data/test-00000-of-00001.parquet": table(
                        *({"query-id": q, "corpus-id": d, "score": int(score)} for q, d, score in rows)
                    )
                },
            ),
        }
        assert fetch("scifact") == 0
        folder = data / "scifact" / COMMIT
        assert (folder / "corpus.jsonl").read_bytes() == CORPUS
        assert (folder / "qrels.tsv").read_bytes() == QRELS
        queries_written = (folder / "queries.jsonl").read_text().splitlines()
        assert [json.loads(line)["_id"] for line in queries_written] == ["q1", "q3"]

    def test_data_in_the_c_mteb_layout_is_fetched(
        self, hub: HubServer, data: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Documents and queries in one folder, without titles; judgements with columns of another order."""
        hub.repositories = {
            "C-MTEB/T2Retrieval": (
                COMMIT,
                {
                    "data/corpus-00000-of-00001-8afe7b7a7eca49e3.parquet": table(
                        {"id": "d1", "text": "大桥于1932年通车。"}, {"id": "d2", "text": "港口很深。"}
                    ),
                    "data/queries-00000-of-00001-930bf3b805a80dd9.parquet": table({"id": "q1", "text": "何时通车?"}),
                },
            ),
            "C-MTEB/T2Retrieval-qrels": (
                QRELS_COMMIT,
                {"data/dev-00000-of-00001-92ed7a05b5c9ae1b.parquet": table({"pid": "d1", "qid": "q1", "score": 1})},
            ),
        }
        assert fetch("T2Retrieval") == 0
        shown = " ".join(capsys.readouterr().out.split())
        assert "dataset=beir dataset.name=T2Retrieval language=zh" in shown
        assert (data / "T2Retrieval" / COMMIT / "qrels.tsv").read_text() == "query-id\tcorpus-id\tscore\nq1\td1\t1\n"
        benchmark = Beir(name="T2Retrieval").load()
        assert list(benchmark.documents.texts) == ["大桥于1932年通车。", "港口很深。"]
        assert [sample.question for sample in benchmark.samples] == ["何时通车?"]

    def test_default_data_folder_is_in_the_cache(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("RAG_GRID_DATA")
        monkeypatch.setenv("HOME", "/home/ada")
        assert named_sets.data_folder() == Path("/home/ada/.cache/rag-grid/data")


class TestDataset:
    def test_dataset_name_resolves_to_the_fetched_folder(self, hub: HubServer, data: Path) -> None:
        assert fetch("scifact") == 0
        by_name, by_root = Beir(name="scifact"), Beir(root=str(data / "scifact" / COMMIT))
        assert by_name.check() == []
        assert by_name.fingerprint() == by_root.fingerprint()
        assert [sample.question for sample in by_name.load().samples] == ["When was it opened?", "How deep is it?"]

    def test_name_that_was_not_fetched_names_the_command(self) -> None:
        for use in (Beir(name="scifact").fingerprint, Beir(name="scifact").load):
            with pytest.raises(DataError, match=r"python -m runner.datasets fetch scifact"):
                use()

    def test_unknown_name_without_a_folder_lists_the_names(self) -> None:
        (problem,) = Beir(name="scifcat").check()
        assert "nfcorpus" in problem
        assert "got 'scifcat'" in problem
        with pytest.raises(ConfigError):
            Beir(name="scifcat").load()

    def test_two_fetched_revisions_require_a_choice(self, hub: HubServer, data: Path) -> None:
        assert fetch("scifact") == 0
        shutil.copytree(data / "scifact" / COMMIT, data / "scifact" / ("c3" * 20))
        with pytest.raises(DataError, match=r"has 2 revisions of scifact .* Choose one with dataset.root="):
            Beir(name="scifact").load()


class TestBrokenOff:
    def test_fetch_continues_after_two_broken_connections(self, hub: HubServer, data: Path) -> None:
        hub.cut["corpus.jsonl.gz"] = [30, 20]
        assert fetch("scifact") == 0
        assert hub.ranges("corpus.jsonl.gz") == ["", "bytes=30-", "bytes=50-"]
        assert (data / "scifact" / COMMIT / "corpus.jsonl").read_bytes() == CORPUS

    def test_later_fetch_resumes_a_download_at_the_same_revision(
        self, hub: HubServer, data: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        hub.cut["corpus.jsonl.gz"] = [30, *[0] * 5]
        assert "the download stopped 5 times at byte 30" in error_of(capsys)
        assert sets(data) == []
        assert fetch("scifact") == 0
        assert hub.ranges("corpus.jsonl.gz")[-1] == "bytes=30-"
        assert hub.requests[-5][0].endswith(f"/revision/{COMMIT}")
        assert sets(data) == [COMMIT]

    def test_full_disk_at_the_next_attempt_keeps_the_partial_download(
        self, hub: HubServer, data: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        hub.cut["corpus.jsonl.gz"] = [30, *[0] * 5]
        error_of(capsys)

        def full(path: Path, *_: object, **__: object) -> None:
            path.open("w").close()
            raise OSError(errno.ENOSPC, "No space left on device")

        with monkeypatch.context() as patched:
            patched.setattr(Path, "write_text", full)
            patched.setattr(Path, "write_bytes", full)
            assert "no space left on the device" in error_of(capsys)
        assert fetch("scifact") == 0
        assert hub.ranges("corpus.jsonl.gz")[-1] == "bytes=30-"

    def test_server_without_ranges_resends_the_whole_file(
        self, hub: HubServer, data: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        sent = fetching.Hub.open
        monkeypatch.setattr(fetching.Hub, "open", lambda self, repo, path, start: sent(self, repo, path, 0))
        hub.cut["corpus.jsonl.gz"] = [30]
        assert fetch("scifact") == 0
        assert (data / "scifact" / COMMIT / "corpus.jsonl").read_bytes() == CORPUS

    def test_server_error_of_a_fetch_names_the_status(
        self, hub: HubServer, data: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        hub.status = 503
        assert "status 503" in error_of(capsys)


class TestFailures:
    def test_corrupted_file_is_deleted_and_fetched_again(
        self, hub: HubServer, data: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        for file, kind in (("corpus.jsonl.gz", "SHA-256"), ("test.tsv", "git hash")):
            hub.corrupted.append(file)
            assert f"is corrupted: its {kind} is" in error_of(capsys)
            assert sets(data) == []
        assert fetch("scifact") == 0
        assert (data / "scifact" / COMMIT / "corpus.jsonl").read_bytes() == CORPUS

    def test_different_commit_from_the_hub_is_rejected(
        self, hub: HubServer, data: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        hub.named_commit = "c3" * 20
        assert f"the hub sent commit {'c3' * 20}, not the requested one" in error_of(capsys)
        assert sets(data) == []

    def test_missing_pinned_revision_is_reported(
        self, hub: HubServer, data: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        pin(monkeypatch, revision="d4" * 20)
        assert f"BeIR/scifact at revision {'d4' * 20}: {hub.url} does not have it" in error_of(capsys)
        assert sets(data) == []

    def test_commit_that_is_a_path_is_rejected(
        self, hub: HubServer, data: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        hub.repositories[TEXTS] = ("../../../outside", hub.repositories[TEXTS][1])
        assert "sent no list of the files" in error_of(capsys)
        assert sets(data) == []

    def test_pinned_hash_overrides_the_hash_of_the_hub(
        self, hub: HubServer, data: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        content = hub.repositories[TEXTS][1]["corpus.jsonl.gz"]
        right = Pin(hashlib.sha256(content).hexdigest(), len(content))
        pin(monkeypatch, revision=COMMIT, pins={"corpus.jsonl.gz": replace(right, sha256="0" * 64)})
        assert f"expected {'0' * 64}" in error_of(capsys)
        pin(monkeypatch, revision=COMMIT, pins={"corpus.jsonl.gz": right})
        assert fetch("scifact") == 0
        assert sets(data) == [COMMIT]

    @pytest.mark.parametrize("at", [("downloads", "corpus-00000.jsonl.gz"), ("set", "corpus.jsonl")])
    def test_full_device_is_reported_and_leaves_no_partial_set(
        self,
        at: tuple[str, str],
        hub: HubServer,
        data: Path,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        really_open = Path.open

        def full(path: Path, mode: str = "r", **options: object) -> object:
            if path.parts[-2:] == at and mode in ("ab", "xb"):
                raise OSError(errno.ENOSPC, "No space left on device")
            return really_open(path, mode, **options)  # type: ignore[call-overload]

        with monkeypatch.context() as patched:
            patched.setattr(Path, "open", full)
            assert f"{at[1]}: no space left on the device" in error_of(capsys)
        assert sets(data) == []
        assert not (data / "scifact" / ".partial" / "set").exists()
        assert fetch("scifact") == 0

    def test_download_larger_than_the_free_space_is_refused(
        self, hub: HubServer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        usage = shutil.disk_usage("/")._replace(free=3)
        monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
        assert "no space: the download needs" in error_of(capsys)
        assert hub.ranges("corpus.jsonl.gz") == []

    def test_missing_file_error_lists_files_of_the_repository(
        self, hub: HubServer, capsys: pytest.CaptureFixture[str]
    ) -> None:
        hub.repositories[JUDGEMENTS] = (QRELS_COMMIT, {"train.tsv": QRELS})
        assert "BeIR/scifact-qrels: expected test.tsv" in (line := error_of(capsys))
        assert "it has: train.tsv" in line

    def test_denied_access_suggests_a_token(self, hub: HubServer, capsys: pytest.CaptureFixture[str]) -> None:
        hub.status = 401
        assert "denies access (status 401). Set HF_TOKEN" in error_of(capsys)

    def test_fetch_rejects_judgements_of_other_queries(
        self, hub: HubServer, data: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        hub.repositories[JUDGEMENTS] = (QRELS_COMMIT, {"test.tsv": b"x\td1\t1\n"})
        assert "none of its 3 queries has a judgement" in error_of(capsys)
        assert sets(data) == []

    def test_concurrent_fetch_of_one_set_is_refused(
        self, hub: HubServer, data: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (data / "scifact").mkdir(parents=True)
        with FileLock(data / "scifact" / ".lock"):
            assert "another process is fetching" in error_of(capsys)

    @pytest.mark.parametrize(
        ("name", "hint"),
        [
            ("../scifact", "did you mean scifact?"),
            ("/etc", "expected one of CmedqaRetrieval"),
            ("scifact/../nq", "did you mean scifact?"),
            ("", "expected one of CmedqaRetrieval"),
            ("SciFact", "did you mean scifact?"),
        ],
    )
    def test_unknown_data_set_name_suggests_known_names(
        self, name: str, hint: str, data: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert hint in error_of(capsys, name)
        assert not data.exists()


class TestOffline:
    def test_unreachable_hub_error_names_the_files_and_the_command(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
        line = error_of(capsys)
        for part in (
            "127.0.0.1:9 cannot be reached",
            "/datasets/BeIR/scifact/resolve/main/corpus.jsonl.gz",
            "/datasets/BeIR/scifact/resolve/main/queries.jsonl.gz",
            "/datasets/BeIR/scifact-qrels/resolve/main/test.tsv",
            "python -m runner.datasets fetch scifact --from FOLDER",
        ):
            assert part in line

    def test_offline_variable_prevents_all_requests(
        self, hub: HubServer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("HF_HUB_OFFLINE", "1")
        assert "HF_HUB_OFFLINE is set" in error_of(capsys)
        assert hub.requests == []

    def test_files_downloaded_by_hand_are_accepted(
        self, tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("HF_HUB_OFFLINE", "1")
        folder = tmp_path / "downloaded"
        folder.mkdir()
        (folder / "corpus.jsonl.gz").write_bytes(gzip.compress(CORPUS))
        (folder / "queries.jsonl").write_bytes(QUERIES)
        (folder / "test.tsv").write_bytes(QRELS)
        assert fetch("scifact", "--from", str(folder)) == 0
        assert sets(data) == ["by-hand"]
        assert len(Beir(name="scifact").load().samples) == 2

    def test_damaged_file_downloaded_by_hand_is_rejected(
        self, tmp_path: Path, data: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        for name, content in (("corpus.jsonl.gz", gzip.compress(CORPUS)[:-9]), ("queries.jsonl", QUERIES)):
            (tmp_path / name).write_bytes(content)
        (tmp_path / "test.tsv").write_bytes(QRELS)
        assert "cannot be decompressed" in error_of(capsys, "scifact", "--from", str(tmp_path))
        assert sets(data) == []


def bright(excluded: list[str]) -> dict[str, bytes]:
    examples = table(
        {"id": "0", "query": "Why do moths circle lamps?", "gold_ids": ["moths/1", "moths/2", "moths/1"]}
        | {"excluded_ids": ["N/A"], "gold_ids_long": ["moths"], "reasoning": "They orient by the light."},
        {"id": "1", "query": "Why is blood red?", "gold_ids": ["blood/1"], "excluded_ids": excluded}
        | {"gold_ids_long": ["blood"], "reasoning": "Iron."},
    )
    documents: list[dict[str, object]] = [
        {"id": name, "content": f"About {name}."} for name in ("moths/1", "moths/2", "blood/1", "other")
    ]
    return {
        "README.md": b"",
        "documents/biology-00000-of-00002.parquet": table(*documents[:3]),
        "documents/biology-00001-of-00002.parquet": table(*documents[3:]),
        "documents/pony-00000-of-00001.parquet": table({"id": "p", "content": "Pony"}),
        "examples/biology-00000-of-00001.parquet": examples,
        "long_documents/biology-00000-of-00001.parquet": table({"id": "moths", "content": "Moths"}),
    }


class TestBright:
    def test_bright_task_has_its_documents_and_judgements(self, hub: HubServer, data: Path) -> None:
        hub.repositories["xlangai/BRIGHT"] = (COMMIT, bright(["N/A"]))
        assert fetch("bright-biology") == 0
        loaded = Beir(name="bright-biology").load()
        assert set(loaded.documents.texts) == {"About moths/1.", "About moths/2.", "About blood/1.", "About other."}
        assert [each.question for each in loaded.samples] == ["Why do moths circle lamps?", "Why is blood red?"]
        judgements = (data / "bright-biology" / COMMIT / "qrels.tsv").read_text(encoding="utf-8").splitlines()
        assert judgements[1:] == ["0\tmoths/1\t1", "0\tmoths/2\t1", "1\tblood/1\t1"]
        assert not any("pony" in path or "long" in path for path, _ in hub.requests)

    def test_bright_task_with_excluded_documents_is_refused(
        self, hub: HubServer, data: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        hub.repositories["xlangai/BRIGHT"] = (COMMIT, bright(["moths/1"]))
        assert "query 1: 1 documents are excluded from its results" in error_of(capsys, "bright-biology")
        assert sets(data) == []

    def test_offline_bright_error_names_both_addresses(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, data: Path
    ) -> None:
        monkeypatch.setenv("HF_HUB_OFFLINE", "1")
        line = error_of(capsys, "bright-biology")
        for place in ("documents", "examples"):
            assert line.count(f"/datasets/xlangai/BRIGHT/resolve/main/{place}/biology-00000-of-00001.parquet") == 1
        for path, content in bright(["N/A"]).items():
            (tmp_path / "got" / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "got" / path).write_bytes(content)
        assert fetch("bright-biology", "--from", str(tmp_path / "got")) == 0
        assert len(Beir(name="bright-biology").load().samples) == 2


class TestToken:
    def test_hub_token_is_sent_only_to_the_hub(self, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HF_TOKEN", TOKEN)
        with hub_server(content_elsewhere=True) as hub:
            monkeypatch.setenv("HF_ENDPOINT", hub.url)
            assert fetch("scifact") == 0
        own = [headers.get("authorization") for address, headers in hub.requests if address.startswith(hub.url)]
        other = [headers for address, headers in hub.requests if address.startswith(hub.content_url)]
        assert own == [f"Bearer {TOKEN}"] * 5
        assert len(other) == 3
        assert TOKEN not in str(other)

    def test_hub_token_appears_in_no_file_or_message(
        self, hub: HubServer, data: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("HF_TOKEN", TOKEN)
        hub.corrupted.append("corpus.jsonl.gz")
        assert fetch("scifact") == 2
        assert fetch("scifact") == 0
        assert TOKEN not in str(capsys.readouterr())
        written = [path.read_bytes() for path in data.rglob("*") if path.is_file()]
        assert len(written) > 3
        assert not any(TOKEN.encode() in content for content in written)

    def test_hub_address_with_a_password_is_rejected(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("HF_ENDPOINT", f"https://ada:{TOKEN}@127.0.0.1/")
        assert "HF_ENDPOINT: contains a user name or password" in (line := error_of(capsys))
        assert TOKEN not in line


def test_redirect_without_https_is_not_followed() -> None:
    for there in ("http://127.0.0.1/file", "ftp://127.0.0.1/file", "file:///etc/passwd", "http://[", "//a:port/"):
        with pytest.raises(DataError):
            next_hub_address("https://huggingface.co/file", there, "a file")
    assert next_hub_address("https://huggingface.co/a", "https://cdn.hf.co/b", "a file") == "https://cdn.hf.co/b"
