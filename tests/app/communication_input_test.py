"""Results of messages that say what cannot be, or are not all there: what calibrate, validate-comm and report make of them. Messages
that bench comm does not measure."""

import json
import pathlib
import re

from program import ProgramTest, main, result_lines, run

SOURCE = pathlib.Path(__file__).resolve().parents[2]
MESSAGES = SOURCE / "results/epyc-2vcpu/2026-11-20-6538966/validation/parts/comm-1.jsonl.gz"
HOSTS = SOURCE / "results/epyc-2vcpu/2026-11-22-hosts-comm/send"


class CommunicationInput(ProgramTest):
    def edited(self, change, name="edited.jsonl"):
        """A copy of results in which `change` was made to a copy of the header and of each row."""
        lines = [json.loads(line) for line in result_lines(MESSAGES)]
        for line in lines:
            change(line)
        path = self.folder / name
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return path

    def with_time(self, seconds):
        """The place of the time is line 2: the first row."""
        state = {"done": False}

        def change(line):
            if "axes" in line and not state["done"]:
                line["series"]["time"]["samples"][0][0] = seconds
                state["done"] = True

        return self.edited(change)

    def calibrate(self, *results):
        return run("calibrate", *results, "-o", self.folder / "machine.json")

    def test_memory_of_devices_that_are_not_here_is_refused(self):
        usable = not re.search(r"^  cuda +not in this build|^  cuda .*\n +built, but not usable", run("info").stdout, re.MULTILINE)
        if not usable:
            self.assert_refused(run("bench", "comm", "--memory", "device"), 6, "cuda")
        for words in (["device", "--backend", "reference"], ["host,device", "--backend", "reference"]):
            result = run("bench", "comm", "--memory", *words)
            self.assert_refused(result, 2, "--memory device needs a backend with memory of its own, and reference computes in the host's")
        self.assert_refused(run("bench", "comm", "--memory", "device", "--overlap-with", "memcpy"), 2, "--overlap-with is work of the processor")

    def test_messages_of_the_other_memory_are_no_part_of_a_machine(self):
        def to_device(line):
            if "axes" in line:
                line["axes"] |= {"memory": "device", "library": "NCCL 2.28.9"}

        device = self.edited(to_device)
        self.assertEqual(self.calibrate(device).returncode, 0)
        machine = json.loads((self.folder / "machine.json").read_text())
        self.assertEqual({fit["memory"] for fit in machine["collectives"]}, {"device"})
        host = self.edited(lambda line: None, "host.jsonl")
        self.assert_refused(self.calibrate(device, host), 2, "nothing tells where its gradients lie")
        self.assertEqual(self.calibrate(host).returncode, 0)
        machine = json.loads((self.folder / "machine.json").read_text())
        self.assertFalse(any("memory" in fit for fit in machine["collectives"]))  # as ever

    def test_times_that_no_clock_measures_are_refused_with_their_line(self):
        for seconds in (1e300, 1e-320, -1e300):
            path = self.with_time(seconds)
            for result in (self.calibrate(path), run("validate-comm", path)):
                self.assert_refused(result, 2, f"{path}:2: ", "which no clock measures")

    def test_a_collective_that_nobody_knows_is_refused(self):
        def change(line):
            if "axes" in line:
                line["axes"]["collective"] = "gossip"

        path = self.edited(change)
        for result in (self.calibrate(path), run("validate-comm", path)):
            self.assert_refused(result, 2, path, 'collective = "gossip"')

    def test_a_file_that_is_named_twice_counts_once(self):
        once = run("validate-comm", MESSAGES, "--format", "json")
        link = self.folder / "link.jsonl"
        link.symlink_to(MESSAGES)
        twice = run("validate-comm", MESSAGES, link, MESSAGES, "--format", "json")
        self.assertEqual(twice.stdout, once.stdout, twice.stderr)
        self.assertNotEqual(once.stdout, "")

    def test_what_calibrate_does_not_mix_is_not_judged_together(self):
        def change(line):
            if "environment" in line:
                line["environment"]["cpu"] = "another"

        other = self.edited(change)
        for result in (self.calibrate(MESSAGES, other), run("validate-comm", MESSAGES, other)):
            self.assert_refused(result, 2, "the processor", 'with "another": no machine is both')
        links = [HOSTS / "comm-1g-2.jsonl.gz", HOSTS / "comm-10g-2.jsonl.gz"]
        for result in (self.calibrate(*links), run("validate-comm", *links)):
            self.assert_refused(result, 2, "the links between hosts", "no machine is both")

    def test_messages_of_a_replay_are_not_judged(self):
        def change(line):
            if "axes" in line:
                line["axes"]["message"] = "0"

        result = run("validate-comm", self.edited(change))
        self.assert_refused(result, 2, "no messages among the results can be judged")

    def test_a_report_has_tables_of_measured_messages(self):
        page = self.folder / "page"
        result = run("report", MESSAGES, "-o", page)
        self.assertEqual(result.returncode, 0, result.stderr)
        for part in ("Messages between ranks", "busbw", "all_reduce"):
            self.assertIn(part, result.stdout)
        text = (page / "README.md").read_text()
        for part in ("Messages between ranks", "busbw GB/s", "all_reduce"):
            self.assertIn(part, text.replace("\\_", "_"))
        self.assertNotIn("no table here", text)
        self.assertTrue((page / "index.html").exists())

    def torn_profile(self):
        """A profile that ends within its second row."""
        run_axes = {"network": "made", "schedule": "merged", "batch": "4", "ranks": "2"}
        header = json.loads(result_lines(MESSAGES)[0]) | {"benchmark": "profile"}
        path = self.folder / "torn.jsonl"
        path.write_text(json.dumps(header) + "\n" + self.row(0, run_axes) + "\n" + self.row(1, run_axes)[:200])
        return path

    def test_a_profile_that_ends_early_is_reported_as_such(self):
        path = self.torn_profile()
        page = self.folder / "page"
        result = run("report", path, MESSAGES, "-o", page)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(f"made, merged: {path} ends early, so that messages may be missing", result.stdout)
        self.assertIn("made, merged: ", (page / "README.md").read_text())
        self.assertIn("Messages between ranks", result.stdout)  # of bench comm, beside the profile

    def test_one_sample_has_no_interval(self):
        words = ["bench", "memory", "--operations", "copy", "--sizes", "64KiB", "--warm-ups", 1]
        for samples, interval in ((1, " -"), (3, " %")):
            result = run(*words, "--samples", samples)
            self.assertEqual(result.returncode, 0, result.stderr)
            lines = result.stdout.splitlines()
            heading = next(number for number, line in enumerate(lines) if "±" in line)
            end = lines[heading].index("±") + 1
            self.assertTrue(lines[heading + 1][:end].endswith(interval), result.stdout)

    @staticmethod
    def row(place, axes):
        def series(unit, value):
            summary = {"median": value, "mad": 0, "ci95_low": value, "ci95_high": value, "min": value, "max": value, "n": 1}
            return {"unit": unit, "samples": [[value], [value]], "summary": summary}

        return json.dumps({
            "benchmark": "profile", "status": "ok", "reason": "", "work": None, "implementation": "a library",
            "axes": axes | {"message": str(place), "collective": "all_reduce", "bytes": "4096"},
            "series": {"iteration": series("1", 0), "posted": series("s", 1e-3), "wait": series("s", 0),
                       "time": series("s", 1e-3)},
            "max_relative_error": None, "warnings": []})


if __name__ == "__main__":
    main()
