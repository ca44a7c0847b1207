import pytest
from hydra._internal import defaults_list

from runner.launch.compose import compose_config
from runner.launch.hydra_startup import _interpolation_map, _map_where_needed

pytestmark = [
    pytest.mark.usefixtures("shortcuts"),
    pytest.mark.skipif(_interpolation_map is None, reason="Hydra 1.4 creates the map only where it is needed"),
]


@pytest.mark.parametrize(
    "overrides",
    [
        ["top_k=2"],
        ["language=zh", "judge=omnieval", "judge.llm.model=a-model"],
        ["expander=combined", "llm=scripted", "language=multi", "refiner=summary"],
        [
            "reranker=cascade",
            "reranker@reranker.steps.last=lexical",
            "+reranker@reranker.steps.more=none",
            "retriever=arms",
        ],
    ],
    ids=" ".join,
)
def test_quick_composition_equals_hydra(overrides: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    quick = compose_config(overrides)
    assert defaults_list._create_interpolation_map is _map_where_needed
    monkeypatch.setattr("runner.launch.hydra_startup._map_where_needed", _interpolation_map)
    assert compose_config(overrides) == quick
    assert defaults_list._create_interpolation_map is _interpolation_map


def test_interpolation_map_is_built_only_for_files_with_interpolations(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[list[str]] = []

    def counting(overrides: object, defaults: list[defaults_list.InputDefault], self_added: bool) -> object:
        made.append([str(default.get_name()) for default in defaults if not default.is_self()])
        return _interpolation_map(overrides, defaults, self_added)

    monkeypatch.setattr("runner.launch.hydra_startup._interpolation_map", counting)
    compose_config(["top_k=2", "judge=none", "generator=single"])
    n_before = len(made)
    compose_config(["top_k=2", "generator=refine", "llm=scripted"])
    assert (n_before, len(made)) == (0, 1)
