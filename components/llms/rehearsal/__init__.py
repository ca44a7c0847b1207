"""Rehearsals of generating evaluation data, without a language model."""
