"""Trains a judge on human labels."""
