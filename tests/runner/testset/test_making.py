"""Runs with small components: what is tried, which requests are repeated, and where the run ends."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from components.chunkers.sentence import SentencePacking
from components.protocols import Ask
from components.testset.gates.inspection import NEEDS_SECOND_CORRECTION
from components.testset.protocols import SourceCorpus
from components.testset.records import Draft, GateVerdict
from components.testset.repeated_questions import NearDuplicateFinder
from runner.engine.cache import Cache
from runner.engine.stage import AnyStage
from runner.engine.stage_run import Run
from runner.engine.worker import no_report
from runner.store import main as store_main
from runner.testset.making.coverage import NO_EVIDENCE, NO_REMOVABLE, NO_TRIES_LEFT, coverage
from runner.testset.making.draft_outcomes import EARLIER_TURN, DraftOutcome, EvidenceOutcome
from runner.testset.making.generation_loop import GenerationLoop, GenerationState
from runner.testset.making.generation_settings import WaveSettings
from runner.testset.making.source_corpus import is_removable
from runner.testset.releasing.release import rejections
from tests.runner.testset.fakes import ASKED, DOWN, AskOnce, Echo, Marks, Silent, generation, make, most, texts


@pytest.fixture(autouse=True)
def _nothing_asked() -> Iterator[None]:
    ASKED.clear()
    DOWN.clear()
    yield
    DOWN.clear()


CELL = ("", "lamps")


def test_generation_ends_with_the_requested_number_of_drafts(tmp_path: Path) -> None:
    state = make(generation(tmp_path, texts(40), per_cell=7))
    assert len(state.accepted) == len({draft.question for draft in state.accepted}) == 7
    count = coverage(state)[CELL]
    assert (count.tried, count.accepted, count.rejected, count.short) == (7, 7, 0, "")
    assert len(ASKED) == 7


class Pruning(Silent):
    """Prunes the store of a run between its waves."""

    def __init__(self, store: Path) -> None:
        self.n_prunes = 0
        self._command = ["--store-dir", str(store), "prune", "--older-than-days", "0"]

    def wave(self, state: GenerationState, tried: Sequence[EvidenceOutcome]) -> None:
        self.n_prunes += 1
        for more in ([], ["--stage", "replies"]):
            assert store_main([*self._command, *more]) == 0


def test_prune_between_waves_keeps_results_of_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = generation(tmp_path, texts(40), per_cell=7)
    pruning = Pruning(tmp_path / "store")
    state = make(settings, pruning)
    n_running = capsys.readouterr().out.count("a sweep is running")
    assert n_running == 2 * pruning.n_prunes > 2
    assert make(settings).accepted == state.accepted
    assert len(ASKED) == 7, "every reply is still stored"


def test_tried_draft_is_accepted_or_rejected_for_one_reason(tmp_path: Path) -> None:
    marks = dict.fromkeys(range(0, 30, 5), "DECLINE") | dict.fromkeys(range(1, 30, 5), "RUDE") | {3: "LONG RUDE"}
    gates = {"long": Marks("LONG"), "rude": Marks("RUDE", Echo())}
    state = make(generation(tmp_path, texts(30, marks), gates=gates, per_cell=30))
    count = coverage(state)[CELL]
    assert count.reasons == {"declined": 6, "rude": 6, "long": 1}
    assert (count.tried, count.accepted, count.rejected) == (30, 17, 13)
    assert count.short == NO_EVIDENCE
    assert len(ASKED) == 30 + 30 - 6 - 1  # no request about drafts that are already rejected


def test_corrected_draft_passes_all_gates_again(tmp_path: Path) -> None:
    gates = {"corrected": Marks("fixed"), "typo": Marks("TYPO", corrects=True), "both": Marks("corrected RUDE")}
    documents = texts(12, {1: "TYPO", 2: "TYPO RUDE"})
    state = make(generation(tmp_path, documents, gates=gates, per_cell=12))
    count = coverage(state)[CELL]
    assert (count.accepted, count.reasons) == (11, {"corrected rude": 1})
    (corrected,) = [draft for draft in state.accepted if draft.was_corrected]
    assert "corrected" in corrected.question
    assert "TYPO" not in corrected.question


def test_repeated_run_sends_no_request_and_gives_the_same_drafts(tmp_path: Path) -> None:
    settings = generation(tmp_path, texts(30, {4: "RUDE"}), gates={"rude": Marks("RUDE", Echo())}, per_cell=10)
    first = make(settings)
    n_asked = len(ASKED)
    assert make(settings).tried == first.tried
    assert len(ASKED) == n_asked > 0


def test_added_gate_repeats_no_writing(tmp_path: Path) -> None:
    settings = generation(tmp_path, texts(20), gates={"rude": Marks("RUDE", Echo())}, per_cell=20)
    make(settings)
    ASKED.clear()
    state = make(replace(settings, gates={"long": Marks("LONG"), **settings.gates}))
    assert len(state.accepted) == 20
    assert ASKED == []


def test_larger_budget_adds_whole_samples(tmp_path: Path) -> None:
    settings = generation(tmp_path, texts(60), gates={"rude": Marks("RUDE", Echo())}, per_cell=30)
    small = make(replace(settings, budget=most(20)))
    assert len(ASKED) <= 20
    assert "max_requests" in small.stopped
    assert 0 < len(small.accepted) < 30
    large = make(replace(settings, budget=most(500)))
    assert len(large.accepted) == 30
    assert large.accepted[: len(small.accepted)] == small.accepted
    assert len(ASKED) == 60  # two for each sample, whatever was paid in which run
    whole = make(replace(settings, run=replace(settings.run, store_dir=str(tmp_path / "other"))))
    assert whole.tried == large.tried


class Losing(GenerationLoop):
    """Loses its drafts and the replies as soon as they are made."""

    def _run(self, requested: Sequence[AnyStage]) -> None:
        super()._run(requested)
        for entry in list(self.store.entries()):
            if entry.manifest.kind == "testset_drafts":
                self.store.discard(entry)
        for file in (self.store.root / "replies").rglob("*"):
            if file.is_file():
                file.unlink()


def test_recomputed_drafts_stay_within_the_budget(tmp_path: Path) -> None:
    settings = generation(tmp_path, texts(60), per_cell=30)
    with closing(Losing(replace(settings, budget=most(20)), Silent())) as making:
        state = making.begin()
        making.run(state)
        spent = making.spent
    assert spent.n_requests == len(ASKED) == 20
    assert "max_requests" in state.stopped


def test_failed_requests_are_no_rejections_and_are_sent_again(tmp_path: Path) -> None:
    settings = generation(tmp_path, texts(12), gates={"rude": Marks("RUDE", Echo())}, per_cell=12)
    DOWN.update({"lamps: Company 3 ", "RUDE? Company 5 "})
    state = make(settings)
    count = coverage(state)[CELL]
    assert (count.tried, count.accepted, count.rejected, count.pending) == (12, 10, 0, 2)
    assert count.short == "requests failed"
    DOWN.clear()
    ASKED.clear()
    again = make(settings)
    assert len(again.accepted) == 12
    assert len(ASKED) == 3  # the draft and its gate, and the other's gate


def test_server_failure_of_a_whole_wave_ends_generation(tmp_path: Path) -> None:
    DOWN.add("Company")
    state = make(generation(tmp_path, texts(200), per_cell=100))
    assert state.stopped == "every request of the last wave failed: down"
    assert len(ASKED) == 2


def test_generation_tries_a_cell_at_most_the_allowed_times(tmp_path: Path) -> None:
    documents = texts(50, dict.fromkeys(range(50), "RUDE"))
    waves = WaveSettings(first=2, largest=8, most_tries=3)
    state = make(generation(tmp_path, documents, gates={"rude": Marks("RUDE")}, per_cell=4, waves=waves))
    count = coverage(state)[CELL]
    assert (count.tried, count.short) == (12, NO_TRIES_LEFT)


def test_turns_before_a_rejected_turn_remain(tmp_path: Path) -> None:
    gates = {"second": Marks("RUDE", turn=1), "first": Marks("LONG", turn=0)}
    documents = texts(3, {1: "RUDE", 2: "LONG"})
    tasks = {"lamps": AskOnce(n_turns=3)}
    settings = generation(tmp_path, documents, gates=gates, tasks=tasks, per_cell=3)
    state = make(replace(settings, near_duplicates=NearDuplicateFinder(1.0)))
    turns = {own.evidence.extracts[0].document_id: own for own in state.tried}
    assert [len(turns[name].accepted) for name in ("d000", "d001", "d002")] == [3, 1, 0]
    assert [own.verdict.reason for own in turns["d001"].rejected] == ["rude", EARLIER_TURN]
    assert turns["d002"].outcome is DraftOutcome.REJECTED
    assert turns["d002"].reason == "long"


def test_conversation_with_a_failed_turn_request_stays_pending(tmp_path: Path) -> None:
    gates = {"second": Marks("RUDE", Echo(), turn=1)}
    settings = generation(tmp_path, texts(3), gates=gates, tasks={"lamps": AskOnce(n_turns=3)}, per_cell=3)
    settings = replace(settings, near_duplicates=NearDuplicateFinder(1.0))
    DOWN.add("RUDE? 1. Company 1 ")
    state = make(settings)
    assert sorted(own.outcome for own in state.tried) == [
        DraftOutcome.ACCEPTED,
        DraftOutcome.ACCEPTED,
        DraftOutcome.PENDING,
    ]
    assert len(state.accepted) == 6
    assert [line["state"] for line in rejections(state.tried, {})] == ["failed"] * 3
    DOWN.clear()
    assert len(make(settings).accepted) == 9


def test_corrected_turn_becomes_the_history_of_later_turns(tmp_path: Path) -> None:
    gates = {"first": Marks("TYPO", corrects=True, turn=0)}
    settings = generation(tmp_path, texts(1, {0: "TYPO"}), gates=gates, tasks={"lamps": AskOnce(n_turns=3)}, per_cell=1)
    first, second, third = make(replace(settings, near_duplicates=NearDuplicateFinder(1.0))).accepted
    assert "corrected" in first.question
    assert [turn.question for turn in third.history] == [first.question, second.question]


@dataclass(frozen=True)
class MarksBefore(Marks):
    """Looks for the mark in the turns before."""

    def verdicts(self, drafts: Sequence[Draft], corpus: SourceCorpus, ask: Ask) -> list[GateVerdict]:
        before = [replace(own, question="; ".join(turn.question for turn in own.history)) for own in drafts]
        return [replace(verdict, draft=None) for verdict in super().verdicts(before, corpus, ask)]


def test_turns_after_a_corrected_turn_are_judged_again(tmp_path: Path) -> None:
    gates = {"before": MarksBefore("corrected"), "first": Marks("TYPO", corrects=True, turn=0)}
    settings = generation(tmp_path, texts(1, {0: "TYPO"}), gates=gates, tasks={"lamps": AskOnce(n_turns=3)}, per_cell=1)
    (tried,) = make(replace(settings, near_duplicates=NearDuplicateFinder(1.0))).tried
    assert [own.draft.turn for own in tried.accepted] == [0]
    assert [(own.draft.turn, own.gate) for own in tried.rejected] == [(1, "before"), (2, "before")]
    assert all(own.draft.history[0].question == tried.accepted[0].draft.question for own in tried.rejected)


def test_turn_that_needs_a_second_correction_is_rejected(tmp_path: Path) -> None:
    gates = {"before": MarksBefore("corrected", corrects=True), "first": Marks("TYPO", corrects=True, turn=0)}
    settings = generation(tmp_path, texts(1, {0: "TYPO"}), gates=gates, tasks={"lamps": AskOnce(n_turns=2)}, per_cell=1)
    (tried,) = make(replace(settings, near_duplicates=NearDuplicateFinder(1.0))).tried
    assert len(tried.accepted) == 1
    assert [own.verdict.reason for own in tried.rejected] == [NEEDS_SECOND_CORRECTION]


def test_tasks_that_remove_their_source_use_separate_documents(tmp_path: Path) -> None:
    tasks = {"lamps": AskOnce(), "gone": AskOnce(removes_source=True)}
    state = make(generation(tmp_path, texts(80), tasks=tasks, per_cell=200, removable_share=0.3))
    used: dict[str, set[str]] = {name: set() for name in tasks}
    for tried in state.tried:
        used[tried.cell[1]].add(tried.evidence.extracts[0].document_id)
    assert used["lamps"] | used["gone"] == {f"d{n:03}" for n in range(80)}
    assert used["lamps"] & used["gone"] == set()
    assert len(used["gone"]) in range(10, 40)
    short = {task: count.short for (_, task), count in coverage(state).items()}
    assert short == {"lamps": NO_EVIDENCE, "gone": NO_REMOVABLE}


def test_removable_source_with_a_removable_copy_is_not_used(tmp_path: Path) -> None:
    leaving = [f"c{n}" for n in range(40) if is_removable(f"c{n}", 0.3, 0)][:3]
    story = "Before the storm of 1903 the keeper counted 4711 gulls on the northern pier of Oakham"
    copies = tuple(
        zip(leaving, [f"{story}.", f"{story} again.", "Nobody has seen the 12 goats of Mill Lane."], strict=True)
    )
    gone = {"gone": AskOnce(removes_source=True)}
    state = make(generation(tmp_path, (*texts(20), *copies), tasks=gone, per_cell=50, removable_share=0.3))
    used = {tried.evidence.extracts[0].document_id for tried in state.tried}
    assert used & set(leaving) == {leaving[2]}


def test_neighbours_of_a_long_text_are_found_by_rare_words(tmp_path: Path) -> None:
    def word(n: int) -> str:
        return "".join("bcdfghjklm"[int(digit)] for digit in f"{n:05}")

    common = " ".join(map(word, range(100)))
    words = [f"{common} {word(200 + n % 5)} {word(300 + n)}." for n in range(40)]
    documents = tuple((f"d{n:02}", text) for n, text in enumerate(words))
    making = GenerationLoop(generation(tmp_path, documents, chunk=SentencePacking(size=2000)), Silent())
    making.begin()
    found = making.search.read(Run(making.search.index, making.store, Cache(), no_report)).nearest([words[7]], 8)
    assert {extract.document_id for extract in found[0]} == {f"d{n:02}" for n in range(2, 40, 5)}
