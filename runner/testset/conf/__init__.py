"""Groups of options of python -m runner.generate; models and prices are those of the runner."""
