"""Fusions, which join several rankings of the same queries into one."""
