"""dlscale doctor on this machine, and colours, which it has most of."""

import json
import os
import subprocess

from program import MPIEXEC, PROGRAM, ProgramTest, environment, main, run

STATES = ["ok", "unavailable", "warning", "missing"]  # the worst last
UNSET = {"NO_COLOR": None}


def finding(answer, group, check):
    [found] = [one for one in answer["findings"] if (one["group"], one["check"]) == (group, check)]
    return found


class Doctor(ProgramTest):
    def test_every_finding_has_a_state_and_advice_where_something_is_to_be_done(self):
        result = run("doctor", "--format", "json", variables=UNSET)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        answer = json.loads(result.stdout)
        self.assertEqual((answer["schema"], answer["version"]), ("dlscale.doctor", 2))
        self.assertEqual(set(answer["verdicts"]), {"machine", "software", "links"})
        for one in answer["findings"]:
            self.assertIn(one["state"], STATES)
            self.assertNotEqual(one["found"], "", one)
            self.assertEqual(one["advice"] == "", one["state"] in ("ok", "unavailable"), one)
        for group, verdict in answer["verdicts"].items():
            states = [one["state"] for one in answer["findings"] if one["group"] == group]
            self.assertEqual(verdict, max(states, key=STATES.index), group)
        self.assertEqual(finding(answer, "software", "backend reference")["state"], "ok")
        launcher = finding(answer, "links", "launcher")
        if MPIEXEC:
            self.assertEqual(launcher["state"], "ok", launcher)
            self.assertIn("2 ranks by", launcher["found"])
        else:
            self.assertEqual(launcher["state"], "missing")

    def test_quick_does_not_try_the_launcher(self):
        if not MPIEXEC:
            self.skipTest("this build has no MPI")
        answer = json.loads(run("doctor", "--quick", "--format", "json", variables=UNSET).stdout)
        launcher = finding(answer, "links", "launcher")
        self.assertEqual(launcher["state"], "unavailable")
        self.assertIn("not tried", launcher["found"])

    def test_strict_turns_verdicts_into_exit_codes(self):
        """Without git and configurations."""
        empty = self.folder / "empty"
        empty.mkdir()
        changed = UNSET | {"PATH": str(empty), "DLSCALE_CONFIGS": "/no/such"}
        result = run("doctor", "--quick", "--strict", "--format", "json", variables=changed)
        answer = json.loads(result.stdout)
        self.assertEqual(result.returncode, 6, result.stderr)
        for check, word in [("git", "apt install"), ("configurations", "DLSCALE_CONFIGS")]:
            self.assertEqual(finding(answer, "software", check)["state"], "missing", check)
            self.assertIn(word, finding(answer, "software", check)["advice"])
        self.assertEqual(run("doctor", "--quick", variables=changed).returncode, 0)

    def test_a_launcher_that_started_it_is_not_tried(self):
        if not MPIEXEC:
            self.skipTest("this build has no MPI")
        out = self.folder / "doctor.json"
        result = run("doctor", "--quick", "--format", "json", "-o", out, ranks=1, variables=UNSET)
        self.assertEqual(result.returncode, 0, result.stderr)
        launcher = finding(json.loads(out.read_text()), "links", "launcher")
        self.assertEqual(launcher["state"], "warning")
        self.assertIn("not tried", launcher["found"])

    def test_nothing_of_a_strangers_folder_is_run(self):
        ran = self.folder / "ran.txt"
        for name in ("matplotlib.py", "sitecustomize.py", "numpy.py", "json.py"):
            (self.folder / name).write_text(f"open({str(ran)!r}, 'a').write('python')")
        for name in ("git", "python3", "mpiexec", "cmake", "sh"):
            (self.folder / name).write_text(f"#!/bin/sh\necho {name} >> {ran}\n")
            (self.folder / name).chmod(0o755)
        results = self.folder / "memory.jsonl"
        for words in (["bench", "memory", "--operations", "copy", "--sizes", "1 MiB", "--samples", "2", "-o", results],
                      ["doctor", "--quick"], ["report", results, "-o", "page"]):
            done = subprocess.run([PROGRAM, *words], cwd=self.folder, env=environment(), capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertFalse(ran.exists(), ran)

    def test_hello_needs_as_many_ranks_as_it_is_told(self):
        self.assertEqual(run("__hello", 1, variables=UNSET).stdout, "1 ranks by local\n")
        self.assertEqual(run("__hello", 2, variables=UNSET).returncode, 4)


class Colours(ProgramTest):
    def on_a_terminal(self, *words, **variables):
        """What the program writes to one."""
        changed = {name: value for name, value in (environment() | UNSET | {"TERM": "xterm"} | variables).items() if value is not None}
        ours, theirs = os.openpty()
        with subprocess.Popen([PROGRAM, "doctor", "--quick", *words], env=changed, stdout=theirs, stderr=subprocess.PIPE) as process:
            os.close(theirs)
            text = b""
            while True:
                try:
                    more = os.read(ours, 65536)
                except OSError:  # the other end is closed
                    break
                if not more:
                    break
                text += more
        os.close(ours)
        self.assertEqual(process.returncode, 0)
        return text

    def test_colours_are_for_terminals_unless_somebody_says_otherwise(self):
        self.assertIn(b"\033[32m", self.on_a_terminal())
        self.assertNotIn(b"\033", self.on_a_terminal("--color", "never"))
        self.assertNotIn(b"\033", self.on_a_terminal(NO_COLOR="1"))
        self.assertIn(b"\033[32m", self.on_a_terminal(NO_COLOR=""))
        self.assertIn(b"\033[32m", self.on_a_terminal("--color", "always", NO_COLOR="1"))
        self.assertNotIn(b"\033", self.on_a_terminal(TERM="dumb"))
        self.assertNotIn("\033", run("doctor", "--quick").stdout)
        self.assertIn("\033[32m", run("doctor", "--quick", "--colour", "always").stdout)
        self.assert_refused(run("doctor", "--color", "blue"), 2, "blue")


if __name__ == "__main__":
    main()
