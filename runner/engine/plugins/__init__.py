"""The code of users' packages: hashed once, when it is loaded, and the same for the whole run in all of its processes."""
