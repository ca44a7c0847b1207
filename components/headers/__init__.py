"""Write what is searched together with a chunk, and is no part of it."""
