"""Servers that speak OpenAI's protocol: calling them, with retries, for every role that has a component behind one."""
