"""Inspection and correction of a released set by people."""
