"""Join several rankings of the same queries into one."""
