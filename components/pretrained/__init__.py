"""Pretrained models: finding and loading them for embedders, rerankers, language models and metrics."""
