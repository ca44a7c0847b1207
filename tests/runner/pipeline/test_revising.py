"""Answers that a reviser checks and changes, and the requests, counts and metrics of that."""

import json
import signal
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.request import Request as HttpRequest
from urllib.request import urlopen

import pytest
from omegaconf import OmegaConf

from components.errors import ComponentError
from components.generators.self_consistency import SelfConsistency
from components.histories.own import OwnHistory
from components.llms.extractive import Extractive
from components.llms.none import NoGenerator
from components.llms.scripted import Scripted
from components.records import AnswerCheck, AnswerState, AskedText
from components.retrievers.closed_book import ClosedBook
from components.revisers.abstain import AbstainIfUnsupported
from components.revisers.none import NoReviser
from components.tokenizers.character_bigrams import CharacterBigrams
from runner.engine.stage import Stage
from runner.engine.store import Store
from runner.launch.sweep import EXIT_CELL_FAILED, EXIT_OK
from tests.llms.chat_server import ChatServer, Reply, chat_server, last_message
from tests.revisers.test_abstain import abstain
from tests.revisers.test_reflect import reflect
from tests.runner.pipeline.fixed import CELLS, FixedTalk, bm25, fixed_cell, graph_in, run_all
from tests.runner.sweeping import (
    FEW_METRICS,
    QUIET,
    REPOSITORY,
    cells_in,
    end_group,
    own_data,
    plan_small,
    read_or_make,
    run_command,
    run_small,
    samples_in,
    start_command,
    wait_until,
)

TEXTS = {
    "a": "The bridge was opened in 1932.",
    "b": "The mill ground corn until 1901.",
    "c": "The tower was built of bricks.",
    "d": "The lake is deep.",
}
QUESTIONS = {"a": "When was the bridge opened?", "b": "What did the mill grind?", "c": "What was the tower built of?"}
SAMPLES = [
    {"id": name, "question": question, "references": ["It is so."], "gold": [{"document": name, "quote": TEXTS[name]}]}
    for name, question in [*QUESTIONS.items(), ("d", "Who dug the lake?")]
]
FIRST = {"bridge": "It was opened in 1066 [1].", "mill": "It ground.", "tower": "Of bricks [1].", "lake": ""}


def reply(request: dict[str, Any], attempt: int) -> Reply:
    """The first answers, what a check finds in them, and their revisions."""
    asked = last_message(request)
    subject = next(word for word in FIRST if word in asked.partition("?")[0].rpartition("uestion")[2])
    if '"unsupported"' in asked or '"supported"' in asked:
        answer = asked.partition("[Answer]\n")[2].partition("\n\n")[0]
        wrong = ["It was opened in 1066."] if "1066" in answer else []
        missing = ["It ground corn."] if answer == "It ground." else []
        verdict = {"unsupported": wrong, "missing": missing}
        return Reply(
            json.dumps({"reason": "not there", "supported": not wrong} if "true or false" in asked else verdict)
        )
    return Reply(f"Revised: {subject}." if "[First answer]" in asked else FIRST[subject])


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with chat_server(reply) as running:
        yield running


@pytest.fixture
def options(tmp_path: Path, server: ChatServer) -> list[str]:
    model = ["llm=openai", "llm.model=m", "llm.api_key_env=''", "llm.max_retries=0", f"llm.base_url={server.url}"]
    search = ["retriever=bm25", "retriever.sparse_index.max_share_without_hits=1", "top_k=2"]
    return [*own_data(tmp_path, TEXTS, SAMPLES), *model, *FEW_METRICS, "language=en", *search]


