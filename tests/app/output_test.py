"""What the file of -o holds after a run: results, or what it held before; and standard output that takes no more."""

import json
import os
import pathlib
import pty
import stat
import subprocess
import tempfile
import threading
import unittest

from program import BACKEND, FEW, MPIEXEC, PROGRAM, ProgramTest, environment, main, run, start


# Each rank is bound to a core of its own.
CORES = len(os.sched_getaffinity(0))
SEVERAL = unittest.skipUnless(MPIEXEC and CORES >= 2, "needs a launcher and two cores")


def make_device(path, minor):
    """A node of its own: nobody misses it if it is replaced. None where none can be made."""
    try:
        os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, minor))
        os.close(os.open(path, os.O_WRONLY))
    except OSError:
        return None
    return path


class MachineFile(ProgramTest):
    """calibrate writes a machine where -o says, whatever that is."""

    @classmethod
    def setUpClass(cls):
        cls.kept = tempfile.TemporaryDirectory()
        cls.results = pathlib.Path(cls.kept.name) / "memory.jsonl"
        measured = run("bench", "memory", "--operations", "copy", "--sizes", "1 MiB,2 MiB", *FEW, "-o", cls.results)
        assert measured.returncode == 0, measured.stderr

    @classmethod
    def tearDownClass(cls):
        cls.kept.cleanup()

    def calibrate(self, output, *more):
        return run("calibrate", self.results, "-o", output, *more, timeout=60)

    def assert_is_machine(self, text):
        self.assertEqual(json.loads(text)["schema"], "dlscale.machine")

    def test_a_file_is_made_and_replaced(self):
        for _ in range(2):
            result = self.calibrate(self.folder / "machine.json")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assert_is_machine((self.folder / "machine.json").read_text())
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["machine.json", "tiny.yaml"])

    def test_a_link_leads_to_the_file(self):
        target, link = self.folder / "target.json", self.folder / "machine.json"
        link.symlink_to("target.json")
        for _ in range(2):
            self.assertEqual(self.calibrate(link).returncode, 0)
            self.assertTrue(link.is_symlink())
            self.assert_is_machine(target.read_text())
            self.assertFalse(target.is_symlink())

    def test_a_pipe_is_written_to(self):
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        self.assert_refused(self.calibrate(pipe), 2, pipe, "no program reads")
        got = []
        reader = threading.Thread(target=lambda: got.append(pipe.read_text()), daemon=True)
        reader.start()
        result = self.calibrate(pipe)
        while result.returncode == 2 and "no program reads" in result.stderr:  # the reader was slow
            result = self.calibrate(pipe)
        reader.join(60)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assert_is_machine(got[0])
        self.assertTrue(pipe.is_fifo())

    def test_a_device_is_written_to(self):
        null, full = make_device(self.folder / "null", 3), make_device(self.folder / "full", 7)
        if null is None or full is None:
            self.skipTest("device nodes cannot be made or used here")
        self.assertEqual(self.calibrate(null).returncode, 0)
        self.assert_refused(self.calibrate(full), 2, full, "No space left on device")
        predict = ["predict", "--network", "alexnet", "--cluster", "p40x16", "--ranks", "1", "-o"]
        self.assertEqual(run(*predict, null).returncode, 0)
        self.assert_refused(run(*predict, full), 2, full)
        for device in (null, full):
            self.assertTrue(device.is_char_device())


