"""The store in a bucket: the objects in there are the truth, and a local folder is the cache from which they are read.

Asked for are: a listing when a sweep begins, and for each stage that is made at most one look whether it is there, its
lock, its result, and the end of its lock. Workspaces, rate limits and budgets stay with each host.
"""
