"""dlscale history as a shell sees it: exit codes, several writers, writers that are killed, full disks, a folder in git."""

import csv
import datetime
import fcntl
import gzip
import hashlib
import json
import math
import os
import pathlib
import random
import resource
import signal
import stat
import subprocess
import time
import unittest

from program import PROGRAM, ProgramTest, environment, main, run, start
from result_text import result_text

SHARED = pathlib.Path(os.environ.get("DLSCALE_SHARED_DATA", "")) / "validation" / "regression"
TALOS = SHARED / "perfherder_talos_2013"


def commit(number):
    return f"c0de{number:036x}"


def moment(number):
    return f"2026-01-{1 + number // 24:02}T{number % 24:02}:00:00Z"


def google(value, name="BM_A"):
    """What Google Benchmark writes of one benchmark that took so many seconds."""
    return json.dumps({"context": {"num_cpus": 2, "executable": "./bench"}, "benchmarks": [
        {"name": name, "run_name": name, "run_type": "iteration", "real_time": value, "cpu_time": value, "time_unit": "s"}]})


class History(ProgramTest):
    def setUp(self):
        super().setUp()
        self.store = self.folder / "store"
        self.random = random.Random(7)

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def history(self, verb, *words, **more):
        return run("history", verb, "--store", self.store, *words, **more)

    def add(self, number, value, again=0, name="BM_A"):
        """One run of a commit."""
        file = self.write(f"run-{number}-{again}.json", google(value, name) + " " * number + "\n" * again)
        result = self.history("add", file, "--commit", commit(number), "--time", moment(number))
        self.assertEqual(result.returncode, 0, result.stderr)

    def add_level(self, numbers, level):
        """Quicker than a run of the program for each: the lines that `history add` writes, of one run a commit."""
        self.add(numbers[0], level)
        for file in sorted((self.store / "series").glob("*.jsonl")):
            point = json.loads(file.read_text().splitlines()[-1])
            lines = []
            for number in numbers[1:]:
                value = level * math.exp(self.random.gauss(0, 0.01))
                point |= {"time": moment(number), "commit": commit(number), "run": f"{number:016x}",
                          "median": value, "low": value, "high": value, "min": value, "max": value}
                lines.append(json.dumps(point, separators=(",", ":")) + "\n")
            with file.open("a") as stream:
                stream.write("".join(lines))
        record = json.loads((self.store / "runs.jsonl").read_text().splitlines()[-1])
        with (self.store / "runs.jsonl").open("a") as stream:
            for number in numbers[1:]:
                record |= {"run": f"{number:016x}" + 48 * "0", "commit": commit(number)}
                stream.write(json.dumps(record) + "\n")

    def check(self, *words):
        result = self.history("check", "--format", "json", *words)
        return result, json.loads(result.stdout) if result.stdout else None


