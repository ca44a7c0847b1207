"""A content-addressed store of stage results on a file system that processes and machines may share.

    <root>/store.json                   the format's version
    <root>/entries/<kind>/<ke>/<key>/   one result: its files, and manifest.json with their checksums, written last
    <root>/replies/<key>/<writer>.jsonl all replies that a model gave for one purpose, one a line, by request
    <root>/pair_scores/<key>/           scores of a reranker by query and chunk, in blocks named by their checksums
    <root>/workspaces/<key>/            what a long stage that was broken off has made so far, in such blocks
    <root>/limits/<account>             when servers with rate limits may be asked next, for all who ask them
    <root>/writers/<writer>             a sign of life of each process that writes
    <root>/locks/<key>.lock             which of them computes a result; other kinds: `runner.engine.store.locks`
    <root>/runs/                        what the sweeps that are under way need, so that prune leaves it
    <root>/exports/                     where exports are being written: `runner.engine.store.half_exports`
    <root>/tmp/                         results being written; what a killed process left is removed by prune

A result without a manifest does not exist, and the first whole one of its key stays, whoever writes a second: neither
readers nor writers need a lock for that, and locks only save work. A result whose files differ from its manifest is
damaged: reading it raises `DamagedEntryError`, and the executor removes and recomputes it.
"""

from runner.engine.store.bucket.address import is_bucket
from runner.engine.store.manifests import Manifest
from runner.engine.store.opening import open_store
from runner.engine.store.stored_result import StoredResult
from runner.engine.store.stored_results import Store

__all__ = ["Manifest", "Store", "StoredResult", "is_bucket", "open_store"]
