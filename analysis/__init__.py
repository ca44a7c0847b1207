"""Turns the results of sweeps into tables and tests."""
