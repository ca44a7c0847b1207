"""The executors of one machine satisfy the contract of executors."""

from typing import ClassVar

from runner.engine.executors.local import Local
from runner.engine.executors.processes import Processes
from tests.contracts.executor_contract import ExecutorContract


class TestLocal(ExecutorContract):
    executor = Local()
    n_workers: ClassVar[int] = 1
    outlives_workers: ClassVar[bool] = False


class TestProcesses(ExecutorContract):
    executor = Processes()