def revised_by_hand(server: ChatServer, rows: Mapping[str, Mapping[str, Any]]) -> dict[str, tuple[str, str]]:
    """The first and the last answer of each question, by plain requests in a loop."""
    wording = OmegaConf.load(REPOSITORY / "conf" / "reviser" / "reflect" / "en.yaml")

    def ask(instruction: str, **places: str) -> str:
        content = instruction
        for name, text in places.items():
            content = content.replace(f"{{{name}}}", text)
        messages = [{"role": "system", "content": wording.system}, {"role": "user", "content": content}]
        body = json.dumps({"model": "m", "messages": messages}).encode()
        posted = HttpRequest(f"{server.url}/chat/completions", body, {"content-type": "application/json"})
        with urlopen(posted, timeout=10) as response:
            return str(json.load(response)["choices"][0]["message"]["content"])

    answers = {}
    for name, row in rows.items():
        shown = [hit for hit in row["retrieved"] if hit["in_context"]]
        texts = [TEXTS[hit["document_id"]][hit["start"] : hit["end"]] for hit in shown]
        places = {"question": row["question"], "passages": "\n".join(f"[{n}] {t}" for n, t in enumerate(texts, 1))}
        first = last = next(text for word, text in FIRST.items() if word in row["question"])
        if first:
            lists = json.loads(ask(wording.check_instruction, **places, answer=first))
            if any(lists.values()):
                findings = {name: "\n".join(f"- {text}" for text in own) or "-" for name, own in lists.items()}
                last = ask(wording.revise_instruction, **places, answer=first, **findings)
        answers[name] = first, last
    return answers


def messages_of(server: ChatServer) -> list[str]:
    return sorted(json.dumps(request["messages"]) for request in server.requests)


def test_revised_answers_equal_plain_requests(tmp_path: Path, options: list[str], server: ChatServer) -> None:
    cell = [*options, "reviser=reflect", "reviser.checks_again=false"]
    assert run_small(tmp_path, cell) == EXIT_OK
    sent = messages_of(server)
    rows = {row["id"]: row for row in samples_in(tmp_path)}
    server.requests.clear()
    by_hand = revised_by_hand(server, rows)
    assert {name: (row["first_answer"], row["answer"]) for name, row in rows.items()} == by_hand
    assert by_hand["a"] == ("It was opened in 1066 [1].", "Revised: bridge.")
    assert by_hand["c"] == ("Of bricks [1].", "Of bricks [1].")
    assert set(messages_of(server)) < set(sent)
    assert len(server.requests) == 3 + 2
    assert len(sent) == len(SAMPLES) + 3 + 2
    assert {name: row["check"] for name, row in rows.items()} == {
        "a": "not supported: It was opened in 1066.",
        "b": "supported; missing: It ground corn.",
        "c": "supported",
        "d": "",
    }


def test_reviser_requests_are_planned_at_most_and_never_repeated(
    tmp_path: Path, options: list[str], server: ChatServer
) -> None:
    cells = [[*options, f"reviser={name}"] for name in ("none", "reflect", "abstain_if_unsupported")]
    n = len(SAMPLES)
    assert [plan_small(tmp_path, cell).plan.n_requests for cell in cells] == [n, n + 3 * n, n + n]
    assert not all(count.is_exact for count in plan_small(tmp_path, cells[1]).plan.requests)
    assert run_small(tmp_path, *cells) == EXIT_OK
    checks_again, abstention = 2, 3
    assert len(server.requests) == n + 3 + 2 + checks_again + abstention
    assert len(set(messages_of(server))) == len(server.requests)
    assert plan_small(tmp_path, *cells).plan.n_requests == 0
    assert run_small(tmp_path, *cells, sweep_id="again") == EXIT_OK
    assert len(server.requests) == n + 3 + 2 + checks_again + abstention


def test_reviser_metrics_counts_and_costs_are_reported_per_step(tmp_path: Path, options: list[str]) -> None:
    assert run_small(tmp_path, [*options, "reviser=reflect"]) == EXIT_OK
    (cell,) = cells_in(tmp_path)
    values = {name: entry["value"] for name, entry in cell.metrics["overall"].items()}
    lengths = [[len(row[name]) for row in samples_in(tmp_path)] for name in ("first_answer", "answer")]
    assert values["supported_before"] == pytest.approx(2 / 3)
    assert values["supported_after"] == 1.0
    assert values["revised"] == 0.5
    assert [values["characters_before"], values["characters_after"]] == [sum(own) / 4 for own in lengths]
    assert cell.metrics["overall"]["supported_before"]["n_excluded"] == {"not_applicable": 1}
    assert {cell.larger_is_better[name] for name in ("supported_before", "supported_after", "revised")} == {None}
    assert cell.judges["reviser"]["n_judged"] == 3
    assert [cell.usage[name]["n_requests"] for name in ("answers", "reviser", "judge/supported_after")] == [4, 5, 3]
    assert cell.tokens["reviser_prompt"] == 5 * 7
    assert cell.tokens["prompt"] == 4 * 7
    assert all(row["n_prompt_tokens"] == 7 for row in samples_in(tmp_path))


