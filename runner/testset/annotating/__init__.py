"""Inspection and correction of a test set by people."""
