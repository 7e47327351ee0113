"""The folder of results: few files, each valid whenever the run is killed."""

import json
import os
import pathlib
import shutil
import time

# Bytes of one file: where a machine is lent, not more comes back, or the whole file does not.
LARGEST = 15 * 10**6
ROOM = 3 * 10**6  # a step is not started without: rows of every algorithm of some layers
LOG_HEAD, LOG_TAIL = 4 * 10**6, 6 * 10**6  # kept of a log that grows beyond LARGEST
FILES = {
    "README.md": "this page",
    "steps.jsonl": "the machine, its data sheet, and what each step did, was refused or left out for",
    "log.txt": "everything the programs said",
    "parts.jsonl": "results of bench conv, gemm, update, memory, device, io, comm on the GPU (dlscale.result)",
    "training.jsonl": "results of bench e2e and overhead on the GPU (dlscale.result)",
    "cpu.jsonl": "the same on the processor's cores, with bench comm (dlscale.result)",
    "pytorch.jsonl": "the same network in PyTorch, one line a measurement (dlscale.peer)",
    "models.jsonl": "the last fitted machines, validations, and predictions for more GPUs, one a line",
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
        """Whether a step may begin to write into it."""
        return self.size(name) < LARGEST - ROOM

    def is_full(self, name):
        """Whether a step that writes into it must end. Of the log the middle is left out instead."""
        return name != "log.txt" and self.size(name) >= LARGEST

    def shorten_log(self):
        """Between steps, while nothing writes: leaves out the middle of a log that is too long."""
        size = self.size("log.txt")
        if size < LARGEST:
            return
        with self.path("log.txt").open("rb+") as file:
            file.seek(size - LOG_TAIL)
            tail = file.read()
            file.seek(LOG_HEAD)
            left_out = size - LOG_HEAD - LOG_TAIL
            file.write(f"\n== {left_out} bytes are left out here: a larger file is lost\n".encode())
            file.write(tail)
            file.truncate()

    def replace_line(self, name, key, document):
        """Appends a JSON line in place of those that have the values of `key`: few and long ones, of
        which the last counts. At no moment is the file half written."""
        kept = [line for line in self.lines(name) if any(line.get(k) != key[k] for k in key)]
        text = "".join(json.dumps(line) + "\n" for line in [*kept, document])
        beside = self.path(f"{name}.new")
        beside.write_text(text, encoding="utf-8")
        beside.replace(self.path(name))

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
