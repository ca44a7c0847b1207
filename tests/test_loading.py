"""Loading time of a thread."""

import threading

import pytest

from components.loading import cache_slow_loader, loading, seconds_of_loading


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

    before = seconds_of_loading()
    with loading():
        clock.now += 3
        assert vocabulary("a") == "A"
    clock.now += 7
    assert vocabulary("a") == "A"
    assert seconds_of_loading() - before == 5


def test_failed_loading_is_counted(clock: Clock) -> None:
    @cache_slow_loader
    def broken() -> str:
        clock.now += 2
        raise OSError("no such file")

    before = seconds_of_loading()
    with pytest.raises(OSError):
        broken()
    assert seconds_of_loading() - before == 2


def test_loading_seconds_are_counted_per_thread(clock: Clock) -> None:
    def load() -> None:
        with loading():
            clock.now += 4

    before = seconds_of_loading()
    other = threading.Thread(target=load)
    other.start()
    other.join()
    assert seconds_of_loading() == before