def test_unsupported_answer_becomes_the_abstention(tmp_path: Path, options: list[str]) -> None:
    assert run_small(tmp_path, [*options, "reviser=abstain_if_unsupported", "metrics=qa"]) == EXIT_OK
    rows = {row["id"]: row for row in samples_in(tmp_path)}
    assert {name: row["answer"] for name, row in rows.items()} == {
        "a": "insufficient information", "b": "It ground.", "c": "Of bricks [1].", "d": "",
    }  # fmt: skip
    assert rows["a"]["check"] == "not supported: not there"
    assert rows["a"]["score/wrong_refusals"] == 1.0, "metrics of abstention know the text"
    (cell,) = cells_in(tmp_path)
    assert "supported_after" not in cell.metrics["overall"]


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (Reply("?"), "1 of 3 revisions of the reviser could not be read"),
        (Reply(status=400, body=b"no"), "1 of 3 revisions of the reviser failed"),
    ],
)
@pytest.mark.parametrize("of_check", [True, False])
def test_failed_revision_keeps_the_first_answer_and_is_counted(
    tmp_path: Path, options: list[str], server: ChatServer, broken: Reply, reason: str, of_check: bool
) -> None:
    def fails(request: dict[str, Any], attempt: int) -> Reply:
        asked = last_message(request)
        is_check, is_revision = "1066" in asked and "[Answer]" in asked, "[First answer]" in asked and "1066" in asked
        empty = replace(broken, text="") if broken.body is None and is_revision else broken
        return empty if (is_check if of_check else is_revision) else reply(request, attempt)

    server.script = fails
    cell = [*options, "reviser=reflect", "reviser.checks_again=false", "reviser.max_attempts=1"]
    assert run_small(tmp_path, cell) == EXIT_CELL_FAILED
    (failed,) = cells_in(tmp_path)
    assert reason in failed.reason
    rows = {row["id"]: row for row in samples_in(tmp_path)}
    assert rows["a"]["answer"] == rows["a"]["first_answer"] == FIRST["bridge"]
    assert rows["b"]["answer"] == "Revised: mill."
    n_asked = len(server.requests)
    server.script = reply
    assert run_small(tmp_path, cell, sweep_id="again") == (EXIT_OK if broken.body else EXIT_CELL_FAILED)
    assert len(server.requests) - n_asked == (2 if of_check else 1) * bool(broken.body), "only failures are sent again"


def test_killed_reviser_sweep_repeats_no_reply_and_gives_the_same_answers(
    tmp_path: Path, options: list[str], server: ChatServer
) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    for folder in (whole, killed):
        folder.mkdir()
    cell = [*options, *QUIET, "metrics.interval.n_resamples=100", "reviser=reflect", "run.results_dir=results"]
    assert run_command(whole, *cell).returncode == 0
    n_whole = len(server.requests)
    server.requests.clear()
    server.script = lambda request, attempt: replace(reply(request, attempt), delay_s=0.1)
    process = start_command(killed, *cell, "llm.concurrency=1")
    wait_until(lambda: len(server.requests) >= len(SAMPLES) + 2, process)
    end_group(process, signal.SIGKILL)
    process.communicate(timeout=60)
    n_before = len(server.requests)
    assert n_before < n_whole
    again = run_command(killed, *cell)
    assert again.returncode == 0, again.stderr
    assert len(server.requests) <= n_whole + 1, "only the request of the moment is sent again"
    answers = [{row["id"]: row["answer"] for row in _rows(folder)} for folder in (whole, killed)]
    assert answers[0] == answers[1]


