"""Connections to a Qdrant server, for the index that stores vectors there and for a retriever over a collection."""
