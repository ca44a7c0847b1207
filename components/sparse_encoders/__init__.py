"""Encoders that give each text a weight for every token of a vocabulary: learned sparse vectors."""
