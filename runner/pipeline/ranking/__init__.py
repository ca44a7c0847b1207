"""Stages of the order of hits: by one reranker, a cascade, or a language model."""
