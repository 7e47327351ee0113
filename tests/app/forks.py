"""Runs of the program without starting it each time: tests/app/forks.cpp."""

import os
import socket
import subprocess
import tempfile


class Forks:
    """The program, started once with these environment variables; one run after another."""

    def __init__(self, program, variables):
        self.socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self.process = subprocess.Popen([program, str(theirs.fileno())], env=variables, pass_fds=[theirs.fileno()],
                                            stdin=subprocess.DEVNULL)

    def run(self, words, folder=None, timeout=300):
        """What subprocess.run would return, with text."""
        texts = [folder or os.getcwd(), *map(str, words)]
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            socket.send_fds(self.socket, [b"".join(os.fsencode(text) + b"\0" for text in texts)], [out.fileno(), err.fileno()])
            self.socket.settimeout(timeout)
            try:
                status = self.socket.recv(4)
            except TimeoutError:
                self.process.kill()
                raise subprocess.TimeoutExpired(words, timeout) from None
            if len(status) != 4:
                raise RuntimeError(f"the program that forks runs has ended (exit code {self.process.wait()}), before: {words}")
            for file in (out, err):
                file.seek(0)
            return subprocess.CompletedProcess(words, os.waitstatus_to_exitcode(int.from_bytes(status, "little")),
                                               out.read().decode(), err.read().decode())