class SeveralForms(ProgramTest):
    """One answer in files of several formats, from one call."""

    @classmethod
    def setUpClass(cls):
        cls.kept = tempfile.TemporaryDirectory()
        cls.results = pathlib.Path(cls.kept.name) / "update.jsonl"
        measured = run("bench", "update", "--sizes", "16KiB", "--backend", "reference", *FEW, "-o", cls.results)
        assert measured.returncode == 0, measured.stderr

    @classmethod
    def tearDownClass(cls):
        cls.kept.cleanup()

    def compare(self, *outputs):
        return run("compare", self.results, self.results, *[word for output in outputs for word in ("-o", output)])

    def test_each_is_what_the_format_alone_would_be(self):
        files = {name: self.folder / f"=out.{name}" for name in ("junit", "csv", "json", "openmetrics", "bencher")}
        for _ in range(2):  # and replaced
            done = self.compare("-", *[f"{name}={path}" for name, path in files.items()])
            self.assertIn(done.returncode, (0, 3), done.stderr)
            self.assertEqual(done.stdout, self.compare().stdout)
        for name, path in files.items():
            alone = run("compare", self.results, self.results, "--format", name)
            self.assertEqual(alone.returncode, done.returncode)
            self.assertEqual(path.read_text(), alone.stdout, name)

    def test_a_plain_name_is_of_the_format_asked_for_and_may_hold_an_equals_sign(self):
        path = self.folder / "lr=0.1.csv"
        done = run("compare", self.results, self.results, "--format", "csv", "-o", path, "-o", "json=-")
        self.assertIn(done.returncode, (0, 3), done.stderr)
        self.assertTrue(path.read_text().startswith("key,series"))
        self.assertEqual(json.loads(done.stdout)["schema"], "dlscale.comparison")

    def test_what_would_lose_one_is_refused_before_any_is_written(self):
        out, foreign = self.folder / "a.csv", self.folder / "notes.txt"
        foreign.write_text("mine")
        for outputs, fragment in [((f"csv={out}", f"json={out}"), "a.csv twice"), ((out, self.folder / "x" / ".." / "a.csv"), "twice"),
                                  (("-", "json=-"), "standard output twice"), ((f"jnit={out}",), f"Write junit={out}"),
                                  (("junit=",), "no file"), ((f"csv={out}", f"json={foreign}"), "notes.txt")]:
            self.assert_refused(self.compare(*outputs), 2, fragment)
        unused = run("compare", self.results, self.results, "--format", "json", "-o", f"csv={out}")
        self.assert_refused(unused, 2, "--format json would have no effect")
        cases = run("predict", "--cases", "none.jsonl", "-o", f"json={out}")
        self.assert_refused(cases, 2, "lines of JSON")
        self.assertFalse(out.exists())
        self.assertEqual(foreign.read_text(), "mine")


class NothingToFit(ProgramTest):
    """calibrate says what it left out, and does not put a machine of nothing over a good one."""

    def rows(self, name, **axes):
        """Results of bench comm, of two sizes, by two ranks."""
        taken = {"collective": "all_reduce", "ranks": "2", "ranks_on_node": "2", "waiting": "sleep", "cache": "cold",
                 "dtype": "f32", "op": "sum", "mode": "blocking", "in_place": "yes", "algorithm": "library",
                 "library": "Open MPI 4.1.4"} | axes
        text = self.template().splitlines()[0] + "\n"
        for size in (4096, 65536):
            times = [[size * 1e-9 * (1 + i / 100) for i in range(10)]] * int(taken["ranks"])
            text += json.dumps({"benchmark": "comm", "axes": taken | {"bytes": str(size)}, "status": "ok", "reason": "",
                                "implementation": "", "warnings": [], "work": None,
                                "max_relative_error": None,
                                "series": {"time": {"unit": "s", "samples": times}}}) + "\n"
        path = self.folder / name
        path.write_text(text + json.dumps({"end": {"measurements": 2}}) + "\n")
        return path

    def template(self):
        header = self.folder / "header.jsonl"
        if not header.exists():
            self.assertEqual(run("bench", "comm", "--sizes", "4 KiB", "-o", header).returncode, 5)
        return header.read_text()

    def test_refuses_a_machine_of_nothing(self):
        good, machine = self.rows("good.jsonl"), self.folder / "machine.json"
        result = run("calibrate", good, "-o", machine)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertNotIn("left out", result.stdout)
        self.assertIn(f"{machine}: 1 all_reduce fit, ", result.stdout)
        self.assertIn(", from 1 result file\n", result.stdout)
        before = machine.read_text()
        other = self.folder / "training.jsonl"
        header = json.loads(self.template().splitlines()[0]) | {"benchmark": "e2e"}
        other.write_text(json.dumps(header) + "\n" + json.dumps({"end": {"measurements": 0}}) + "\n")
        result = run("calibrate", good, other, "-o", machine)
        self.assertIn("left out: 1 file of e2e, on which predictions are judged\n", result.stdout, result.stderr)
        self.assertEqual(machine.read_text(), before)
        for axes, why in [({"dtype": "f64"}, "2 rows of bench comm, dtype f64 (training has f32)"),
                          ({"op": "max"}, "2 rows of bench comm, op max (training has sum)"),
                          ({"mode": "nonblocking"}, "mode nonblocking (training has blocking)"),
                          ({"ranks": "1", "ranks_on_node": "1"}, "1 rank, which sends nothing"),
                          ({"message": "0"}, "messages of a replay")]:
            with self.subTest(axes=axes):
                result = run("calibrate", self.rows("bad.jsonl", **axes), "-o", machine)
                self.assert_refused(result, 2, "none of the results can be used", why)
                self.assertEqual(machine.read_text(), before)
                both = run("calibrate", good, self.folder / "bad.jsonl", "-o", self.folder / "both.json")
                self.assertEqual(both.returncode, 0, both.stderr)
                self.assertIn("left out: ", both.stdout)
                self.assertIn(why, both.stdout)


