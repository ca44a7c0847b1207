"""Stages of the answers: context, examples, prompts and the language model."""