class Check(History):
    def test_exit_codes_tell_what_was_found(self):
        result = self.history("check")
        self.assert_refused(result, 2, "is empty", "Add results first")
        self.add_level(range(0, 20), 1.0)
        result, report = self.check()
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(report["alerts"], [])
        self.assertEqual(self.history("check", "--name", "nothing").returncode, 5)
        self.assert_refused(self.history("check", "--name", "("), 2, "not a regular expression")
        for verb, option in (("list", "--name"), ("check", "--exclude")):
            # Neither many groups nor many ways to fit end the program or keep it waiting.
            for pattern in ("(" * 900 + "x" + ")" * 900, "(x+)+(y|y)*z", "((x{9}){9}){9}", "x{99999999999999999999}"):
                self.assertIn(self.history(verb, option, pattern).returncode, (0, 5), pattern)
            for pattern in ("(x?){10000}", "((x?){3,}){40,5000}", r"(x)\1"):
                self.assert_refused(self.history(verb, option, pattern), 2, f"{option}: ", "not a regular expression")
            self.assert_refused(self.history(verb, option, "("), 2, f"{option}: ", "missing )", "not a regular expression")
        self.assertEqual(self.history("list", "--name", "BM_.{1,30}: real_t{1}ime").returncode, 0)
        self.add(20, 1.3)
        result, report = self.check("--name", "real_time")
        self.assertEqual(result.returncode, 3, result.stdout)
        self.assertEqual(report["reruns"][0]["commit"], commit(20))
        self.assertEqual(report["reruns"][0]["runs"], 2)
        self.add(20, 1.31, again=1)
        self.add(20, 1.02, again=2)
        result, report = self.check()
        self.assertEqual(result.returncode, 1, result.stdout)
        [alert] = report["alerts"]
        self.assertEqual((alert["commit"], alert["before"], alert["state"]), (commit(20), commit(19), "new"))
        self.assertEqual({metric["movement"] for metric in alert["metrics"]}, {"regressed"})
        self.assertEqual(len(alert["metrics"]), 2)  # real_time and cpu_time: one alert
        table = self.history("check")
        self.assertTrue(table.stdout.startswith("1 regression in "), table.stdout)

    def test_a_series_that_was_never_seen_is_a_new_baseline(self):
        self.add_level(range(0, 12), 1.0)
        self.add(12, 9.0, name="BM_new")
        result, report = self.check("--name", "BM_new")
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertEqual({series["state"] for series in report["series"]}, {"new baseline"})

    def test_alerts_are_annotated_until_they_fail_no_more(self):
        self.add_level(range(0, 15), 1.0)
        self.add_level(range(15, 21), 1.2)
        result, report = self.check()
        self.assertEqual(result.returncode, 1)
        name = report["alerts"][0]["commit"]
        self.assert_refused(self.history("annotate", "ffff", "--state", "fixed"), 2, "no alert is called ffff")
        self.assert_refused(self.history("annotate", name, "--state", "solved"), 2, "not the state of an alert")
        done = self.history("annotate", name, "--state", "acknowledged", "--note", "bug 12")
        self.assertEqual(done.returncode, 0, done.stderr)
        result, report = self.check()
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertEqual((report["alerts"][0]["state"], report["alerts"][0]["note"]), ("acknowledged", "bug 12"))
        self.assertEqual(self.history("annotate", name, "--state", "expected").returncode, 0)
        result, report = self.check()
        self.assertEqual(result.returncode, 0)
        self.assertEqual(report["alerts"], [])
        self.assertEqual({series["epoch"] for series in report["series"]}, {name})
        # What is expected is raised no more, and can be declared invalid all the same.
        self.assertEqual(self.history("annotate", name, "--state", "invalid").returncode, 0)
        self.assert_refused(self.history("annotate", name, "--state", "fixed"), 2, "cannot become fixed")
        self.assertEqual(self.history("annotate", name, "--state", "new").returncode, 0)
        self.assertEqual(self.check()[0].returncode, 1)

    def test_tells_ci_what_it_found(self):
        self.add_level(range(0, 15), 1.0)
        self.add_level(range(15, 21), 1.2)
        comment, junit = self.history("check", "--format", "comment"), self.history("check", "--format", "junit")
        self.assertEqual((comment.returncode, junit.returncode), (1, 1), comment.stderr + junit.stderr)
        self.assertTrue(comment.stdout.startswith("<!-- dlscale -->\n1 regression in "), comment.stdout)
        self.assertIn('tests="2" failures="2" errors="0" skipped="0"', junit.stdout)
        self.assertEqual(self.history("annotate", commit(15), "--state", "acknowledged").returncode, 0)
        junit = self.history("check", "--format", "junit")
        self.assertEqual(junit.returncode, 0, junit.stderr)
        self.assertIn('tests="2" failures="0" errors="0" skipped="0"', junit.stdout)

    def test_lists_series_with_their_latest_values(self):
        self.add_level(range(0, 12), 2.0)
        listed = self.history("list", "--name", "real_time", "--last", 3, "--format", "json")
        self.assertEqual(listed.returncode, 0, listed.stderr)
        [series] = json.loads(listed.stdout)["series"]
        self.assertEqual([row["commit"] for row in series["latest"]], [commit(9), commit(10), commit(11)])
        self.assertAlmostEqual(series["level"], 2.0, delta=0.05)
        self.assertEqual(self.history("list", "--since", "2030-01-01").returncode, 5)
        self.assert_refused(self.history("list", "--since", "tomorrow"), 2, "--since is \"tomorrow\"", "2 weeks")
        # Commits of some days ago, whenever this runs.
        ago = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(days=20)
        file = self.write("late.json", google(2.0, "BM_late"))
        self.assertEqual(self.history("add", file, "--commit", "1a7e000", "--time", f"{ago:%Y-%m-%dT%H:%M:%SZ}").returncode, 0)
        for since, found in [("3 weeks", True), ("2weeks", False), ("1 month", True), ("19 days", False), ("1year", True)]:
            listed = self.history("list", "--since", since, "--name", "BM_late.*real_time")
            self.assertEqual(listed.returncode, 0 if found else 5, since)
        self.assertIn("BM_A", self.history("list").stdout)


