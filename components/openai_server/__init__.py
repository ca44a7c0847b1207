"""Client for servers with OpenAI's protocol, with retries. Every component behind a server uses it."""
