"""Starts commands, prints their output, writes their files and ends them."""
