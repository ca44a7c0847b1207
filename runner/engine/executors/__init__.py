"""Where stages run: in this process, in worker processes, or on other machines. `runner.engine.schedule` says which."""
