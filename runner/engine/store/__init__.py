"""A content-addressed store of stage results, on a file system that processes and machines may share.

    <root>/store.json                   version of the format
    <root>/entries/<kind>/<ke>/<key>/   one result: its files, and manifest.json with their checksums, written last
    <root>/replies/<key>/<writer>.jsonl replies of a model for one purpose, one per line, by request
    <root>/pair_scores/<key>/           scores of a reranker by query and chunk, in blocks named by their checksums
    <root>/workspaces/<key>/            intermediate results of interrupted long stages, in such blocks
    <root>/limits/<account>             state of the rate limits of servers, for all processes that ask them
    <root>/writers/<writer>             heartbeat file of each process that writes
    <root>/locks/<key>.lock             process that computes a result; other kinds: `runner.engine.store.locks`
    <root>/runs/                        results that running sweeps need, so that prune keeps them
    <root>/exports/                     exports being written: `runner.engine.store.unfinished_exports`
    <root>/tmp/                         results being written; prune removes the remains of killed processes

A result without a manifest does not exist. The first complete result of a key stays, even if another process writes a
second one. Neither readers nor writers need a lock for that: locks only save work. A result whose files differ from its
manifest is damaged. Reading it raises `DamagedEntryError`, and the executor removes and recomputes it.
"""

from runner.engine.store.bucket.address import is_bucket
from runner.engine.store.manifests import Manifest
from runner.engine.store.opening import open_named_store, open_store
from runner.engine.store.stored_result import StoredResult
from runner.engine.store.stored_results import Store

__all__ = ["Manifest", "Store", "StoredResult", "is_bucket", "open_named_store", "open_store"]
