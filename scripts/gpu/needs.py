"""What steps need, and why this machine or this build lacks it."""

import functools
import re

import machine


class Needs:
    """Each need is looked for once. `python` is the interpreter that has PyTorch."""

    def __init__(self, programs, python):
        self._programs = programs
        self._python = python

    def lacks(self, need):
        """Why the need is not met, or None."""
        return getattr(self, f"_{need}")()

    def _gpu(self):
        return self._programs.gpu_problem

    def _mpi(self):
        return self._programs.mpi_problem

    @functools.cached_property
    def _info(self):
        environment = self._programs.environment()
        return machine.output_of(self._programs.command(["info"]), environment=environment)

    def _backend(self, name):
        """What dlscale info says of a compute backend that it cannot use here."""
        found = re.search(
            rf"^  {name} +(?:(not in this build.*)|.*\n {{10,}}(built, but not usable here.*)|.*)$",
            self._info,
            re.MULTILINE,
        )
        if found is None:
            return f"dlscale info does not name the backend {name}"
        return found.group(1) or found.group(2)

    def _cuda(self):
        return self._gpu() or self._backend("cuda")

    def _onednn(self):
        return self._backend("onednn")

    @functools.cached_property
    def _torch_problem(self):
        text = machine.output_of(
            [
                self._python,
                "-c",
                "import torch; print(torch.__version__, torch.cuda.is_available())",
            ],
            timeout=120,
        ).splitlines()
        last = text[-1] if text else "it says nothing"
        if last.endswith("True"):
            return None
        return f"PyTorch cannot be used: {last}"

    def _torch(self):
        return self._gpu() or self._torch_problem

    def _sanitizer(self):
        if self._gpu():
            return self._gpu()
        if machine.toolkit_tool("compute-sanitizer"):
            return None
        return "compute-sanitizer is neither on the PATH nor in the CUDA toolkit"
