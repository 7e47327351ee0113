"""A gate that was ended and is called again: what it keeps, repeats and refuses."""

import json
import os
import pathlib
import signal
import time

from gate_test import GateTest
from program import main, run, start


class Resumption(GateTest):
    def test_a_second_call_runs_nothing_and_says_the_same(self):
        folder = self.folder / "kept"
        words = [self.command("1.00"), self.command("1.05"), "-o", folder]
        first = self.gate(*words)
        before = (folder / "rounds.jsonl").read_bytes()
        second = self.gate(*words)
        self.assertEqual((second.returncode, second.stdout), (first.returncode, first.stdout))
        self.assertIn("nothing was run", second.stderr)
        self.assertEqual((folder / "rounds.jsonl").read_bytes(), before)
        self.assertEqual(json.loads((folder / "gate.json").read_text())["verdict"], "regressed")

    def test_a_torn_round_is_measured_again(self):
        folder = self.folder / "kept"
        words = [self.command("1.00"), self.command("1.05"), "-o", folder]
        self.gate(*words)
        whole = (folder / "rounds.jsonl").read_bytes()
        (folder / "rounds.jsonl").write_bytes(whole[:-40])
        done = self.gate(*words)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(len(self.rounds(folder)), 10)

    def test_rounds_of_another_question_are_refused_until_discarded(self):
        folder = self.folder / "kept"
        self.gate(self.command("1.00"), self.command("1.05"), "-o", folder)
        other = [self.command("1.00"), self.command("1.06"), "-o", folder]
        done = self.gate(*other)
        self.assertEqual(done.returncode, 2)
        self.assertIn("rounds of another question", done.stderr)
        self.assertIn("-o names the folder, and --restart discards its rounds", done.stderr)
        self.assertEqual(self.gate(*other, "--restart").returncode, 1)

    def test_rounds_of_a_program_that_was_built_anew_are_refused(self):
        new = self.folder / "new"
        for first_words in ("", "A=1 ", "/bin/sh "):
            folder = self.folder / f"kept{len(first_words)}"
            new.write_text(self.fake.read_text())
            new.chmod(0o755)
            words = [self.command("1.00"), f"{first_words}{new} {{out}} 1.00", "-o", folder]
            self.assertEqual(self.gate(*words).returncode, 0)
            self.assertIn("nothing was run", self.gate(*words).stderr)
            new.write_text(self.fake.read_text().replace("$2", "2$2"))
            done = self.gate(*words)
            self.assertEqual(done.returncode, 2, first_words)
            self.assertIn("other commands, programs or options", done.stderr)
            self.assertEqual(self.gate(*words, "--restart").returncode, 1)
            new.unlink()
            self.assertEqual(self.gate(*words).returncode, 2, "the program is gone")

    def test_a_signal_keeps_the_rounds_that_are_done(self):
        folder = self.folder / "kept"
        slow = f"sleep 0.2; {self.command('1.00')}"
        process = start("gate", "--base", slow, "--new", slow, "-o", folder)
        end = time.monotonic() + 60
        while time.monotonic() < end:
            if (folder / "rounds.jsonl").exists() and len((folder / "rounds.jsonl").read_text().splitlines()) > 2:
                break
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 143, err)
        self.assertGreaterEqual(len(self.rounds(folder)), 1)
        self.assertIn("kept", err)

    def running(self, process):
        try:
            return b"sleep" in pathlib.Path(f"/proc/{process}/cmdline").read_bytes()
        except OSError:
            return False

    def test_a_run_that_a_killed_gate_has_left_is_ended_first(self):
        folder, mark = self.folder / "kept", self.folder / "mark"
        hangs_once = f"[ -s {mark} ] || {{ sleep 1000 & echo $$ > {mark}; wait; }}; {self.command('1.00')}"
        words = ["gate", "--base", hangs_once, "--new", self.command("1.00"), "-o", folder]
        killed = start(*words)
        end = time.monotonic() + 60
        while not (mark.exists() and mark.read_text().endswith("\n") and self.running(int(mark.read_text()))):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)
        killed.kill()
        killed.wait(timeout=60)
        left = int(mark.read_text())
        self.assertTrue(self.running(left))
        done = run(*words)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("ending 2 processes of a run of an earlier call, which was killed", done.stderr)
        self.assertFalse(self.running(left))
        killed.stderr.close()
        killed.stdout.close()

    def test_what_commands_of_rounds_that_are_done_have_left_is_theirs(self):
        folder, mark = self.folder / "kept", self.folder / "mark"
        serves = f"[ -s {mark} ] || {{ sleep 1000 & echo $! > {mark}; }}; {self.command('1.00')}"
        words = ["gate", "--base", serves, "--new", self.command("1.00"), "--rounds", 5, "-o", folder]
        self.assertEqual(run(*words).returncode, 0)
        again = run(*words)
        self.assertEqual(again.returncode, 0, again.stderr)
        server = int(mark.read_text())
        self.assertTrue(self.running(server))
        os.kill(server, signal.SIGKILL)

    def test_the_order_within_rounds_depends_on_the_seed_alone(self):
        orders = []
        for seed, name in [(7, "a"), (7, "b"), (8, "c")]:
            self.gate(self.command("1.00"), self.command("1.05"), "--seed", seed, "-o", self.folder / name)
            orders.append([each["order"] for each in self.rounds(self.folder / name)])
        self.assertEqual(orders[0], orders[1])
        self.assertNotEqual(orders[0], orders[2])

    def test_the_time_budget_ends_after_a_whole_round(self):
        done = self.gate(self.command("1.00"), self.command("1.05"), "--time-budget", 0.001, "-o", self.folder / "kept")
        self.assertEqual(done.returncode, 5 if not self.rounds(self.folder / "kept") else 3)


if __name__ == "__main__":
    main()
