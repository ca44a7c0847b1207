"""Executors run stages in this process, in worker processes, or on other machines. `runner.engine.schedule` drives
them.
"""