class EarlierResults(ProgramTest):
    """A run that measures nothing does not cost what an earlier one measured."""

    before = ""  # of all tests, measured once

    def setUp(self):
        super().setUp()
        self.out = self.folder / "out.jsonl"
        self.conv = ["bench", "conv", "--backend", BACKEND, "--network", self.network, "--batch", 2,
                     "--benchmark_filter=conv1", "--max-time", 0.02]
        if not self.before:
            measured = run(*self.conv, "-o", self.out)
            self.assertEqual(measured.returncode, 0, measured.stderr)
            EarlierResults.before = self.out.read_text()
        self.out.write_text(self.before)

    def assert_kept(self, result, code, *fragments):
        self.assert_refused(result, code, *fragments)
        self.assertEqual(self.out.read_text(), self.before)
        self.assertNotIn("are kept in", result.stderr)

    def test_replaced_by_new_ones(self):
        result = run(*self.conv, "-o", self.out)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertNotEqual(self.out.read_text(), self.before)
        self.assertEqual(len(self.out.read_text().splitlines()), len(self.before.splitlines()))

    def test_kept_where_options_are_wrong(self):
        conv = ["bench", "conv", "-o", self.out, "--network", self.network, "--backend", BACKEND]
        for wrong in (["--dtype", "f8"], ["--benchmark_filter=("], ["--network", self.folder / "missing.yaml"],
                      ["--backend", "none"], ["--ceilings", self.folder / "missing.jsonl"]):
            with self.subTest(wrong=wrong):
                kept = [word for i, word in enumerate(conv) if word != wrong[0] and (i == 0 or conv[i - 1] != wrong[0])]
                self.assert_kept(run(*kept, *wrong), 2)
        self.assert_kept(run(*conv, "--benchmark_filter=nothing"), 5, "leaves none")

    def test_kept_where_nothing_can_be_measured(self):
        result = run("bench", "comm", "--sizes", "4 KiB", "-o", self.out)  # mpirun was forgotten
        self.assert_kept(result, 5, "nothing was measured", f"{self.out} is left as it was")
        fresh = self.folder / "fresh.jsonl"
        result = run("bench", "comm", "--sizes", "4 KiB", "-o", fresh)
        self.assertEqual(result.returncode, 5)
        self.assertNotIn("left as it was", result.stderr)
        self.assertIn("unsupported", fresh.read_text())

    def test_ceilings_are_not_the_output(self):
        result = run(*self.conv, "-o", self.out, "--ceilings", self.out)
        self.assert_kept(result, 2, "-o and --ceilings both name")
        link = self.folder / "link.jsonl"
        link.symlink_to(self.out)
        self.assert_kept(run(*self.conv, "-o", self.out, "--ceilings", link), 2, "-o and --ceilings both name")

    def test_a_refused_run_makes_no_file(self):
        fresh = self.folder / "fresh.jsonl"
        self.assert_refused(run("bench", "comm", "--sizes", "4 KiBB", "-o", fresh), 2, "4 KiBB")
        self.assertFalse(fresh.exists())

    @SEVERAL
    def test_kept_by_several_ranks(self):
        comm = ["bench", "comm", "--max-time", 0.02, "-o", self.out]
        for wrong, code in ((["--algorithm", "foo"], 2), (["--benchmark_filter=zzz"], 5)):
            with self.subTest(wrong=wrong):
                self.assert_kept(run(*comm, *wrong, ranks=2), code)

    @SEVERAL
    def test_kept_where_training_cannot_begin(self):
        train = ["bench", "e2e", "--backend", BACKEND, "--network", self.network, "--batch", 4, "--iterations", 2,
                 "-o", self.out]
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        data = self.make_data()
        trace = self.out.with_name("out-rank1.json")
        trace.symlink_to(self.out)
        for wrong in (["--data", self.folder / "none"], ["--data", data, "--profile", pipe],
                      ["--data", data, "--synchronisation", "parameter_server", "--servers", 3]):
            with self.subTest(wrong=wrong):
                self.assert_kept(run(*train, *wrong, ranks=2), 2)
        for option, value in (("--profile", self.out), ("--trace", self.folder / "out")):
            result = run(*train, "--data", data, option, value, ranks=2)
            self.assert_kept(result, 2, f"-o and {option} both name {self.out}")
        result = run(*train, "--data", data, "--trace", self.folder / "out", "--profile", trace, ranks=2)
        self.assert_kept(result, 2, f"--profile and --trace both name {trace}")


