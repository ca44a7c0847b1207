"""The contract of every compressor."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import pairwise

from components.protocols import AskingCompressor, Compressor
from components.records import Answer, AnswerState, CompressedPassages, Request
from tests.contracts.component_contract import ComponentContract

QUERIES = ("When was the bridge opened?", "西湖在哪里？", "", "nothing", "none")
PASSAGES = (
    ("The bridge is red. It was opened in 1932. Trains use it.", "The mill ground corn.\n\nIt stopped in 1901."),
    ("西湖在杭州。故宫在北京！", "A lake. {question}"),
    ("One sentence without an end",),
    (),
    (" \n ", ""),
)


class CompressorRules(ComponentContract, ABC):
    """Rules for compressors of both kinds."""

    @abstractmethod
    def compress(
        self, queries: Sequence[str] = QUERIES, passages: Sequence[Sequence[str]] = PASSAGES
    ) -> list[CompressedPassages]:
        """The pieces."""

    def test_compressed_pieces_are_ordered_parts_of_their_passages(self) -> None:
        compressed = self.compress()
        assert [len(own.pieces) for own in compressed] == [len(own) for own in PASSAGES]
        for own, passages in zip(compressed, PASSAGES, strict=True):
            for pieces, text in zip(own.pieces, passages, strict=True):
                assert all(0 <= start < end <= len(text) for start, end in pieces)
                assert all(before[1] < after[0] for before, after in pairwise(pieces)), "touching pieces are one"
        assert not any(own.unread or own.failed for own in compressed)

    def test_empty_batch_of_queries_gives_an_empty_result(self) -> None:
        assert self.compress((), ()) == []

    def test_query_is_compressed_independently_of_other_queries(self) -> None:
        together = self.compress()
        for row, own in enumerate(together):
            assert self.compress(QUERIES[row : row + 1], PASSAGES[row : row + 1]) == [own]


class CompressorContract(CompressorRules):
    """Contract of compressors without a language model."""

    component: Compressor

    def compress(
        self, queries: Sequence[str] = QUERIES, passages: Sequence[Sequence[str]] = PASSAGES
    ) -> list[CompressedPassages]:
        return self.component.compress(queries, passages)

    def test_component_implements_its_protocol(self) -> None:
        assert isinstance(self.component, Compressor)
        assert not isinstance(self.component, AskingCompressor)

    def test_compression_keeps_some_text_of_every_nonblank_passage(self) -> None:
        for own, passages in zip(self.compress(), PASSAGES, strict=True):
            assert any(own.pieces) == any(passages)


class AskingCompressorContract(CompressorRules):
    """Contract of compressors that use a language model."""

    component: AskingCompressor

    @abstractmethod
    def reply(self, request: Request) -> str:
        """Return a readable reply to a request of the component."""

    def ask(self, requests: Sequence[Request]) -> list[Answer]:
        """Answer as the asking service does."""
        assert len({request.id for request in requests}) == len(requests)
        self.asked += requests
        return [Answer(request.id, AnswerState.OK, self.reply(request)) for request in requests]

    def compress(
        self, queries: Sequence[str] = QUERIES, passages: Sequence[Sequence[str]] = PASSAGES
    ) -> list[CompressedPassages]:
        self.asked: list[Request] = []
        return self.component.compress_by_asking(queries, passages, self.ask)

    def test_component_implements_its_protocol(self) -> None:
        assert isinstance(self.component, AskingCompressor)
        assert not isinstance(self.component, Compressor)

    def test_compressor_sends_one_request_per_query_with_text(self) -> None:
        self.compress()
        assert len(self.asked) == 3
        for request, question in zip(self.asked, QUERIES, strict=False):
            assert question in request.messages[-1].content
            assert request.json_schema is not None

    def test_failed_and_unreadable_selections_keep_all_text_and_are_reported(self) -> None:
        for state, reported in ((AnswerState.OK, "unread"), (AnswerState.ERROR, "failed")):

            def ask(requests: Sequence[Request], state: AnswerState = state) -> list[Answer]:
                return [Answer(request.id, state, text="?", error="broken") for request in requests]

            compressed = self.component.compress_by_asking(QUERIES, PASSAGES, ask)
            for own, passages in zip(compressed, PASSAGES, strict=True):
                assert own.pieces == tuple(((0, len(text)),) if text else () for text in passages)
            assert [bool(getattr(own, reported)) for own in compressed] == [True, True, True, False, False]