def _rows(folder: Path) -> list[dict[str, Any]]:
    (sweep,) = {
        path.parent.name for path in folder.glob("results/*/sweep.json") if any(path.parent.glob("*/cell.json"))
    }
    return samples_in(folder, sweep)


def graph_with(store: Store, **fields: Any) -> Any:
    return graph_in(store, fixed_cell(**{"retriever": bm25(), **fields}))


def stages_of(graph: Any, kind: str) -> list[Stage[Any]]:
    return [stage for stage in graph.result.upstream() if stage.kind == kind]


NO = Scripted(reply='{"reason": "so it is", "supported": false}')
ABSTAIN = abstain(llm=NO, abstention="insufficient information")


@pytest.mark.parametrize("fields", [{"retriever": ClosedBook()}, {"llm": NoGenerator()}, {"reviser": NoReviser()}])
def test_reviser_without_answers_to_check_keeps_the_result_key(fields: dict[str, Any], tmp_path: Path) -> None:
    store = Store(tmp_path, "a run")
    cell = {"reviser": ABSTAIN, **fields}
    assert graph_with(store, **cell).result.key == graph_with(store, **{**fields, "reviser": NoReviser()}).result.key
    assert ("reviser" in graph_with(store, **cell).used) == ("reviser" in fields)


def test_reviser_shares_first_answers_and_adds_its_latency(tmp_path: Path) -> None:
    store = Store(tmp_path, "a run")
    plain, revised = (graph_with(store, reviser=own) for own in (NoReviser(), ABSTAIN))
    assert [stage.key for stage in stages_of(plain, "answers")] == [
        stage.key for stage in stages_of(revised, "answers")
    ]
    run_all(store, revised.result)
    before, after = (read_or_make(stages_of(revised, kind)[0], store) for kind in ("answers", "revised_answers"))
    assert all(answer.text == "insufficient information" for answer in after)
    assert all(late.latency_s >= early.latency_s for early, late in zip(before, after, strict=True))
    pairs = zip(before, after, strict=True)
    assert [replace(late, text=early.text, latency_s=early.latency_s) for early, late in pairs] == before


def test_baseline_answer_can_be_checked_by_a_model(tmp_path: Path) -> None:
    store = Store(tmp_path, "a run")
    graph = graph_with(store, llm=Extractive(tokenizer=CharacterBigrams()), reviser=ABSTAIN)
    run_all(store, graph.result)
    (stage,) = stages_of(graph, "revised_answers")
    assert {answer.text for answer in read_or_make(stage, store)} == {"insufficient information"}


def test_reviser_keeps_generation_details_and_request_counts(tmp_path: Path) -> None:
    store = Store(tmp_path, "a run")
    llm = Scripted(reply="{question}")
    graph = graph_with(store, llm=llm, generator=SelfConsistency(n_draws=3), reviser=ABSTAIN)
    run_all(store, graph.result)
    result = read_or_make(graph.result, store)
    assert result.samples["generation"].to_pylist() == ["3 of 3"] * 4
    assert [result.summary["usage"][name]["n_requests"] for name in ("answers", "reviser")] == [12, 4]


@pytest.mark.parametrize("generator", [SelfConsistency(n_draws=2), fixed_cell().generator])
def test_later_turns_contain_the_revised_answers(generator: Any, tmp_path: Path) -> None:
    store = Store(tmp_path, "a run")
    fields = {"dataset": FixedTalk(), "history": OwnHistory(), "llm": Scripted(reply="Yes.", error_on="When")}
    graph = graph_with(store, **fields, reviser=ABSTAIN, generator=generator)
    run_all(store, graph.result)
    rows = read_or_make(graph.result, store).samples.to_pylist()
    assert [row["state"] for row in rows] == ["error", "error", "ok", "ok"]
    assert "insufficient information" in rows[3]["prompt"]
    assert [row["first_answer"] for row in rows] == ["", "", "Yes.", "Yes."]
    assert [row["check"] for row in rows] == ["", "", *["not supported: so it is"] * 2]
    assert [row["score_state/revised"] for row in rows] == ["answer_error", "answer_error", "value", "value"]