class Add(History):
    def test_adding_twice_is_adding_once(self):
        dated = google(1.0).replace('"num_cpus"', '"date": "2026-01-01T10:00:00+00:00", "num_cpus"')
        file = self.write("a.json", dated)
        words = ["add", file, "--commit", "c0ffee1", "--time", "2026-01-01"]
        self.assertIn("2 points of 1 runs", self.history(*words).stdout)
        before = {path: path.read_bytes() for path in self.store.rglob("*") if path.is_file()}
        self.assertIn("1 of the files were there already", self.history(*words).stdout)
        self.assertEqual(before, {path: path.read_bytes() for path in self.store.rglob("*") if path.is_file()})
        other = self.history("add", file, "--commit", "c0ffee2", "--time", "2026-01-01")
        self.assert_refused(other, 2, "was added", "as commit c0ffee1")

    def test_what_was_lost_is_told_and_put_back(self):
        files = [self.write(f"{i}.json", google(1.0 + i / 100)) for i in range(4)]
        for i, file in enumerate(files):
            self.history("add", file, "--commit", commit(i), "--time", moment(i))
        series = sorted((self.store / "series").glob("*.jsonl"))
        whole = [path.read_text() for path in series]
        self.assertEqual(json.loads(self.history("check", "--format", "json").stdout)["points_lost"], 0)
        # The last line is cut, as what a disk lost of it.
        series[0].write_text(whole[0][:-40])
        series[1].unlink()
        checked = self.history("check")
        self.assertIn("5 points of runs that were added whole, which no series holds", checked.stdout)
        for i, file in enumerate(files):
            added = self.history("add", file, "--commit", commit(i), "--time", moment(i))
            self.assertEqual(added.returncode, 0, added.stderr)
            self.assertIn("of them that were lost are there again", added.stdout)
        self.assertEqual([path.read_text() for path in series], whole)
        self.assertNotIn("no series holds", self.history("check").stdout)

    def test_points_without_their_runs_are_no_matter_of_names(self):
        self.add_level(range(0, 12), 1.0)
        runs = self.store / "runs.jsonl"
        for damage in (lambda: runs.write_text(""), runs.unlink):
            damage()
            for verb in ("check", "list"):
                self.assert_refused(self.history(verb), 5, "24 points, all of runs that were not added whole",
                                    "Add their files again")

    def test_numbers_that_nothing_measured_can_be_are_damage(self):
        self.add_level(range(0, 12), 1.0)
        file = next((self.store / "series").glob("*cpu_time*"))
        whole = file.read_text()
        for number, said in ((0, '"median" is 0'), (-5, '"median" is -5')):
            point = json.loads(whole.splitlines()[3]) | {"median": number, "low": number, "min": number}
            lines = [*whole.splitlines()[:3], json.dumps(point, separators=(",", ":")), *whole.splitlines()[4:], ""]
            file.write_text("\n".join(lines))
            for verb in ("check", "list"):
                self.assert_refused(self.history(verb), 2, f"{file.name}:4", said)
        file.write_text(whole.replace('"n":1,', '"n":0,').replace('"n":1}', '"n":0}'))
        self.assert_refused(self.history("check"), 2, f"{file.name}:2", '"n" is 0')

    def test_an_alert_stands_without_the_files_that_would_explain_it(self):
        files = []
        for number in range(20):
            parts = dict.fromkeys(["t_io", "t_h2d", "t_b", "t_comm_exposed", "t_u", "t_other"], 0.1) | {"t_f": 0.4 + 2e-4 * number}
            parts["t_f"] += 0.3 if number >= 14 else 0
            training = result_text("e2e", {"network": "made up"}, parts | {"t_iter": sum(parts.values())})
            files.append(self.write(f"{number}.jsonl", training))
            added = self.history("add", files[-1], "--commit", commit(number), "--time", moment(number))
            self.assertEqual(added.returncode, 0, added.stderr)

        def explanation():
            result, report = self.check("--name", "t_iter")
            self.assertEqual(result.returncode, 1, result.stderr)
            [alert] = report["alerts"]
            return alert["metrics"][0]["explanation"], report["unexplained"]

        text, why = explanation()
        self.assertIn("forward", text)
        self.assertEqual(why, [])
        name = hashlib.sha256(files[14].read_bytes()).hexdigest()
        kept = self.store / "files" / name[:2] / name
        for damage in [lambda: kept.write_text(""), kept.unlink]:
            damage()
            text, why = explanation()
            self.assertIsNone(text)
            self.assertEqual(len(why), 1)
            self.assertIn(name, why[0])
            table = self.history("check").stdout
            self.assertIn("add " + str(files[14]), " ".join(table.split()))
            again = self.history("add", files[14], "--commit", commit(14), "--time", moment(14))
            self.assertEqual(again.returncode, 0, again.stderr)
            self.assertIn("1 of them that the history had lost are kept again", again.stdout)
            self.assertIn("forward", explanation()[0])

    def test_input_is_refused_with_its_place(self):
        words = ["--commit", "c0ffee1", "--time", "2026-01-01"]
        for text, fragment in [("", "is not in a format that a history reads"), ("hello\n", "it reads result files"),
                               (google(1.0)[:-20], "it ends within line 1"),
                               ('{"schema":"dlscale.result","version":1}\n', "bad:1")]:
            self.assert_refused(self.history("add", self.write("bad", text), *words), 2, fragment, "bad")
        file = self.write("a.json", google(1.0))
        self.assert_refused(self.history("add", file, "--time", "2026-01-01"), 2, "Name its commit")
        self.assert_refused(self.history("add", file, "--commit", "c0ffee1"), 2, "Give its time")
        self.assert_refused(self.history("add", file, *words, "--machine", "GPU"), 2, "NAME=VALUE")
        self.assert_refused(self.history("add", self.folder / "none", *words), 2, "none")
        empty = self.write("e.json", json.dumps({"context": {}, "benchmarks": []}))
        for file in (empty, self.write("f.json", google("fast"))):
            self.assertEqual(self.history("add", file, *words).returncode, 5)
        self.assertFalse(self.store.exists())

    def test_adds_what_a_folder_holds_of_any_program_that_it_reads(self):
        inside = self.folder / "nightly" / "more"
        inside.mkdir(parents=True)
        table = "# OSU MPI Latency Test v7.0\n# Size          Latency (us)\n8                       1.23\n"
        for name, text in {"a.json": google(1.0, "A"), "more/b.json": '{"results": [{"command": "x", "times": [2.0]}]}',
                           "more/c.txt": table, "d.log": table.replace("1.23", "1.24"), "notes.txt": "hello\n",
                           "e.json": '{"machine_info": {}}', "README.md": "# OSU MPI Latency Test\n"}.items():
            (self.folder / "nightly" / name).write_text(text)
        (self.folder / "nightly" / "damaged.json.gz").write_bytes(gzip.compress(google(1.0).encode())[:-9])
        added = self.history("add", self.folder / "nightly", "--commit", commit(1), "--time", moment(1))
        self.assertRegex(added.stderr, "passed over: .*damaged.json.gz")
        self.assertEqual(added.returncode, 0, added.stderr)
        self.assertIn("of 4 runs were added", added.stdout)
        self.assertIn("passed over: 2 files", added.stderr)

    def test_results_of_google_benchmark_go_to_bencher(self):
        self.add_level(range(11), 1e-3)
        self.add(11, 1.0011e-3)
        out = self.folder / "metrics.json"
        for _ in range(2):  # The second call replaces the file.
            checked = self.history("check", "--name", "real_time", "-o", f"bencher={out}")
            self.assertEqual(checked.returncode, 0, checked.stderr)
        [(name, measures)] = json.loads(out.read_text()).items()
        self.assertIn("Google Benchmark benchmark=BM_A program=bench: real_time", name)
        self.assertAlmostEqual(measures["latency"]["value"], 1.0011e6)
        self.assert_refused(self.history("check", "-o", f"csv={out}"), 2, "is there and is not a dlscale.history_check")
        self.assert_refused(self.history("list", "--last", "3", "--format", "bencher"), 2, "covers several commits")
        listed = self.history("list", "--name", "real_time", "--format", "bencher")
        self.assertEqual(json.loads(listed.stdout).popitem()[1], measures)

    def test_files_of_other_programs_are_refused_with_the_formats_that_are_read(self):
        asv = {"commit_hash": commit(1), "results": {"a.time_x": [[1e-3]]}, "version": 2}
        megatron = "iteration 10/ 100 | elapsed time per iteration (ms): 1200.0 | global batch size: 256 |\n"
        for name, text, why in (("py3.9.json", json.dumps(asv), "looks like a file of asv, which is"),
                                ("train.log", megatron, "is")):
            added = self.history("add", self.write(name, text), "--commit", "c0ffee1", "--time", moment(1))
            self.assert_refused(added, 2, f"{name} {why} not in a format that a history reads", "Google Benchmark", "MLPerf")

    def test_two_writers_at_once_lose_nothing(self):
        writers = []
        for number in range(6):
            file = self.write(f"{number}.json", google(1.0 + number))
            writers.append(start("history", "add", file, "--store", self.store, "--commit", commit(number), "--time",
                                 moment(number)))
        for writer in writers:
            self.assertEqual(writer.wait(timeout=100), 0, writer.communicate()[1])
            writer.communicate()
        [series] = json.loads(self.history("list", "--name", "real_time", "--last", 10, "--format", "json").stdout)["series"]
        self.assertEqual(series["points"], 6)

    def test_a_writer_that_is_killed_leaves_a_history_that_goes_on(self):
        self.add(0, 1.0)
        files = [self.write(f"many-{i}.json", google(1.0, f"BM_{i}")) for i in range(200)]
        words = ["add", *files, "--commit", commit(1), "--time", moment(1)]
        writer = start("history", words[0], "--store", self.store, *words[1:])
        while writer.poll() is None and len(list((self.store / "series").glob("*"))) < 10:
            time.sleep(0.001)  # until it is in the middle of it
        writer.send_signal(signal.SIGKILL)
        writer.communicate()
        # Whatever was cut short is told, and counts once the files are added again.
        self.assertEqual(self.history("list", "--name", "BM_A").returncode, 0)
        added = self.history(*words)
        self.assertEqual(added.returncode, 0, added.stderr)
        listed = json.loads(self.history("list", "--format", "json").stdout)
        self.assertEqual([series["points"] for series in listed["series"]], [1] * 402)

    def test_a_full_disk_changes_nothing(self):
        self.add(0, 1.0)
        before = {path: path.read_bytes() for path in sorted(self.store.rglob("*.jsonl"))}
        file = self.write("b.json", google(2.0))
        most = max(map(len, before.values())) + 30

        def limited():  # more than that no file may hold, as where the disk is full
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

        result = subprocess.run([PROGRAM, "history", "add", file, "--store", self.store, "--commit", commit(1), "--time",
                                 moment(1)], env=environment(), text=True, capture_output=True, preexec_fn=limited,
                                restore_signals=False)
        self.assert_refused(result, 2, "cannot be written", "nothing was added")
        self.assertEqual(before, {path: path.read_bytes() for path in sorted(self.store.rglob("*.jsonl"))})
        self.add(1, 2.0)

    def test_a_writer_that_waits_for_another_says_so(self):
        self.add(0, 1.0)
        with open(self.store / ".lock", "a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            words = [PROGRAM, "history", "add", self.write("b.json", google(2.0)), "--store", self.store, "--commit", commit(1),
                     "--time", moment(1)]
            writer = subprocess.Popen(words, env=environment(), text=True, stderr=subprocess.PIPE, stdout=subprocess.PIPE)
            self.assertIn("waiting for", writer.stderr.readline())
            fcntl.flock(lock, fcntl.LOCK_UN)
        with writer:
            self.assertEqual(writer.wait(), 0)

    def test_the_home_folder_is_one_behind_a_sign_of_equality(self):
        for word in ("--store=~/perf", "--store=~"):
            result = run("history", "list", word, variables={"HOME": str(self.folder / "home")})
            self.assert_refused(result, 2, str(self.folder / "home"))

    def test_a_place_that_cannot_be_written_is_refused(self):
        file = self.write("a.json", google(1.0))
        words = [file, "--commit", "c0ffee1", "--time", "2026-01-01"]
        for place in ["/proc/history", file]:
            self.assert_refused(run("history", "add", *words, "--store", place), 2, place)
        if os.geteuid() == 0:
            return  # whom no permission stops
        closed = self.folder / "closed"
        closed.mkdir()
        closed.chmod(stat.S_IRUSR | stat.S_IXUSR)
        self.assert_refused(run("history", "add", *words, "--store", closed), 2, "cannot be written", "lack the right")


