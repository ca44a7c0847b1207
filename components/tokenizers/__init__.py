"""Tokenizers: they split texts into words for indexes and metrics, or into tokens that measure lengths."""
