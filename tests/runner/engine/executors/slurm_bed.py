"""A Slurm for tests on this machine: a controller and two nodes, each with all cores of the machine."""

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "squeue", "scancel")
_NODES = ("n1", "n2")
_USUAL, _URGENT = "usual", "urgent"
_LONG_S = 30.0

_CONFIGURATION = """
ClusterName=tests
SlurmctldHost=localhost
SlurmctldPort={controller}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerParameters=batch_sched_delay=1,sched_interval=2,bf_interval=2
ReturnToService=2
KillWait=2
MpiDefault=none
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
PreemptType=preempt/partition_prio
PreemptMode=CANCEL
{nodes}
PartitionName={usual} Nodes=ALL Default=YES MaxTime=INFINITE State=UP PriorityTier=1 PreemptMode=CANCEL
PartitionName={urgent} Nodes=ALL MaxTime=INFINITE State=UP PriorityTier=10 PreemptMode=OFF
"""


def lacking() -> str:
    """Return why this machine cannot run Slurm; "" if it can."""
    if missing := [name for name in PROGRAMS if not shutil.which(name)]:
        return f"{', '.join(missing)} not found: install Slurm and MUNGE (slurm-wlm and munge in Debian)"
    return "" if os.geteuid() == 0 else "Slurm's nodes want to be started by root"


class SlurmBed:
    """The daemons of Slurm. `close` ends them and everything that they run."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="rg-slurm-"))  # short: a socket is in there
        self.environment = {**os.environ, "SLURM_CONF": str(self._folder / "slurm.conf")}
        try:
            self._start()
        except BaseException:
            self.close()
            raise

    def _start(self) -> None:
        folder = self._folder
        folder.chmod(0o755)
        (folder / "state").mkdir()
        key = folder / "munge.key"
        key.write_bytes(os.urandom(64))
        key.chmod(0o600)
        controller, *ports = _free_ports(1 + len(_NODES))
        nodes = "\n".join(
            f"NodeName={name} NodeHostname={socket.gethostname().partition('.')[0]} NodeAddr=127.0.0.1 Port={port} "
            f"CPUs={os.cpu_count()} RealMemory=2000"
            for name, port in zip(_NODES, ports, strict=True)
        )
        text = _CONFIGURATION.format(folder=folder, controller=controller, nodes=nodes, usual=_USUAL, urgent=_URGENT)
        (folder / "slurm.conf").write_text(text, encoding="utf-8")
        files = {"socket": "munge.socket", "key-file": "munge.key", "pid-file": "munged.pid", "log-file": "munged.log"}
        places = [f"--{name}={folder / file}" for name, file in {**files, "seed-file": "munge.seed"}.items()]
        self._run("munged", "--force", *places)
        self._run("slurmctld")
        for name in _NODES:
            self._run("slurmd", "-N", name)
        self.wait_until(lambda: set(self.told("sinfo", "--noheader", "--format=%D %T")) == {f"{len(_NODES)} idle"})

    def _run(self, *command: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(command, env=self.environment, capture_output=True, text=True, check=True)

    def told(self, *command: str) -> list[str]:
        """Return the lines that one of Slurm's commands prints, or [] while the command fails."""
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False)
        return done.stdout.split("\n")[:-1] if done.returncode == 0 else []

    def jobs(self) -> list[str]:
        """Return the names of running and pending jobs."""
        return self.told("squeue", "--noheader", "--format=%i", "--states=PENDING,RUNNING")

    def wait_until(self, condition: Callable[[], bool]) -> None:
        """Wait until the condition holds. Fail after the timeout."""
        limit = time.monotonic() + _LONG_S
        while not condition():
            if time.monotonic() > limit:
                logs = [path.read_text(errors="replace")[-1500:] for path in self._folder.glob("*.log")]
                raise AssertionError("the awaited moment never came:\n" + "\n".join(logs))
            time.sleep(0.1)

    def close(self) -> None:
        """End all daemons, even if only some of them were started."""
        for job in self.jobs():
            self.told("scancel", job)
        for name in ["slurmctld.pid", *(f"slurmd-{node}.pid" for node in _NODES), "munged.pid"]:
            if (file := self._folder / name).exists():
                subprocess.run(["kill", "-KILL", file.read_text().strip()], check=False)
        shutil.rmtree(self._folder, ignore_errors=True)


def _free_ports(n: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(n)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports
