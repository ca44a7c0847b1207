"""A process that lost its lock while it did not run sends no further request, and waits for the new holder."""

import threading
import time
from pathlib import Path

import pytest

from components.openai_server.limiter import Account, Attempt, Tokens, current_limiter
from runner.engine.store import Store
from runner.engine.store.writers import Writers
from runner.engine.worker import Worker
from tests.runner.engine.fake_stages import Sum, add

ATTEMPT = Attempt(Account("host", "model", "KEY"), Tokens(1, 1), 1.0)


class Loser:
    """A computation of two requests. While it sends the first, another process takes its lock."""

    def __init__(self, lock: Path, holder: Writers) -> None:
        self.lock, self.holder = lock, holder
        self.n_sent = self.n_begun = 0

    def __call__(self, stage: Sum, run: object) -> int:
        self.n_begun += 1
        for number in range(2):
            current_limiter().admit(ATTEMPT)
            self.n_sent += 1
            if self.n_begun == 1 and number == 0:
                self.lock.unlink()
                self.lock.symlink_to(f"{self.holder.own_name}:01234567")
        return 3


def test_worker_that_lost_its_lock_waits_for_the_new_holder(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = Store(tmp_path / "store", "run")
    stage = Sum()
    lock = store.root / "locks" / f"{stage.key}.lock"
    loser = Loser(lock, store.writers)
    losing = Sum(compute=loser)
    assert losing.key == stage.key
    waiting = threading.Thread(target=lambda: Worker(store).run(losing), daemon=True)
    waiting.start()
    deadline = time.monotonic() + 10
    while "its lock was removed, or another process took it" not in caplog.text and time.monotonic() < deadline:
        time.sleep(0.01)
    assert (loser.n_begun, loser.n_sent) == (1, 1)
    lock.unlink()
    waiting.join(10)
    assert not waiting.is_alive()
    assert (loser.n_begun, loser.n_sent) == (2, 3)  # the result was not stored, so this process computes it
    assert store.find(stage.kind, stage.key)


def test_worker_that_lost_its_lock_uses_the_result_of_the_new_holder(tmp_path: Path) -> None:
    store = Store(tmp_path / "store", "run")
    stage = Sum()
    loser = Loser(store.root / "locks" / f"{stage.key}.lock", store.writers)

    def lose(losing: Sum, run: object) -> int:
        try:
            return loser(losing, run)
        finally:
            write_result_of_another(store, stage)

    run = Worker(store).run(Sum(compute=lose))
    assert (run.reused, run.failed, loser.n_sent) == (True, False, 1)


def write_result_of_another(store: Store, stage: Sum) -> None:
    store.write(stage.kind, stage.key, stage.codec.encode(add(stage, None)), seconds=1.0, made_from={})  # type: ignore[arg-type]
