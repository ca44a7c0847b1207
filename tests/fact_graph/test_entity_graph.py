"""The graph compared with a plain implementation: sets of edges, a dense matrix, and an equation instead of steps."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, pairwise
from math import sqrt
from random import Random
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from components.fact_graph import entity_graph, synonyms
from components.fact_graph.entity_graph import EntityGraph
from components.fact_graph.fact_tables import fact_table, facts_within
from components.fact_graph.page_rank import n_steps
from components.records import Fact, Hits
from components.vector_indexes.faiss_index import Flat
from tests.contracts.passage_graph_contract import CHUNKS, QUERIES, PassageGraphContract, stated, vectors
from tests.contracts.ranking_checks import rankings_of

GRAPH = EntityGraph(synonym_threshold=0.7)
_WORDS = "mill mills tower river bridge harbour harbours museum 长江 武汉 wheel brick".split()


class TestEntityGraph(PassageGraphContract):
    component = GRAPH


Corpus = tuple[list[str], list[tuple[int, Fact]], list[str]]


def drawn(seed: int, n_chunks: int = 40, n_queries: int = 12) -> Corpus:
    """Chunks of random words, random facts about them, and random queries."""
    draw = Random(seed)
    words = [[draw.choice(_WORDS) for _ in range(6)] for _ in range(n_chunks)]
    facts = [
        (chunk, Fact(draw.choice(own), draw.choice(["is", "holds", "feeds"]), draw.choice(own)))
        for chunk, own in enumerate(words)
        for _ in range(draw.randint(0, 3))
    ]
    return [" ".join(own) for own in words], facts, [" ".join(draw.sample(_WORDS, 3)) for _ in range(n_queries)]


def searched(graph: EntityGraph, corpus: Corpus, depth: int) -> Hits:
    chunks, facts, queries = corpus
    table = fact_table(facts, len(chunks))
    built = graph.build(facts_within(table, 0, len(chunks)), embedded(table.phrases))
    return graph.search(built, embedded(table.facts), embedded(chunks), embedded(queries), depth)


def embedded(texts: Sequence[str]) -> NDArray[np.float32]:
    """Counts of pairs of characters in 64 buckets. Inner products of whole numbers are exact in any order."""
    vectors = np.zeros((len(texts), 64), dtype=np.float32)
    for row, text in enumerate(texts):
        for one, other in pairwise(text):
            vectors[row, (7 * ord(one) + ord(other)) % 64] += 1
    return vectors


def product(one: str, other: str) -> float:
    first, second = embedded([one, other]).astype(np.float64)
    return float(first @ second)


def cosine(one: str, other: str) -> float:
    return round(product(one, other) / sqrt(product(one, one) * product(other, other)), 6)


def plainly(graph: EntityGraph, corpus: Corpus) -> list[list[float]]:
    """The score of every chunk for every query. Nodes are texts of phrases and numbers of chunks."""
    chunks, facts, queries = corpus
    triples = {(chunk, (fact.subject, fact.relation, fact.object)) for chunk, fact in facts}
    edges: defaultdict[frozenset[str | int], float] = defaultdict(float)
    holders: defaultdict[str, set[int]] = defaultdict(set)
    for chunk, (subject, _, other) in triples:
        holders[subject].add(chunk)
        holders[other].add(chunk)
    for _, linked in {(chunk, frozenset((own[0], own[2]))) for chunk, own in triples}:
        if len(linked) == 2:
            edges[frozenset(linked)] += 1
    phrases = sorted(holders)
    for one, other in combinations(phrases, 2):
        if (near := cosine(one, other)) >= graph.synonym_threshold:
            edges[frozenset((one, other))] += near
    for phrase, own in holders.items():
        for chunk in own:
            edges[frozenset((phrase, chunk))] += 1
    nodes: list[str | int] = [*phrases, *range(len(chunks))]
    matrix = np.zeros((len(nodes), len(nodes)))
    for pair, weight in edges.items():
        row, column = (nodes.index(node) for node in pair)
        matrix[row, column] = matrix[column, row] = weight
    known = sorted({own for _, own in triples})
    return [_scores(graph, matrix, nodes, holders, known, chunks, query) for query in queries]


def _scores(
    graph: EntityGraph,
    matrix: NDArray[np.float64],
    nodes: list[str | int],
    holders: dict[str, set[int]],
    known: list[tuple[str, str, str]],
    chunks: list[str],
    query: str,
) -> list[float]:
    seeds = dict.fromkeys(nodes, 0.0)
    near = {own: product(query, " ".join(own)) for own in known}
    best = sorted((own for own in known if near[own] > 0), key=lambda own: (-near[own], own))[: graph.n_facts]
    found = defaultdict(list)
    for own in best:
        span = max(near.values()) - min(near.values())
        weight = (near[own] - min(near.values())) / span if span else 1.0
        for phrase in {own[0], own[2]}:
            found[phrase].append(weight)
    for phrase, weights in found.items():
        seeds[phrase] = sum(weights) / len(weights) / len(holders[phrase])
    dense = {chunk: value for chunk, text in enumerate(chunks) if (value := product(query, text))}
    for chunk, value in dense.items():
        span = max(dense.values()) - min(dense.values())
        seeds[chunk] = graph.passage_weight * ((value - min(dense.values())) / span if span else 1.0)
    start = np.array([seeds[node] for node in nodes]) / sum(seeds.values())
    degree = matrix.sum(axis=0)
    walk = np.where(degree > 0, matrix / np.where(degree > 0, degree, 1), start[:, None])
    ranks = np.linalg.solve(np.eye(len(nodes)) - graph.damping * walk, (1 - graph.damping) * start)
    return [float(rank) for rank in ranks[-len(chunks) :]]


@pytest.mark.parametrize("graph", [GRAPH, replace(GRAPH, n_facts=2, passage_weight=0.5, damping=0.85)])
def test_entity_graph_rankings_equal_a_plain_implementation(graph: EntityGraph) -> None:
    graph, n_equal = replace(graph, tolerance=1e-12), 0
    for seed in range(5):
        corpus = drawn(seed)
        hits, expected = searched(graph, corpus, 40), plainly(graph, corpus)
        for row, scores in enumerate(expected):
            rounded = np.array(scores, dtype=np.float32)
            ranking = sorted(range(40), key=lambda chunk: (-rounded[chunk], chunk))
            np.testing.assert_allclose(hits.score[row], rounded[hits.chunk[row]], rtol=1e-5)
            n_equal += hits.chunk[row].tolist() == ranking
    assert n_equal == 60


def test_approximate_ranks_differ_from_exact_ranks_within_the_tolerance() -> None:
    corpus = drawn(1)
    for tolerance in (1e-2, 1e-6):
        hits = searched(replace(GRAPH, tolerance=tolerance), corpus, 40)
        for row, scores in enumerate(plainly(GRAPH, corpus)):
            assert np.abs(hits.score[row] - np.array(scores)[hits.chunk[row]]).sum() <= tolerance + 1e-6
    assert n_steps(0.5, 1e-6) == 21


def test_entity_graph_without_facts_ranks_as_dense_search() -> None:
    chunks, _, queries = drawn(2, n_chunks=60)
    found = searched(GRAPH, (chunks, [], queries), 25)
    dense = Flat().search({}, embedded(chunks), embedded(queries), 25)
    assert rankings_of(found) == rankings_of(dense)


def test_entity_leads_to_a_passage_without_a_query_word() -> None:
    chunks = ["The mill stands by the Wye.", "Salmon, pike, eels.", "Which bricks stand in water?", "Trams, buses."]
    facts = [(0, Fact("mill", "stands by", "Wye")), (1, Fact("salmon", "lives in", "Wye"))]
    query = ["Which water does the mill stand by?"]
    alone, led = (rankings_of(searched(GRAPH, (chunks, own, query), 4))[0] for own in ([], facts))
    assert alone.index(1) > alone.index(2)
    assert led[:2] == [0, 1]


def test_entity_graph_counts_the_passages_of_a_phrase() -> None:
    facts = [(row, Fact("the town", "has", "a mill")) for row in range(5)] + [(4, Fact("a mill", "has", "a wheel"))]
    table = fact_table(facts, 6)
    built = GRAPH.build(facts_within(table, 0, 6), embedded(table.phrases))
    counts = dict(zip(table.phrases, built["n_passages"].tolist(), strict=True))
    assert counts == {"a mill": 5, "a wheel": 1, "the town": 5}


def test_block_size_changes_no_ranking(monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = drawn(3)
    whole = searched(GRAPH, corpus, 9)
    monkeypatch.setattr(entity_graph, "_CELLS_AT_ONCE", 1)
    monkeypatch.setattr(synonyms, "_CELLS_AT_ONCE", 1)
    blocks = searched(GRAPH, corpus, 9)
    assert np.array_equal(whole.chunk, blocks.chunk)
    np.testing.assert_allclose(whole.score, blocks.score, rtol=1e-5)


def test_synonyms_are_the_pairs_above_the_cosine_threshold() -> None:
    unit = np.array([[1, 0], [0.8, 0.6], [0, 1], [0, 0], [2, 0]], dtype=np.float32)
    found = synonyms.synonyms(unit, 0.6, max_synonyms=9)
    pairs = list(zip(found.one.tolist(), found.other.tolist(), found.cosine.tolist(), strict=True))
    near = [(one, other, round(cosine, 3)) for one, other, cosine in pairs]
    assert near == [
        (0, 1, 0.8),
        (0, 4, 1.0),
        (1, 2, 0.6),
        (1, 4, 0.8),
    ]
    nearest = synonyms.synonyms(unit, 0.6, max_synonyms=1)
    assert list(zip(nearest.one.tolist(), nearest.other.tolist(), strict=True)) == [(0, 1), (0, 4), (1, 2)]
    assert len(synonyms.synonyms(unit, 0.6, max_synonyms=0).one) == 0


def test_edge_weight_counts_passages_that_state_the_fact() -> None:
    one, reverse, loop = Fact("a", "is", "b"), Fact("b", "was", "a"), Fact("c", "is", "c")
    facts = [(0, one), (0, reverse), (1, one), (1, loop)]
    built = EntityGraph(max_synonyms=0).build(facts_within(fact_table(facts, 2), 0, 2), embedded(["a", "b", "c"]))
    rows = np.split(built["neighbours"], built["offsets"][1:-1])
    weights = np.split(built["weights"], built["offsets"][1:-1])
    assert [own.tolist() for own in rows] == [[1, 3, 4], [0, 3, 4], [4], [0, 1], [0, 1, 2]]
    assert [own.tolist() for own in weights] == [[2, 1, 1], [2, 1, 1], [1], [1, 1], [1, 1, 1]]
    assert EntityGraph().counts(built) == {"n_synonyms": 0}


def test_query_without_near_facts_is_searched_by_passages() -> None:
    chunks = ["aaa bbb", "ccc ddd"]
    found = searched(GRAPH, (chunks, [(0, Fact("xx", "yy", "zz"))], ["ccc"]), 2)
    assert found.chunk[0, 0] == 1


def test_entity_graph_limits_hits_with_other_settings() -> None:
    table = fact_table(stated(CHUNKS), len(CHUNKS))
    graph = replace(GRAPH, n_facts=1, max_synonyms=1, damping=0.9)
    built = graph.build(facts_within(table, 0, len(CHUNKS)), vectors(table.phrases))
    hits = graph.search(built, vectors(table.facts), vectors(CHUNKS), vectors(QUERIES), 5)
    assert [len(own) for own in rankings_of(hits)] == [5, 5, 0, 5]


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"damping": 1.0}, "damping: got 1, expected a number in (0, 0.99]"),
        ({"tolerance": 0.0}, "tolerance: got 0, expected a number in (0, 1)"),
        ({"n_facts": 0}, "n_facts: got 0, expected at least 1"),
        ({"max_synonyms": -1}, "max_synonyms: got -1, expected at least 0"),
        ({"passage_weight": 0.0}, "passage_weight: got 0, expected a finite number above 0"),
        ({"passage_weight": float("nan")}, "passage_weight: got nan, expected a finite number above 0"),
        ({"synonym_threshold": 1.1}, "synonym_threshold: got 1.1, expected a cosine above 0, up to 1"),
    ],
)
def test_entity_graph_rejects_invalid_settings(fields: dict[str, Any], problem: str) -> None:
    (found,) = replace(GRAPH, **fields).check()
    assert found.startswith(problem)
