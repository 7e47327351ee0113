"""One run on one machine: its time, its programs, its record, and steps carried out one by one."""

import contextlib
import ctypes
import dataclasses
import os
import signal
import subprocess
import time
from collections.abc import Callable

STOP_SECONDS = 6  # from a request to stop until the kill: ranks end an iteration and write
FULL = "is full: larger files do not come back from lent machines"
LIBC = ctypes.CDLL(None, use_errno=True)
PR_SET_PDEATHSIG = 1


@dataclasses.dataclass
class Outcome:
    """How a step ended. Status: ok, failed, refused (not in this build or not on this machine),
    "timed out", interrupted."""

    status: str
    reason: str = ""
    code: int = 0
    details: dict = dataclasses.field(default_factory=dict)


@dataclasses.dataclass
class Step:
    """One thing to do. `seconds` is an estimate, `limit` what it gets at most; `kind` names steps
    whose times are alike; `needs` what it is skipped without; `feature` what is not tried again
    once the program has refused it; `turn` 1 waits until all groups have done their turn 0."""

    name: str
    doc: str
    kind: str
    seconds: float
    limit: float
    action: Callable
    needs: tuple = ()
    feature: str = ""
    turn: int = 0


def _die_with_parent():
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


class Session:
    """Carries out commands within the time that is left."""

    def __init__(self, programs, record, work, deadline):
        self.programs = programs
        self.record = record
        self.work = work
        self.deadline = deadline  # of time.monotonic()
        self.signal = 0
        self._children = []

    def remaining(self):
        return self.deadline - time.monotonic()

    def interrupt(self, number, _frame):
        """Handler of signals: who waits for the step under way stops it; the run then ends."""
        self.signal = number

    def no_room(self, name):
        """A step whose results would make its file too large to be carried home."""
        return Outcome("failed", f"{name} {FULL}")

    def _tell(self, number):
        for child in self._running():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, number)

    def execute(self, command, limit, output="log.txt", environment=None):
        """Runs a command whose standard output goes to a file of the record and whose errors go to
        the log. Stops it at its limit, and then kills it."""
        log_start, rows_start = self.record.size("log.txt"), self.record.size(output)
        with self.record.path(output).open("ab") as out:
            problem = self._start(command, out, environment)
        if problem:
            return problem
        outcome = self._finish(limit, output, log_start)
        if outcome.status == "refused" and '"axes"' in self.record.text_since(output, rows_start):
            # Something in it was refused, not all of it: the rest of its kind is worth trying.
            outcome.status = "failed"
            outcome.reason = f"ended within its rows, which are kept: {outcome.reason}"
        return outcome

    def execute_together(self, commands, environments, limit):
        """Runs several commands at once, all into the log; how the worst of them ended."""
        log_start = self.record.size("log.txt")
        with self.record.path("log.txt").open("ab") as out:
            for command, environment in zip(commands, environments, strict=True):
                if problem := self._start(command, out, environment):
                    self._wait(0)
                    self._children = []
                    return problem
        return self._finish(limit, "log.txt", log_start)

    def _start(self, command, out, environment):
        """Adds a process to those under way. Returns how the step ended if it cannot be started."""
        command = list(map(str, command))
        self.record.log("$ " + " ".join(command))
        with self.record.path("log.txt").open("ab") as log:
            try:
                self._children.append(
                    subprocess.Popen(
                        command,
                        stdout=out,
                        stderr=log,
                        stdin=subprocess.DEVNULL,
                        cwd=self.work,
                        env=environment or self.programs.environment(),
                        start_new_session=True,
                        preexec_fn=_die_with_parent,
                    )
                )
            except OSError as error:
                return Outcome("failed", f"{command[0]} cannot be started: {error}")
        return None

    def _finish(self, limit, output, log_start):
        in_time = self._wait(limit, output)
        codes = [child.returncode for child in self._children]
        self._children = []
        self.record.cut_half_line(output)
        said = self.record.text_since("log.txt", log_start)
        if not in_time and not self.signal and self.record.is_full(output):
            return Outcome("failed", f"{output} {FULL}; what it had is kept", max(codes, key=abs))
        return self._outcome(max(codes, key=abs), not in_time, limit, said)

    def _running(self):
        return [child for child in self._children if child.poll() is None]

    def _wait(self, limit, output="log.txt"):
        """Whether all ended by themselves in time, and before their file was full. They are gone
        afterwards in any case."""
        end = time.monotonic() + limit
        while self._running() and time.monotonic() < end and not self.signal:
            if self.record.is_full(output):
                break
            time.sleep(0.1)
        if not self._running():
            return True
        self._tell(signal.SIGINT)
        end = time.monotonic() + STOP_SECONDS
        while self._running() and time.monotonic() < end:
            time.sleep(0.1)
        self._tell(signal.SIGKILL)
        for child in self._children:
            child.wait()
        return False

    def _outcome(self, code, timed_out, limit, said):
        last = [line for line in said.splitlines() if line.startswith("dlscale: ")][-1:]
        reason = last[0].removeprefix("dlscale: ") if last else ""
        if self.signal:
            return Outcome("interrupted", f"signal {self.signal}", code)
        if timed_out:
            return Outcome("timed out", f"stopped after {limit:.0f} s; what it had is kept", code)
        if code == 0:
            return Outcome("ok", "", code)
        if code == 6:
            return Outcome("refused", reason or "not in this build", code)
        return Outcome("failed", reason or f"exit code {code}", code)
