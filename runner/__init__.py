"""The grid runner: plans a sweep of pipelines, does every distinct piece of work once, keeps it, and reports."""
