"""Headers: texts that are searched together with a chunk, but are not part of it."""
