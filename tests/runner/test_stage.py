from typing import Any

import pytest

from runner.engine.stage import Cache, Stage
from tests.runner.fake_stages import Adder, NewerAdder, add, fail

SOURCE = Stage("source", add, Adder(0))
OTHER_SOURCE = Stage("source", add, Adder(5))


def stage(**changes: Any) -> Stage:
    plain = {"kind": "sum", "compute": add, "component": Adder(), "inputs": {"left": SOURCE}, "settings": {"depth": 3}}
    return Stage(**{**plain, **changes})


class TestKey:
    def test_equal_stages_have_equal_keys(self) -> None:
        assert stage().key == stage().key
        assert len(stage().key) == 64

    @pytest.mark.parametrize(
        "changes",
        [
            {"kind": "total"},
            {"component": Adder(2)},
            {"component": NewerAdder()},
            {"component": None},
            {"settings": {"depth": 4}},
            {"settings": {}},
            {"inputs": {"left": OTHER_SOURCE}},
            {"inputs": {"right": SOURCE}},
            {"inputs": {"left": SOURCE, "right": OTHER_SOURCE}},
            {"version": 2},
            {"content": "a hash"},
        ],
        ids=lambda changes: next(iter(changes)),
    )
    def test_whatever_can_change_the_result_changes_the_key(self, changes: dict[str, Any]) -> None:
        assert stage(**changes).key != stage().key

    @pytest.mark.parametrize(
        "changes", [{"component": Adder(calls="a file")}, {"compute": fail}], ids=lambda changes: next(iter(changes))
    )
    def test_what_cannot_change_it_does_not(self, changes: dict[str, Any]) -> None:
        assert stage(**changes).key == stage().key

    def test_changes_travel_downstream(self) -> None:
        assert stage(inputs={"left": stage(component=Adder(2))}).key != stage(inputs={"left": stage()}).key

    def test_which_input_is_which_counts(self) -> None:
        swapped = stage(inputs={"left": OTHER_SOURCE, "right": SOURCE})
        assert swapped.key != stage(inputs={"left": SOURCE, "right": OTHER_SOURCE}).key

    def test_order_of_inputs_does_not_count(self) -> None:
        turned = stage(inputs={"right": OTHER_SOURCE, "left": SOURCE})
        assert turned.key == stage(inputs={"left": SOURCE, "right": OTHER_SOURCE}).key

    def test_content_stands_for_the_inputs(self) -> None:
        same = stage(content="a hash", inputs={"left": OTHER_SOURCE})
        assert same.key == stage(content="a hash").key
        assert same.key != stage(content="another hash", inputs={"left": OTHER_SOURCE}).key

    def test_later_changes_of_the_callers_dictionary_do_not_reach_it(self) -> None:
        inputs = {"left": SOURCE}
        made = stage(inputs=inputs)
        inputs["left"] = OTHER_SOURCE
        assert made.inputs["left"] is SOURCE


class TestModel:
    def test_stages_of_one_model_say_so(self) -> None:
        large = stage(component=Adder(model="large"))
        assert large.model == stage(kind="other", component=Adder(model="large")).model != ""
        assert large.model != stage(component=Adder(model="small")).model

    def test_components_without_a_model(self) -> None:
        assert stage().model == stage(component=None).model == ""


def test_upstream_is_everything_needed_inputs_first_each_once() -> None:
    left, right = stage(kind="left"), stage(kind="right")
    top = stage(kind="top", inputs={"left": left, "right": right})
    assert [each.kind for each in top.upstream()] == ["source", "left", "right", "top"]


def test_the_cache_forgets_what_was_used_longest_ago() -> None:
    cache = Cache(size=2)
    made: list[str] = []

    def get(key: str) -> None:
        cache.get(key, "decoder", lambda: made.append(key))

    for key in ("a", "b", "a", "c", "a", "b"):
        get(key)
    assert made == ["a", "b", "c", "b"]


def test_the_cache_tells_decoders_apart() -> None:
    cache = Cache()
    assert [cache.get("key", "one", lambda: 1), cache.get("key", "two", lambda: 2)] == [1, 2]
