"""A store in a bucket. The objects in the bucket are authoritative, and a local folder caches the objects that were
read.

A sweep sends one listing at its start. For each computed stage it sends at most one lookup, the lock, the result, and
the release of the lock. Workspaces, rate limits and budgets stay local to each host.
"""
