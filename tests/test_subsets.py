"""Names of groups of samples."""

from components.subsets import in_order


def test_slugs_are_in_the_order_of_their_labels() -> None:
    assert in_order(["a", "b", "c"], {"c": "C", "x": "X", "a": "A", "b": "B"}) == ["c", "a", "b"]


def test_slugs_of_which_only_some_have_a_label_are_in_their_own_order() -> None:
    assert in_order(["b", "multi_hop", "a"], {"multi_hop": "multi-hop"}) == ["a", "b", "multi_hop"]
