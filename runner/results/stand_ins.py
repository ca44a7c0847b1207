"""Options that replace models by rules, so that a sweep runs without a download."""

STAND_INS = {
    ("llm", "extractive"): (
        "The generator is a stand-in",
        "llm=extractive copies sentences from the passages: answer scores measure what the retrieved text "
        "contains, not what a model would write.",
    ),
    ("llm", "scripted"): (
        "The generator is a stand-in",
        "llm=scripted replies from a script: answer scores say nothing about a model.",
    ),
    ("embedder", "lsa"): (
        "The embedder is a stand-in",
        "embedder=lsa is fitted on this corpus: dense and hybrid cells say little about neural embedders.",
    ),
    ("embedder", "hashing"): (
        "The embedder is a stand-in",
        "embedder=hashing knows no words: dense and hybrid cells say nothing about neural embedders.",
    ),
    ("reranker", "lexical"): (
        "The reranker is a stand-in",
        "reranker=lexical counts words of the query: its cells say little about cross-encoders.",
    ),
    ("reranker", "lexical_terms"): (
        "The reranker is a stand-in",
        "reranker=lexical_terms counts words of the query: its cells say little about cross-encoders.",
    ),
}
"""A heading, and the meaning for the numbers, by axis and option."""
