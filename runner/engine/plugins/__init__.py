"""The code of users' packages: hashed when it is loaded, and the same in all processes of a run."""
