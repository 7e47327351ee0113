"""What steps need, and why this machine or this build lacks it."""

import re

import driver
import machine
from programs import COLD_START

MOST_ASKED = 2  # times that an answer is waited for: the first reads libraries from a cold disk


class Needs:
    """Each need is looked for once; once more where there was no answer in time. `python` is the
    interpreter that has PyTorch."""

    def __init__(self, programs, python):
        self._programs = programs
        self._python = python
        self._told = self._torch_told = None  # by dlscale info and PyTorch
        self._asked_for = self._torch_asked_for = 0

    def lacks(self, need):
        """Why the need is not met, or None."""
        return getattr(self, f"_{need}")()

    def _gpu(self):
        return self._programs.gpu_problem

    def _mpi(self):
        return self._programs.mpi_problem

    def _asked(self):
        environment = self._programs.environment()
        return machine.output_of(self._programs.command(["info"]), COLD_START, environment)

    def _info(self):
        """What dlscale info says: it opens the GPU and its libraries, long on a fresh machine."""
        if self._told is None:
            said = self._asked()
            self._asked_for += 1
            if machine.TOO_SLOW in said and self._asked_for < MOST_ASKED:
                return said
            self._told = said
        return self._told

    def _backend(self, name):
        """What dlscale info says of a compute backend that it cannot use here."""
        said = self._info()
        if machine.TOO_SLOW in said:
            return f"dlscale info gave no answer: {said}"
        found = re.search(
            rf"^  {name} +(?:(not in this build.*)|.*\n {{10,}}(built, but not usable here.*)|.*)$",
            said,
            re.MULTILINE,
        )
        if found is None:
            return f"dlscale info does not name the backend {name}"
        return found.group(1) or found.group(2)

    def _cuda(self):
        return self._gpu() or self._backend("cuda")

    def _peers(self):
        count = driver.gpu_count()
        return None if count > 1 else f"{count} GPU is here, and messages are between two at least"

    def _onednn(self):
        return self._backend("onednn")

    def _torch_problem(self):
        if self._torch_told is None:
            code = "import torch; print(torch.__version__, torch.cuda.is_available())"
            said = machine.output_of([self._python, "-c", code], timeout=COLD_START)
            self._torch_asked_for += 1
            if machine.TOO_SLOW in said and self._torch_asked_for < MOST_ASKED:
                return f"PyTorch cannot be used: {said}"
            self._torch_told = (said.splitlines() or ["it says nothing"])[-1]
        if self._torch_told.endswith("True"):
            return None
        return f"PyTorch cannot be used: {self._torch_told}"

    def _torch(self):
        return self._gpu() or self._torch_problem()

    def _sanitizer(self):
        if self._gpu():
            return self._gpu()
        if machine.toolkit_tool("compute-sanitizer"):
            return None
        return "compute-sanitizer is neither on the PATH nor in the CUDA toolkit"
