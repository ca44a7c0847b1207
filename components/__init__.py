"""Components of a RAG pipeline, a folder per role, and the libraries that they share: text, statistics, secrets, servers."""
