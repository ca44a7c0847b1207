from pathlib import Path

import pytest

from components.errors import DamagedEntryError
from runner.engine.cache import Cache
from runner.engine.store import Store, StoredResult
from tests.runner.engine.fake_stages import Adder, Sum


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def store_sum(store: Store, number: int) -> tuple[Sum, StoredResult]:
    stage = Sum(Adder(number))
    return stage, store.write(stage.kind, stage.key, {"number": number}, seconds=0, made_from={})


def is_cached(cache: Cache, stage: Sum, entry: StoredResult) -> bool:
    """Return True if the result can be read while its files are moved away."""
    path = entry.folder / "number.json"
    away = path.rename(path.with_suffix(".away"))
    entry.compared.clear()
    try:
        return cache.get(stage, entry) == stage.component.amount
    except DamagedEntryError:
        return False
    finally:
        away.rename(path)


def test_cached_result_is_decoded_once(store: Store) -> None:
    cache = Cache()
    stage, entry = store_sum(store, 7)
    assert not is_cached(cache, stage, entry)
    assert cache.get(stage, entry) == 7
    assert is_cached(cache, stage, entry)


def test_result_put_into_the_cache_is_not_decoded(store: Store) -> None:
    cache = Cache()
    stage, entry = store_sum(store, 7)
    cache.put(stage, 7, entry.n_bytes)
    assert is_cached(cache, stage, entry)


def test_least_recently_used_result_is_evicted_first(store: Store) -> None:
    first, second, third, fourth = (store_sum(store, number) for number in range(1, 5))
    cache = Cache(max_bytes=3 * 3 * first[1].n_bytes)
    for stage, entry in (first, second, third, first, fourth):
        cache.get(stage, entry)
    assert [is_cached(cache, *each) for each in (first, third, fourth)] == [True, True, True]
    assert not is_cached(cache, *second)


def test_cache_keeps_the_last_two_results_regardless_of_size(store: Store) -> None:
    cache = Cache(max_bytes=1)
    first, second, third = (store_sum(store, number) for number in range(1, 4))
    for stage, entry in (first, second, third):
        cache.get(stage, entry)
    assert [is_cached(cache, *each) for each in (second, third)] == [True, True]
    assert not is_cached(cache, *first)


def test_result_cached_repeatedly_counts_once(store: Store) -> None:
    first, second, third = (store_sum(store, number) for number in range(1, 4))
    cache = Cache(max_bytes=3 * 3 * first[1].n_bytes)
    for _ in range(5):
        cache.put(first[0], 1, first[1].n_bytes)
    for stage, entry in (second, third):
        cache.get(stage, entry)
    assert is_cached(cache, *first)


def test_result_removed_from_the_cache_is_read_again(store: Store) -> None:
    cache = Cache()
    stage, entry = store_sum(store, 7)
    cache.put(stage, 8, entry.n_bytes)
    cache.forget(stage.key)
    assert cache.get(stage, entry) == 7
    cache.forget("not there")