class Report(ProgramTest):
    """Of results without training and without a machine."""

    def report(self, *results):
        return run("report", *results, "-o", self.folder / "report")

    def test_memory_alone_has_a_page(self):
        out = self.folder / "memory.jsonl"
        measured = run("bench", "memory", "--operations", "copy", "--sizes", "4 KiB,8 KiB", *FEW, "-o", out)
        self.assertEqual(measured.returncode, 0, measured.stderr)
        made = self.report(out)
        self.assertEqual(made.returncode, 0, made.stderr)
        page = (self.folder / "report/README.md").read_text()
        self.assertIn("## Caches, memory and arithmetic", page)
        self.assertRegex(page, r"\| copy +\| as compiled")

    def test_nothing_has_none(self):
        empty = self.folder / "empty"
        empty.mkdir()
        updates = self.folder / "update.jsonl"
        measured = run("bench", "update", "--backend", BACKEND, "--sizes", "4KiB", *FEW, "-o", updates)
        self.assertEqual(measured.returncode, 0, measured.stderr)
        for results, said in ((empty, f"{empty} holds no results (*.jsonl or *.jsonl.gz)"), (self.folder / "none", "none cannot be read (No such file or directory). Check the path"),
                              (updates, "hold nothing that a page shows without one")):
            refused = self.report(results)
            self.assertEqual(refused.returncode, 2, refused.stderr)
            self.assertIn(said, refused.stderr)
            self.assertFalse((self.folder / "report").exists())


@SEVERAL
class SaidOnce(ProgramTest):
    """What all ranks find alike, one says for all."""

    def comm(self, *more):
        return run("bench", "comm", "--sizes", "4KiB", "--max-time", 0.02, *more, ranks=2, timeout=60)

    def test_options(self):
        self.assert_refused(self.comm("--ranks", 3), 4, "3 ranks were asked for, but 2 run here")
        for wrong in (["--cores-per-rank", 4 * CORES], ["--heartbeat-timeout", 0], ["--resume"], ["--frobnicate"],
                      ["--benchmark_filter=("], ["--dtype", "f32", "--dtype", "f64"]):
            with self.subTest(wrong=wrong):
                self.assert_refused(self.comm(*wrong), 2)
        self.assert_refused(self.comm("--benchmark_filter=zzz"), 5, "leaves none")

    def test_one_rank_by_itself(self):
        result = self.comm("--comm", "local")
        self.assert_refused(result, 2, "--comm local is for one rank", "Leave --comm out")
        self.assertNotIn("Type:", result.stderr)

    def test_places_that_cannot_be_written(self):
        for place, why in ((self.network, "is not a result file"), (self.folder, "cannot be written")):
            result = self.comm("-o", place)
            self.assert_refused(result, 2, place, why)
            self.assertNotIn("are kept in", result.stderr)
        full = make_device(self.folder / "full", 7)
        if full is not None:
            self.assert_refused(self.comm("-o", full), 2, full)

    def test_a_refused_resumption(self):
        out = self.folder / "out.jsonl"
        self.assertEqual(self.comm("-o", out).returncode, 0)
        before = out.read_text()
        result = self.comm("--dtype", "f64", "--resume", "-o", out)
        self.assert_refused(result, 2, "cannot be resumed")
        self.assertNotIn("are kept in", result.stderr)
        self.assertEqual(out.read_text(), before)

    def test_data_that_are_missing(self):
        train = ["bench", "e2e", "--backend", BACKEND, "--network", self.network, "--data", self.folder / "none"]
        self.assert_refused(run(*train, ranks=2, timeout=60), 2, self.folder / "none")

    def test_a_rank_that_is_wrong_alone_says_so(self):
        """Rank 0 has nothing to say for it, as where one is started with other options."""
        result = run("bench", "comm", "--frobnicate", variables={"PMI_RANK": "1", "PMI_SIZE": "2"}, timeout=60)
        self.assert_refused(result, 2, "--frobnicate")


