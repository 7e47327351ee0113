"""The folder of results: few files, each valid whenever the run is killed."""

import json
import os
import pathlib
import shutil
import time

LARGEST = 15 * 10**6  # bytes of one file: where a machine is lent, not more comes back
FILES = {
    "README.md": "this page",
    "steps.jsonl": "the machine, its data sheet, and what each step did, was refused or left out for",
    "log.txt": "everything the programs said",
    "parts.jsonl": "results of bench conv, gemm, update, memory, device and io on the GPU (dlscale.result)",
    "training.jsonl": "results of bench e2e and overhead on the GPU (dlscale.result)",
    "cpu.jsonl": "the same on the processor's cores, with bench comm (dlscale.result)",
    "pytorch.jsonl": "the same network in PyTorch, one line a measurement (dlscale.peer)",
    "models.jsonl": "fitted machines, validations and predictions, one a line",
}


class RecordError(Exception):
    """The folder cannot be used; the message says why."""


def _append(path, data):
    """One write: whoever reads sees all of it or nothing."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        os.write(handle, data)
    finally:
        os.close(handle)


def take_apart(path, folder):
    """Writes each of the results that stand one after the other in a file to one of its own."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    count = 0
    for line in lines:
        count += '"schema"' in line
        with (folder / f"{count:04}.jsonl").open("a", encoding="utf-8") as file:
            file.write(line)
    return folder


class Record:
    """Writes a folder that must be new or empty."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            if any(self.folder.iterdir()):
                raise RecordError(
                    f"{folder} is not empty (results of two runs must not mix). "
                    "Name another folder."
                )
        except OSError as error:
            raise RecordError(f"{folder} cannot be written: {error}.") from error

    def path(self, name):
        return self.folder / name

    def line(self, name, document):
        """Appends a JSON line. NaN is no JSON: what holds one is written as text."""
        try:
            text = json.dumps(document, allow_nan=False)
        except ValueError:
            text = json.dumps({"text": repr(document)})
        _append(self.path(name), text.encode() + b"\n")

    def log(self, text):
        stamp = time.strftime("%H:%M:%S", time.gmtime())
        _append(self.path("log.txt"), f"== {stamp} {text}\n".encode())

    def has_room(self, name):
        path = self.path(name)
        return not path.exists() or path.stat().st_size < LARGEST

    def size(self, name):
        path = self.path(name)
        return path.stat().st_size if path.exists() else 0

    def text_since(self, name, offset):
        """What was appended to a file after it had `offset` bytes."""
        if self.size(name) <= offset:
            return ""
        with self.path(name).open("rb") as file:
            file.seek(offset)
            return file.read().decode("utf-8", "replace")

    def cut_half_line(self, name):
        """A program that was killed may have left half a line, which would spoil what follows."""
        path = self.path(name)
        if not path.exists():
            return
        with path.open("rb+") as file:
            content = file.read()
            if content and not content.endswith(b"\n"):
                file.truncate(content.rfind(b"\n") + 1)

    def lines(self, name):
        """The JSON lines of a file."""
        if not self.path(name).exists():
            return []
        text = self.path(name).read_text(encoding="utf-8")
        found = []
        for line in text.splitlines():
            try:
                found.append(json.loads(line))
            except ValueError:
                continue  # the line under way when a program was killed
        return found

    def page(self, text):
        """Writes README.md in place: at no moment is it empty or missing."""
        data = text.encode()
        handle = os.open(self.path("README.md"), os.O_WRONLY | os.O_CREAT, 0o644)
        try:
            os.pwrite(handle, data, 0)
            os.ftruncate(handle, len(data))
        finally:
            os.close(handle)
