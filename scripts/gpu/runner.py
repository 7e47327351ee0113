"""Carries out steps, the most valuable first, until all are done or the time is over."""

import dataclasses
import pathlib
import re
import signal
import sys
import tempfile
import time
import traceback

import ceilings
import cpu_plan
import driver
import gpu_plan
import machine
import page
import peer_plan
import probe_plan
import tests_plan
from needs import Needs
from programs import Programs
from record import Record
from session import Outcome, Session

RESERVE = 8  # seconds kept for stopping the last step and writing the page
GROUPS = {
    "tests": "device tests, and own kernels under compute-sanitizer",
    "quick": "each part of an iteration once, and the GPU's memory, launches and copies",
    "pytorch": "ResNet-50 beside PyTorch, in turn",
    "probes": "our own convolutions beside every algorithm of cuDNN, and matrix products",
    "train": "training of all networks, with the parts that predictions are made of",
    "cpu": "data-parallel training on the processor's cores",
}


@dataclasses.dataclass
class Options:
    """What the command line asks for."""

    pack: pathlib.Path
    out: pathlib.Path
    minutes: float
    groups: list
    python: str
    cpu_networks: list
    cpu_iterations: int
    cpu_pictures: int


def plan(options, programs):
    """All steps of the groups asked for, in the order of value: what is worth most of each group,
    then the rest. What several groups need is done once."""
    made = {
        "tests": lambda: tests_plan.steps(programs, driver.gpu_count()),
        "quick": gpu_plan.quick_steps,
        "pytorch": lambda: peer_plan.steps(options.python),
        "probes": probe_plan.steps,
        "train": lambda: gpu_plan.training_steps(
            ceilings.cluster_of(programs.configs(), driver.gpu_name()), driver.gpu_count()
        ),
        "cpu": lambda: cpu_plan.steps(
            options.cpu_networks, options.cpu_iterations, options.cpu_pictures
        ),
    }
    steps = {}
    for group in options.groups:
        for step in made[group]():
            steps.setdefault(step.name, step)
    return sorted(steps.values(), key=lambda step: step.turn)


class Run:
    """One run: its session, what it has learned about how long steps take, and what it tells."""

    def __init__(self, options, session, needs):
        gpu = driver.gpu_name() or "a machine without a GPU"
        self._title = f"dlscale on {gpu}: {time.strftime('%Y-%m-%d %H:%M', time.gmtime())} UTC"
        self._options, self._session, self._needs = options, session, needs
        self._taken = {}
        self._refused = {}

    def _told_in_log(self, error):
        self._session.record.log("".join(traceback.format_exception(error)))
        return f"{type(error).__name__}: {error}"

    def _write_page(self, state):
        """A page that cannot be made of some rows must not end the run that measures others."""
        record = self._session.record
        try:
            text = page.text(record, self._title, state)
        except Exception as error:
            why = self._told_in_log(error)
            text = f"# {self._title}\n\n{state}\n\nNo tables: {why} (log.txt has where).\n"
        record.page(text)

    def _note(self, step, status, reason, seconds=None, details=None):
        row = {"step": step.name, "doc": step.doc, "status": status, "reason": reason}
        if seconds is not None:
            row["seconds"] = round(seconds, 2)
        self._session.record.line("steps.jsonl", row | ({"details": details} if details else {}))
        told = f"{seconds:.0f} s" if seconds is not None else ""
        print(
            f"{step.name}: {' '.join(filter(None, [status, told, reason]))}",
            file=sys.stderr,
            flush=True,
        )

    def _estimate(self, step):
        """As long as steps like it took, if some did."""
        return self._taken.get(step.kind, step.seconds)

    def _hindrance(self, step):
        """(status, why) if the step is not to be started."""
        for need in step.needs:
            if reason := self._needs.lacks(need):
                return "skipped", reason
        if step.feature in self._refused:
            return "skipped", f"refused before: {self._refused[step.feature]}"
        left = self._session.remaining() - RESERVE
        if left < self._estimate(step):
            return "left out", "no time was left for it"
        return None

    def _carry_out(self, step):
        """Whether there was something to do."""
        start = time.monotonic()
        limit = min(step.limit, self._session.remaining() - RESERVE)
        try:
            outcome = step.action(self._session, limit)
        except Exception as error:  # of one step: the others are worth their time
            outcome = Outcome("failed", self._told_in_log(error))
        self._session.record.shorten_log()
        seconds = time.monotonic() - start
        self._taken[step.kind] = seconds
        if outcome.status == "refused" and step.feature:
            self._refused[step.feature] = outcome.reason
        self._note(step, outcome.status, outcome.reason, seconds, outcome.details)
        return outcome.status != "skipped"

    def carry_out(self, steps):
        """All of them, or as many as there is time for. Returns the number done."""
        done = 0
        for index, step in enumerate(steps):
            if self._session.signal:
                break
            if hindrance := self._hindrance(step):
                self._note(step, *hindrance)
                continue
            self._write_page(f"Under way: {step.name} ({index + 1} of {len(steps)} steps).")
            done += self._carry_out(step)
        self._finish(len(steps), done)
        return done

    def _finish(self, count, done):
        minutes = self._options.minutes
        state = f"{done} of {count} steps ran within {minutes:g} minutes."
        if self._session.signal:
            state = f"Interrupted by signal {self._session.signal}: {state}"
        self._write_page(state)


def _name_of_results(programs):
    """Where results of this GPU are kept: results/h100/2026-12-01-1a2b3c4."""
    commit = re.search(r"commit (\w{7})", programs.manifest["program"])
    day = time.strftime("%Y-%m-%d", time.gmtime())
    return f"results/{driver.folder_name(driver.gpu_name())}/{day}-{commit.group(1) if commit else 'unknown'}"


def run(options):
    """Returns the exit code: 0, 5 if nothing ran, 130 or 143 if interrupted."""
    deadline = time.monotonic() + 60 * options.minutes
    with tempfile.TemporaryDirectory(prefix="dlscale-") as temporary:
        work = pathlib.Path(temporary)
        programs = Programs(options.pack, work / "pack")
        record = Record(options.out)
        session = Session(programs, record, work, deadline)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, session.interrupt)
        record.line(
            "steps.jsonl",
            {
                "machine": machine.describe()
                | {"programs": programs.manifest["program"], "gpu_problem": programs.gpu_problem},
                "ceilings": ceilings.of(programs.configs(), driver.gpu_name()),
            },
        )
        made = Run(options, session, Needs(programs, options.python))
        done = made.carry_out(plan(options, programs))
        if programs.gpu_problem is None:
            print(f"to be kept as {_name_of_results(programs)}", file=sys.stderr)
        if session.signal:
            return 128 + session.signal
        return 0 if done else 5