class Branch(History):
    """A folder that is a work tree of a branch."""

    def setUp(self):
        super().setUp()
        self.repository = self.folder / "code"
        self.git("init", "-q", self.repository, at=self.folder)
        self.git("commit", "-q", "--allow-empty", "-m", "code")
        self.git("worktree", "add", "-q", "--detach", self.store)
        self.git("switch", "-q", "--orphan", "history", at=self.store)

    def test_a_repository_of_a_stranger_runs_none_of_its_programs(self):
        ran = self.folder / "ran.txt"
        for key in ("core.fsmonitor", "core.pager", "gpg.program", "diff.external", "core.editor", "credential.helper"):
            self.git("config", key, f"sh -c 'echo {key} >> {ran}' #")
        self.git("config", "log.showSignature", "true")
        hook = self.repository / ".git" / "hooks" / "post-checkout"
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\necho hook >> {ran}\n")
        hook.chmod(0o755)
        file = self.folder / "a.json"
        file.write_text('{"results": [{"command": "a", "times": [1.0, 1.1, 1.2]}]}')
        add = ["history", "add", file, "--commit", "HEAD", "--repository", self.repository, "--store", self.folder / "h"]
        added = run(*add)
        self.assertEqual(added.returncode, 0, added.stderr)
        # A partial clone that lacks its commit, whose fetching would run more programs.
        commit = self.git("rev-parse", "HEAD").strip()
        for key, value in {"core.repositoryFormatVersion": "1", "extensions.partialClone": "origin", "remote.origin.promisor": "true",
                           "remote.origin.uploadpack": f"echo uploadpack >> {ran}; git-upload-pack",
                           "core.sshCommand": f"echo ssh >> {ran}; false"}.items():
            self.git("config", key, value)
        (self.repository / ".git" / "objects" / commit[:2] / commit[2:]).unlink()
        for url in ("../nowhere", "ssh://nowhere.invalid/x", "git://nowhere.invalid/x", "ext::sh -c 'echo ext >> %s'" % ran):
            self.git("config", "remote.origin.url", url)
            self.assertEqual(run(*add).returncode, 2, url)
        self.assertFalse(ran.exists(), ran.exists() and ran.read_text())

    def git(self, *words, at=None):
        who = ["-c", "user.name=T", "-c", "user.email=t@example.org"]
        return subprocess.run(["git", "-C", at or self.repository, *who, *words], check=True, text=True, capture_output=True).stdout

    def commit_history(self):
        self.git("add", "--all", at=self.store)
        self.git("commit", "-q", "-m", "Add a run", at=self.store)

    def test_is_a_history_like_any_other(self):
        for number in range(3):
            self.add(number, 1.0 + number / 100)
            self.commit_history()
        self.assertEqual(self.history("check").returncode, 0)
        [series] = json.loads(self.history("list", "--name", "real_time", "--format", "json").stdout)["series"]
        self.assertEqual(series["points"], 3)

    def test_branches_of_several_machines_are_merged_without_a_conflict(self):
        self.add(0, 1.0)
        self.commit_history()
        other = self.folder / "other"
        self.git("worktree", "add", "-q", "-b", "other", other, "history")
        self.add(1, 1.01)
        self.commit_history()
        self.store, here = other, self.store
        self.add(2, 1.02)
        self.commit_history()
        self.store = here
        self.git("merge", "-q", "--no-edit", "other", at=self.store)
        [series] = json.loads(self.history("list", "--name", "real_time", "--last", 9, "--format", "json").stdout)["series"]
        self.assertEqual([row["commit"] for row in series["latest"]], [commit(0), commit(1), commit(2)])

    def test_the_word_of_earlier_versions_is_refused_with_what_to_do(self):
        file = self.write("a.json", google(1.0))
        added = run("history", "add", file, "--commit", "c0ffee1", "--time", moment(1), "--store", "git:history")
        self.assert_refused(added, 2, '"git:history" is not a folder', "git worktree add FOLDER BRANCH")


