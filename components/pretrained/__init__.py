"""Pretrained models: what embedders, rerankers, language models and metrics share in finding and loading them."""
