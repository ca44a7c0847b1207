"""The contract of every expander."""

from components.protocols import Expander, QueryVariant
from components.records import Kind, Sample, Turn
from tests.contracts.component_contract import ComponentContract

PLAIN = Sample("s1", "qa", Kind.QA, "谁获了奖？", references=("李明",))
TALK = Sample(
    "s2",
    "conversation",
    Kind.CONVERSATION,
    "后一年呢？",
    references=("五人",),
    history=(Turn("哪年开始？", "2019年。"), Turn("来了几人？", "三人。"), Turn("都是谁？", "不清楚。")),
)


class ExpanderContract(ComponentContract):
    """Contract of expanders."""

    component: Expander

    def test_component_implements_its_protocol(self) -> None:
        assert isinstance(self.component, Expander)

    def test_expander_has_variants(self) -> None:
        assert len(self.component.variants) >= 1
        for variant in self.component.variants:
            assert isinstance(variant, QueryVariant)

    def test_variants_give_queries_for_every_sample_in_order(self) -> None:
        for variant in self.component.variants:
            queries = variant.expand([PLAIN, TALK, PLAIN])
            assert len(queries) == 3
            assert all(queries)
            assert all(query for own in queries for query in own)
            assert queries == [*variant.expand([PLAIN]), *variant.expand([TALK]), queries[0]]

    def test_first_variant_gives_one_query_per_sample(self) -> None:
        """A reranker scores hits by this query."""
        assert [len(own) for own in self.component.variants[0].expand([PLAIN, TALK])] == [1, 1]

    def test_expanded_queries_do_not_contain_the_reference(self) -> None:
        for variant in self.component.variants:
            for sample, queries in zip((PLAIN, TALK), variant.expand([PLAIN, TALK]), strict=True):
                assert all(sample.references[0] not in query for query in queries)

    def test_empty_batch_of_samples_gives_an_empty_result(self) -> None:
        assert [variant.expand([]) for variant in self.component.variants] == [[]] * len(self.component.variants)
