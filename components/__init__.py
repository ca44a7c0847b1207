"""Components of a RAG pipeline, a folder per role, and libraries that they share, such as text and statistics."""