@unittest.skipUnless(TALOS.is_dir(), "the labelled histories are not here")
class Talos(History):
    def test_finds_the_labelled_change_of_a_real_history(self):
        with (TALOS / "series.csv").open() as stream:
            rows = [row for row in csv.DictReader(stream) if row["series"] == "runs1"]
        [change] = json.loads((TALOS / "labels.json").read_text())["labels"]["runs1"]["change_index_first_point_of_new_level"]
        self.add(0, 1.0)
        [file] = (self.store / "series").glob("*real_time*")
        point = json.loads(file.read_text().splitlines()[-1])
        head = file.read_text().splitlines()[0]
        record = json.loads((self.store / "runs.jsonl").read_text().splitlines()[-1])
        lines, records = [head], []
        for number, row in enumerate(rows):
            value = float(row["value"])
            at = datetime.datetime.fromtimestamp(int(row["push_timestamp"]), datetime.timezone.utc)
            point |= {"time": f"{at:%Y-%m-%dT%H:%M:%SZ}", "commit": f"{number}-{row['build_revision']}", "run": f"{number:016x}", "median": value,
                      "low": value, "high": value, "min": value, "max": value}
            lines.append(json.dumps(point, separators=(",", ":")))
            records.append(json.dumps(record | {"run": f"{number:016x}" + 48 * "0", "commit": point["commit"]}))
        file.write_text("\n".join(lines) + "\n")
        (self.store / "runs.jsonl").write_text("\n".join(records) + "\n")
        _, report = self.check("--name", "real_time")
        found = [int(alert["commit"].split("-")[0]) for alert in report["alerts"]]
        self.assertTrue(any(abs(place - change) <= 2 for place in found), (found, change))


if __name__ == "__main__":
    main()