class StandardOutput(ProgramTest):
    """What is printed and takes no more."""

    def test_it_takes_no_more(self):
        predict = ["predict", "--network", "alexnet", "--cluster", "p40x16", "--ranks"]
        many = ",".join(map(str, range(1, 200)))  # more than a buffer
        conv = ["bench", "conv", "--backend", BACKEND, "--network", self.network, "--batch", 2, *FEW,
                "--benchmark_filter=conv1"]
        for words in (["info"], ["--help"], ["bench", "conv", "--help"], ["run", "quickstart", "--list"],
                      ["data", "info", self.make_data()], [*predict, 1], [*predict, many], conv, [*conv, "-o", "-"],
                      [*conv, "--benchmark_list_tests"]):
            with open("/dev/full", "w") as full:
                process = start(*words, stdout=full)
                _, err = process.communicate(timeout=300)
            self.assertEqual(process.returncode, 2, words)
            sentences = [line for line in err.splitlines() if line.startswith("dlscale: ")]
            self.assertEqual(len(sentences), 1, err)
            self.assertRegex(sentences[0], "standard output cannot be written|results cannot be written|- cannot")


class StandardError(ProgramTest):
    """What is said where nothing takes it."""

    def of_shell(self, words, streams):
        command = " ".join([PROGRAM, *map(str, words)])
        return subprocess.run(["sh", "-c", f"{command} {streams}"], env=environment(), capture_output=True, text=True, timeout=120)

    def test_a_suite_goes_on(self):
        suite = self.folder / "suite.yaml"
        suite.write_text('suite: small\ncells:\n  - name: "gemm-{n}"\n    for: {n: [8, 16]}\n'
                         "    command: bench gemm --sizes {n}x{n}x{n} --samples 3 -o {result}\n")
        for streams in ("2>/dev/full", ">&- 2>&- <&-", "2>&1 | true"):
            result = self.of_shell(["run", suite, "-o", self.folder / "out", "--fresh"], streams)
            self.assertIn(result.returncode, (0, 2), result.stderr)
            for cell in ("gemm-8", "gemm-16"):
                self.assertTrue(list((self.folder / "out").rglob(f"{cell}*")), streams)
            rows = (self.folder / "out" / "cells.jsonl").read_text()
            self.assertEqual(rows.count('"measurements":1'), 2, rows)

    def test_an_error_keeps_its_exit_code(self):
        for streams in ("2>/dev/full", "2>&-", ">&- 2>&- <&-", ">/dev/full 2>&1"):
            self.assertEqual(self.of_shell(["info", "nowhere"], streams).returncode, 2, streams)

    def test_an_answer_that_is_lost_is_an_error(self):
        self.assertEqual(self.of_shell(["info"], "2>/dev/full").returncode, 0)
        for streams in (">/dev/full 2>&1", ">&- 2>&-"):
            self.assertEqual(self.of_shell(["info"], streams).returncode, 2, streams)

    def test_a_reader_that_wants_no_more_gets_no_complaint(self):
        result = self.of_shell(["info"], "| true")
        self.assertEqual(result.stderr, "")


class Errors(ProgramTest):
    """Sentences on standard error."""

    def test_numbers_out_of_range_are_answered_in_words(self):
        for classes in ["1", "1.5", "many"]:
            made = run("data", "make", "--out", self.folder / "data", "--pictures", 2, "--classes", classes)
            self.assert_refused(made, 2, f"--classes: {classes} is not one of the numbers from 2 to 1000. Write one of them.")

    def test_errors_are_wrapped_on_a_terminal(self):
        ours, theirs = pty.openpty()
        with os.fdopen(ours, "rb", buffering=0) as terminal:
            process = subprocess.Popen([PROGRAM, "predict"], env=environment(), stdout=subprocess.DEVNULL, stderr=theirs)
            os.close(theirs)
            said = terminal.read(65536).decode()
            self.assertEqual(process.wait(60), 2)
        self.assertGreater(len(said.splitlines()), 1, said)
        self.assertLessEqual(max(map(len, said.splitlines())), 100, said)
        self.assertEqual(said.split(), run("predict").stderr.split())


if __name__ == "__main__":
    main()
