"""Loading time of a thread."""

import threading

import pytest

from components.loading import cache_slow_loader, loading, loading_seconds


class Clock:
    """A clock that advances on demand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("components.loading.time.perf_counter", clock)
    return clock


def test_nested_loading_is_counted_once(clock: Clock) -> None:
    @cache_slow_loader
    def vocabulary(name: str) -> str:
        clock.now += 2
        return name.upper()

    before = loading_seconds()
    with loading():
        clock.now += 3
        assert vocabulary("a") == "A"
    clock.now += 7
    assert vocabulary("a") == "A"
    assert loading_seconds() - before == 5


def test_failed_loading_is_counted(clock: Clock) -> None:
    @cache_slow_loader
    def broken() -> str:
        clock.now += 2
        raise OSError("no such file")

    before = loading_seconds()
    with pytest.raises(OSError):
        broken()
    assert loading_seconds() - before == 2


def test_loading_seconds_are_counted_per_thread(clock: Clock) -> None:
    def load() -> None:
        with loading():
            clock.now += 4

    before = loading_seconds()
    other = threading.Thread(target=load)
    other.start()
    other.join()
    assert loading_seconds() == before
