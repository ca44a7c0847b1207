"""Configuration groups of python -m runner.generate. Those for models and prices are the runner's."""
