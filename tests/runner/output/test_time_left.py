"""Estimates of the time left, with a clock that the test moves."""

from dataclasses import dataclass

import pytest

from runner.output.time_left import TimeLeft, time_left_text


@dataclass(frozen=True)
class FakeStage:
    key: str
    kind: str
    models: frozenset[str] = frozenset()


def fast_and_slow(n: int) -> list[FakeStage]:
    return [FakeStage(f"{kind}{i}", kind) for i in range(n) for kind in ("fast", "slow")]


def test_time_left_uses_the_mean_of_each_stage_kind() -> None:
    left = TimeLeft(fast_and_slow(4), now=0.0)
    for i in range(4):
        left.record_end(f"fast{i}", 1.0)
    left.record_end("slow0", 16.0)  # 5 of 8 stages are done, but 20 of 68 seconds
    assert left.seconds_of_sweep(20.0) == pytest.approx(48.0)


def test_two_workers_halve_the_time_left() -> None:
    left = TimeLeft(fast_and_slow(4), now=0.0)
    for key, seconds in (("fast0", 4.0), ("fast1", 4.0), ("slow0", 16.0), ("slow1", 16.0)):
        left.record_end(key, seconds)
    assert left.seconds_of_sweep(20.0) == pytest.approx(20.0)


def test_unmeasured_stage_kind_allows_no_time_estimate() -> None:
    left = TimeLeft(fast_and_slow(2), now=0.0)
    left.record_end("fast0", 30.0)
    assert left.seconds_of_sweep(30.0) is None
    left.record_end("slow0", 30.0)
    assert left.seconds_of_sweep(60.0) == pytest.approx(60.0)


def test_time_of_a_kind_with_another_model_is_unknown() -> None:
    order = [FakeStage("a", "answers", frozenset({"small"})), FakeStage("b", "answers", frozenset({"large"}))]
    left = TimeLeft(order, now=0.0)
    left.record_end("a", 30.0)
    assert left.seconds_of_sweep(30.0) is None


def test_time_left_is_unknown_in_the_first_seconds_and_stages() -> None:
    left = TimeLeft([FakeStage(str(i), "stage") for i in range(100)], now=0.0)
    left.record_end("0", 4.0)
    assert left.seconds_of_sweep(4.0) is None
    for i in (1, 2, 3):
        left.record_end(str(i), 4.0)
    assert left.seconds_of_sweep(16.0) is None
    left.record_end("4", 4.0)
    assert left.seconds_of_sweep(20.0) == pytest.approx(380.0)


def test_running_stage_is_measured_from_its_first_report() -> None:
    left = TimeLeft([FakeStage("a", "answers"), FakeStage("b", "answers")], now=0.0)
    left.update("a", 0.5, 10.0)  # half of the replies were stored
    left.update("a", 0.52, 12.0)
    assert left.stage_seconds_left("a") is None
    left.update("a", 0.75, 35.0)
    assert left.stage_seconds_left("a") == pytest.approx(25.0)
    assert left.seconds_of_sweep(35.0) == pytest.approx(
        125.0 * 35 / 25
    )  # the pace since the start, which loaded a model


def test_reused_results_reduce_the_rest_without_a_measurement() -> None:
    left = TimeLeft([FakeStage(str(i), "stage") for i in range(4)], now=0.0)
    left.record_end("0", 0.0)
    left.record_end("1", 0.0)
    assert left.seconds_of_sweep(60.0) is None
    left.record_end("2", 60.0)
    assert left.seconds_of_sweep(60.0) == pytest.approx(60.0)
    left.record_end("3", 0.0)
    assert left.seconds_of_sweep(61.0) == 0.0


def test_idle_seconds_of_a_pause_do_not_slow_the_pace() -> None:
    left = TimeLeft([FakeStage(str(i), "stage") for i in range(4)], now=0.0)
    left.record_end("0", 20.0)
    left.record_end("1", 20.0)
    left.idle(1000.0)
    assert left.seconds_of_sweep(1040.0) == pytest.approx(40.0)


def test_stages_outside_the_plan_are_ignored() -> None:
    left = TimeLeft([FakeStage("a", "stage")], now=0.0)
    left.update("z", 0.5, 5.0)
    left.record_end("z", 5.0)
    assert left.stage_seconds_left("z") is None
    assert left.seconds_of_sweep(60.0) is None


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (None, ""), (0.0, "less than a minute left"), (61.0, "about 1 min left"), (250.0, "about 4 min left"),
        (1300.0, "about 20 min left"), (9000.0, "about 2.5 h left"), (80_000.0, "about 22 h left"),
    ],
)  # fmt: skip
def test_time_left_is_rounded(seconds: float | None, words: str) -> None:
    assert time_left_text(seconds) == words