@pytest.mark.parametrize("state", ["empty_on", "refuse_on"])
def test_answers_without_text_are_not_checked(state: str, tmp_path: Path) -> None:
    store = Store(tmp_path, "a run")
    llm = replace(Scripted(reply="Yes."), **{state: "bridge"})  # type: ignore[arg-type]  # a field of a string
    graph = graph_with(store, llm=llm, reviser=ABSTAIN)
    run_all(store, graph.result)
    result = read_or_make(graph.result, store)
    row = result.samples.to_pylist()[0]
    assert (row["answer"], row["check"], row["score/revised"]) == ("", "", 0.0)
    assert row["score_state/supported_before"] == "not_applicable"
    assert result.summary["judges"]["reviser"]["n_judged"] == 3


def test_truncated_answer_is_complete_after_its_revision(tmp_path: Path) -> None:
    store = Store(tmp_path, "a run")
    graph = graph_with(store, llm=Scripted(reply="Yes, indeed.", truncate_on="bridge"), reviser=ABSTAIN)
    run_all(store, graph.result)
    first, last = (read_or_make(stages_of(graph, kind)[0], store)[0] for kind in ("answers", "revised_answers"))
    assert (first.state, last.state) == (AnswerState.TRUNCATED, AnswerState.OK)


@dataclass(frozen=True)
class Broken(AbstainIfUnsupported):
    """Returns `checks` and `texts` for each answer."""

    checks: Any = AnswerCheck(False, ("x",))
    texts: Any = AskedText("other")

    def check_answers(self, answers: Any, ask: Any) -> Any:
        return [self.checks for _ in answers]

    def revise(self, answers: Any, verdicts: Any, ask: Any) -> Any:
        return [self.texts for _ in answers]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"checks": None}, "check_answers returned .*expected a list of 4 AnswerCheck"),
        ({"checks": AnswerCheck("yes")}, "check_answers returned"),  # type: ignore[arg-type]
        ({"checks": AnswerCheck(True, ("x", 1))}, "check_answers returned"),  # type: ignore[arg-type]
        ({"checks": AnswerCheck(None, unread=["x"])}, "check_answers returned"),  # type: ignore[arg-type]
        ({"texts": "other"}, "revise returned .*expected a list of 4 AskedText"),
        ({"texts": AskedText("other", failed=["x"])}, "revise returned"),  # type: ignore[arg-type]
    ],
)
def test_reviser_results_of_a_wrong_type_fail_the_stage(fields: dict[str, Any], message: str, tmp_path: Path) -> None:
    store = Store(tmp_path, "a run")
    broken = Broken(NO, "", "", "", "None.", **fields)
    (stage,) = stages_of(graph_with(store, reviser=broken), "revisions")
    with pytest.raises((AssertionError, ComponentError), match=rf"(?s)Broken.*{message}"):
        run_all(store, stage)


def test_stored_revisions_survive_encoding(tmp_path: Path) -> None:
    store = Store(tmp_path, "a run")
    fields: Any = CELLS["answers that a model checks and revises"]
    graph = graph_in(store, fixed_cell(**fields))
    (stage,) = stages_of(graph, "revisions")
    run_all(store, stage)
    stored = read_or_make(stage, store)
    assert stored.checks[0] == AnswerCheck(False, ("it",), ())
    assert stored == stage.codec.decode(stage.codec.encode(stored))


def test_new_checks_change_the_result_but_not_the_revisions_key(tmp_path: Path) -> None:
    store = Store(tmp_path, "a run")
    graphs = [graph_with(store, reviser=reflect(checks_again=own)) for own in (True, False)]
    assert len({graph.result.key for graph in graphs}) == 2
    assert len({stage.key for graph in graphs for stage in stages_of(graph, "revisions")}) == 1
