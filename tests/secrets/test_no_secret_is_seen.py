"""The short form of `python -m benchmarks secrets`: every place for a secret, and every way to fail at two of them."""

import random
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from benchmarks.secret_places import CONFIGURATION, ENVIRONMENT, PLACES, random_secret
from benchmarks.secret_search import leaks
from benchmarks.secrets import Trial, attempt
from tests.forked import ForkedCommand
from tests.runner.sweeping import end_group

_TIMEOUT_S = 120
_KEY, _PROXY = ENVIRONMENT[0], next(place for place in ENVIRONMENT if place.name == "HTTP_PROXY")


def forked(
    arguments: Sequence[str], folder: Path, environment: Mapping[str, str], is_killed: Callable[[], bool]
) -> tuple[int, str]:
    """A `Command` that is forked from a process that has loaded everything."""
    process = ForkedCommand("runner", arguments, folder, environment)
    limit = time.monotonic() + _TIMEOUT_S
    while process.poll(0.05) is None and time.monotonic() < limit and not is_killed():
        pass
    end_group(process)
    output, errors = process.communicate(timeout=10)
    assert process.returncode is not None
    return process.returncode, output + errors


def _chosen() -> list[Trial]:
    """All failures of a key and of a proxy, and one failure of every other place."""
    chance = random.Random(4)
    return [
        Trial(place, failure, random_secret(chance, place))
        for place in PLACES
        for failure in (place.failures if place in (_KEY, _PROXY) else place.failures[:1] or (None,))
    ]


@pytest.mark.parametrize("trial", _chosen(), ids=str)
def test_secret_appears_in_no_file_and_no_output(trial: Trial, tmp_path: Path) -> None:
    ended = attempt(trial, tmp_path, forked)
    assert ended.problem == ""
    assert ended.leaks == ()


def test_leak_trials_cover_every_kind_of_place() -> None:
    assert len(ENVIRONMENT) >= 10
    assert len(CONFIGURATION) >= 20
    assert len({place.name for place in PLACES}) == len(PLACES)


@pytest.mark.parametrize("secret", ["sk-Abc123Def456Ghi789", "p4/w:'\"#%é ~xyz0123"])
def test_leak_search_finds_a_secret_in_every_encoding(secret: str, tmp_path: Path) -> None:
    import base64
    import gzip
    import json
    import sqlite3

    import pyarrow as pa
    import pyarrow.parquet as pq

    pair = base64.b64encode(f"me:{secret}".encode()).decode()
    (tmp_path / "basic.txt").write_text(f"Authorization: Basic {pair}", encoding="utf-8")
    (tmp_path / "nested.json").write_text(json.dumps({"a": json.dumps({"b": secret})}), encoding="utf-8")
    (tmp_path / "log.gz").write_bytes(gzip.compress(repr({"key": secret}).encode()))
    pq.write_table(pa.table({"error": ["x" * 999 + secret]}), tmp_path / "t.parquet", compression="zstd")
    with sqlite3.connect(tmp_path / "db") as database:
        database.execute("create table t (v text)")
        database.execute("insert into t values (?)", [secret])
    database.close()
    (tmp_path / "cut.txt").write_text(secret[:-2], encoding="utf-8")
    found = {leak.place.partition(",")[0] for leak in leaks(tmp_path, "", secret)}
    assert found == {"basic.txt", "nested.json", "log.gz", "t.parquet", "db", "cut.txt"}
    assert leaks(tmp_path, "", "another-Secret-0815") == []
