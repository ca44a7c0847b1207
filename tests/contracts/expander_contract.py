"""What every expander must satisfy."""

from components.protocols import Expander
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

    def test_has_its_role(self) -> None:
        assert isinstance(self.component, Expander)

    def test_one_query_per_sample_in_order(self) -> None:
        queries = self.component.expand([PLAIN, TALK, PLAIN])
        assert len(queries) == 3
        assert all(queries)
        assert queries == [*self.component.expand([PLAIN]), *self.component.expand([TALK]), queries[0]]

    def test_the_reference_is_not_in_the_query(self) -> None:
        for sample, query in zip((PLAIN, TALK), self.component.expand([PLAIN, TALK]), strict=True):
            assert sample.references[0] not in query

    def test_no_samples(self) -> None:
        assert self.component.expand([]) == []
