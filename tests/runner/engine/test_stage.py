import pickle
from typing import Any

import pytest
from tiny_components import NewerAdder

from components.embedders.llama_index import LlamaIndexEmbeddings
from components.embedders.lsa import Lsa
from components.embedders.openai_embeddings import OpenAIEmbeddings
from components.rerankers.rerank_api import RerankApi
from runner.engine.stage import Stage
from tests.runner.engine.fake_stages import (
    Adder,
    Left,
    NewerSum,
    Pair,
    Passed,
    Right,
    Source,
    Sum,
    Top,
    fail,
)

SOURCE = Source(Adder(0))
OTHER_SOURCE = Source(Adder(5))


def stage(of: type[Sum] = Sum, **changes: Any) -> Sum:
    return of(**{"component": Adder(), "others": {"left": SOURCE}, **changes})


class TestKey:
    def test_equal_stages_have_equal_keys(self) -> None:
        assert stage().key == stage().key
        assert len(stage().key) == 64

    @pytest.mark.parametrize(
        "changes",
        [
            {"of": Top},
            {"component": Adder(2)},
            {"component": NewerAdder()},
            {"component": None},
            {"depth": 4},
            {"others": {"left": OTHER_SOURCE}},
            {"others": {"right": SOURCE}},
            {"others": {"left": SOURCE, "right": OTHER_SOURCE}},
            {"pair": Pair(SOURCE, OTHER_SOURCE)},
            {"row": (SOURCE,)},
            {"of": NewerSum},
        ],
        ids=lambda changes: next(iter(changes)),
    )
    def test_relevant_stage_changes_change_the_key(self, changes: dict[str, Any]) -> None:
        assert stage(**changes).key != stage().key

    @pytest.mark.parametrize(
        "changes", [{"component": Adder(calls="a file")}, {"compute": fail}], ids=lambda changes: next(iter(changes))
    )
    def test_runtime_fields_and_functions_keep_the_stage_key(self, changes: dict[str, Any]) -> None:
        assert stage(**changes).key == stage().key

    @pytest.mark.parametrize("other", [Pair(OTHER_SOURCE, SOURCE), Pair(SOURCE, OTHER_SOURCE, 2), Pair(SOURCE, SOURCE)])
    def test_every_input_of_a_group_changes_the_stage_key(self, other: Pair) -> None:
        assert stage(pair=other).key != stage(pair=Pair(SOURCE, OTHER_SOURCE)).key

    def test_field_at_its_default_is_not_in_the_stage_key(self) -> None:
        made = stage(pair=Pair(SOURCE, OTHER_SOURCE))
        assert "margin" not in made.description["fields"]["pair"]
        assert stage(pair=Pair(SOURCE, OTHER_SOURCE, margin=2)).key != made.key

    def test_order_of_inputs_in_a_row_changes_the_stage_key(self) -> None:
        assert stage(row=(SOURCE, OTHER_SOURCE)).key != stage(row=(OTHER_SOURCE, SOURCE)).key

    def test_upstream_change_changes_the_downstream_stage_key(self) -> None:
        assert stage(others={"left": stage(component=Adder(2))}).key != stage(others={"left": stage()}).key

    def test_swapped_inputs_change_the_stage_key(self) -> None:
        swapped = stage(others={"left": OTHER_SOURCE, "right": SOURCE})
        assert swapped.key != stage(others={"left": SOURCE, "right": OTHER_SOURCE}).key

    def test_order_of_named_inputs_keeps_the_stage_key(self) -> None:
        turned = stage(others={"right": OTHER_SOURCE, "left": SOURCE})
        assert turned.key == stage(others={"left": SOURCE, "right": OTHER_SOURCE}).key

    def test_content_hash_replaces_the_inputs_in_the_stage_key(self) -> None:
        same = Passed("a hash", OTHER_SOURCE)
        assert same.key == Passed("a hash", SOURCE).key
        assert same.key != Passed("another hash", OTHER_SOURCE).key

    def test_stage_copies_the_inputs_of_the_caller(self) -> None:
        others: dict[str, Stage[int]] = {"left": SOURCE}
        made = stage(others=others)
        others["left"] = OTHER_SOURCE
        assert made.others["left"] is SOURCE
        assert made.inputs == (SOURCE,)
        assert made.key == stage().key

    def test_stage_description_contains_the_hashed_fields(self) -> None:
        description = stage(depth=4).description
        assert (description["stage"], description["version"]) == ("sum", 1)
        assert description["fields"]["depth"] == 4
        assert description["fields"]["others"] == {"left": SOURCE.key}
        assert "compute" not in description["fields"]

    def test_stage_key_survives_pickling(self) -> None:
        made = stage(pair=Pair(SOURCE, OTHER_SOURCE))
        assert pickle.loads(pickle.dumps(made)).key == made.key


class TestInputs:
    def test_stage_inputs_of_all_fields_are_found_once_each(self) -> None:
        third = Left(Adder(9))
        found = stage(pair=Pair(OTHER_SOURCE, SOURCE), row=(third, SOURCE)).inputs
        assert [each.key for each in found] == [SOURCE.key, OTHER_SOURCE.key, third.key]

    def test_stage_inputs_outside_the_key_are_still_inputs(self) -> None:
        assert Passed("a hash", SOURCE).inputs == (SOURCE,)

    def test_source_stage_has_no_inputs(self) -> None:
        assert SOURCE.inputs == ()


class TestModels:
    def test_stages_of_one_model_report_the_same_model(self) -> None:
        large = stage(component=Adder(model="large"))
        assert large.models == stage(of=Top, component=Adder(model="large")).models != frozenset()
        assert large.models != stage(component=Adder(model="small")).models

    def test_components_without_a_model_report_no_models(self) -> None:
        assert stage().models == stage(component=None).models == frozenset()

    def test_stage_does_not_report_the_models_of_its_inputs(self) -> None:
        assert stage(others={"left": stage(component=Adder(model="large"))}).models == frozenset()


@pytest.mark.parametrize(
    ("component", "expected"),
    [
        (Adder(), False),
        (Lsa(), False),
        (OpenAIEmbeddings("m"), True),
        (RerankApi("m"), True),
        (LlamaIndexEmbeddings("a.Class", {}), True),
    ],
    ids=lambda value: type(value).__name__,
)
def test_stage_knows_whether_it_asks_a_server(component: object, expected: bool) -> None:
    assert stage(component=component).asks_a_server is expected


def test_upstream_lists_every_needed_stage_once_inputs_first() -> None:
    left, right = stage(of=Left), stage(of=Right)
    top = stage(of=Top, others={"left": left, "right": right})
    assert [each.kind for each in top.upstream()] == ["source", "left", "right", "top"]
