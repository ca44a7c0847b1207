"""Code of users' packages: hashed when it is loaded, and equal in all processes of a run."""
