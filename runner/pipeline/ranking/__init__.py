"""The order of the hits: reranked in one stage, in a cascade, or by a language model."""
