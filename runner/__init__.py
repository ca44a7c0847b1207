"""The grid runner: plans a sweep of pipelines, does every distinct piece of work once, keeps it, and reports."""

from runner.own_packages import find_own_packages_first

find_own_packages_first()
