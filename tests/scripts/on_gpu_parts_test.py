"""The parts of scripts/on_gpu that need neither a build nor a GPU."""

import contextlib
import importlib.machinery
import importlib.util
import io
import json
import pathlib
import random
import subprocess
import sys
import tarfile
import types
import unittest
from unittest import mock

from on_gpu_support import ON_GPU, ROOT, FolderTest, fake_programs

# isort: split
import ceilings
import cpu_plan
import gpu_plan
import libraries
import models
import pack
import page
import record
import rivals
import runner
import tests_plan
from session import Outcome


def load_script():
    """scripts/on_gpu as a module: a process for each sentence takes longer than all else here."""
    loader = importlib.machinery.SourceFileLoader("on_gpu", str(ON_GPU))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("on_gpu", loader))
    loader.exec_module(module)
    return module


SCRIPT = load_script()


def on_gpu(*words):
    out, err = io.StringIO(), io.StringIO()
    with (
        mock.patch.object(sys, "argv", ["on_gpu", *map(str, words)]),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            code = SCRIPT.main()
        except SystemExit as end:
            code = end.code
    return types.SimpleNamespace(returncode=code, stdout=out.getvalue(), stderr=err.getvalue())


class CommandLine(FolderTest):
    def assert_refused(self, result, *fragments):
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        for fragment in fragments:
            self.assertIn(fragment, result.stderr)

    def test_help_has_an_example(self):
        result = subprocess.run(
            [sys.executable, ON_GPU, "--help"],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        self.assertEqual(result.returncode, 0)
        self.assertIn("--minutes 9 --out", result.stdout)

    def test_what_is_wrong_is_told_in_one_sentence(self):
        out = self.folder / "out"
        self.assert_refused(on_gpu(), "neither --pack nor --minutes")
        self.assert_refused(on_gpu("--minutes", 1), "--out is missing")
        self.assert_refused(on_gpu("--minutes", 0, "--out", out), "--minutes is 0")
        run = ["--minutes", 1, "--out", out, "--pack", self.folder]
        self.assert_refused(on_gpu(*run, "--steps", "tests,all"), "tests,quick,pytorch,probes,train,cpu")
        self.assert_refused(on_gpu(*run, "--steps", "cpu,cpu"), "each once")
        self.assert_refused(on_gpu(*run, "--cpu-networks", "alexnet"), "alexnet:32")
        self.assert_refused(on_gpu(*run), "holds no pack", "--pack FOLDER")
        self.assert_refused(on_gpu("--pack", out, "--build", self.folder), "is no build")
        self.assertFalse(out.exists())
        self.assert_refused(on_gpu("--take-apart", out), "to a new folder")
        self.assert_refused(on_gpu("--take-apart", out, "--out", out), "cannot be taken apart")

    def test_a_pack_that_cannot_run_here_is_refused_with_the_reason(self):
        manifest = {"schema": "dlscale.pack", "version": 1, "glibc": "99.1", "cuda_libraries": []}
        (self.folder / pack.MANIFEST).write_text(json.dumps(manifest))
        run = ["--minutes", 1, "--out", self.folder / "out", "--pack", self.folder]
        self.assert_refused(on_gpu(*run), "need 99.1", "as old as this one")
        (self.folder / pack.MANIFEST).write_text(json.dumps(manifest | {"glibc": "2.2"}))
        self.assert_refused(on_gpu(*run), "cannot be unpacked", "Pack again")


class Libraries(unittest.TestCase):
    def test_system_cuda_and_runtime_are_told_apart(self):
        here = pathlib.Path("/lib/x")
        names = [
            "libc.so.6",
            "ld-linux-x86-64.so.2",
            "libfmt.so.9",
            "libstdc++.so.6",
            "libcudart.so.13",
            "libcudnn.so.9",
            "libcudnn_graph.so.9",
            "libcublasLt.so.13",
        ]
        own, runtime, cuda = libraries.sort_libraries(dict.fromkeys(names, here))
        self.assertEqual(list(own), ["libfmt.so.9"])
        self.assertEqual(list(runtime), ["libstdc++.so.6"])
        self.assertEqual(len(cuda), 4)

    def test_only_cuda_may_be_missing_where_it_is_packed(self):
        self.assertEqual(libraries.sort_libraries({"libnccl.so.2": None})[2], {"libnccl.so.2"})
        with self.assertRaisesRegex(libraries.LibraryError, "libfmt.so.9 is needed"):
            libraries.sort_libraries({"libfmt.so.9": None})

    def test_versions_are_compared_as_numbers(self):
        self.assertTrue(libraries.is_older("2.9", "2.36"))
        self.assertFalse(libraries.is_older("2.36", "2.36"))

    def test_what_a_program_loads_is_found(self):
        shell = pathlib.Path("/bin/sh").resolve()
        (loaded,) = libraries.loaded_by([shell]).values()
        self.assertIn("libc.so.6", loaded)
        self.assertEqual(len(libraries.loaded_by([shell, pathlib.Path("/bin/ls").resolve()])), 2)


class Pack(FolderTest):
    def test_what_is_too_large_is_told_with_its_largest_files(self):
        (self.folder / "small").write_bytes(b"")
        (self.folder / "libbig.so").write_bytes(bytes(3_000_000))
        said = pack.too_large(70e6, 60e6, self.folder)
        self.assertIn("70 MB, more than 60 MB (largest: libbig.so 3 MB", said)

    def test_what_cannot_be_packed_leaves_no_earlier_pack(self):
        for name in [pack.ARCHIVE, pack.MANIFEST]:
            (self.folder / name).write_text("earlier")
        pack._own_folder(self.folder)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_what_programs_share_is_packed_once(self):
        code = random.Random(1).randbytes(300_000)
        tree = self.folder / "tree"
        (tree / "bin").mkdir(parents=True)
        for name in ["dlscale", "dlscale-host", "device_test"]:
            (tree / "bin" / name).write_bytes(name.encode() + code)
        pack.compress(tree, self.folder / pack.ARCHIVE)
        self.assertLess((self.folder / pack.ARCHIVE).stat().st_size, 1.2 * len(code))
        with tarfile.open(self.folder / pack.ARCHIVE) as archive:
            archive.extractall(self.folder / "there")
        self.assertTrue((self.folder / "there/bin/device_test").read_bytes().endswith(code))

    def test_a_host_program_that_loads_cuda_is_not_packed(self):
        """What stands in for the program is a shell script; what it loads is told instead of ldd."""
        program = self.folder / "dlscale"
        program.write_text("#!/bin/sh\necho dlscale 1, commit abc\n")
        program.chmod(0o755)
        before = pack.loaded_by
        for name, packed in [("libcudnn.so.9", False), ("libfmt.so.9", True)]:
            pack.loaded_by = lambda paths, name=name: {paths[0]: {name: pathlib.Path("/lib/x")}}
            try:
                made = pack._Pack(self.folder / name)
                pack._add_host_program(made, self.folder, "dlscale 1, commit abc")
            finally:
                pack.loaded_by = before
            told = made.manifest["host_program"]
            self.assertEqual(told is True, packed, told)
            if not packed:
                self.assertIn("cmake --preset host", told)
        presets = json.loads((ROOT / "CMakePresets.json").read_text(encoding="utf-8"))
        (host,) = [each for each in presets["configurePresets"] if each["name"] == "host"]
        self.assertEqual(host["cacheVariables"]["DLSCALE_WITH_CUDA"], "OFF")

    def test_a_pack_travels_with_a_checkout_without_raw_results(self):
        """Where machines are lent, both together may have 64 MiB."""
        listed = subprocess.run(
            ["git", "-C", ROOT, "ls-files", "-z"], capture_output=True, check=False
        )
        if listed.returncode != 0:
            self.skipTest("this is no checkout")
        paths = [ROOT / name for name in listed.stdout.decode().split("\0") if name]
        raw = ROOT / "results" / "epyc-2vcpu"
        rest = sum(path.stat().st_size for path in paths if path.exists() and raw not in path.parents)
        self.assertLess(rest + pack.LIMIT, 64 * 2**20)


class Results(FolderTest):
    def test_a_folder_with_other_results_is_refused(self):
        (self.folder / "old.txt").write_text("")
        with self.assertRaisesRegex(record.RecordError, "not empty"):
            record.Record(self.folder)

    def test_half_a_line_is_cut_off(self):
        made = record.Record(self.folder / "out")
        for before, after in [(b'{"a": 1}\n{"b"', b'{"a": 1}\n'), (b'{"b"', b""), (b"1\n", b"1\n")]:
            made.path("parts.jsonl").write_bytes(before)
            made.cut_half_line("parts.jsonl")
            self.assertEqual(made.path("parts.jsonl").read_bytes(), after)

    def test_results_in_one_file_are_taken_apart(self):
        made = record.Record(self.folder / "out")
        results = ['{"schema": "s"}\n{"axes": 1}\n', '{"schema": "s"}\n{"axes": 2}\n{"end": 1}\n']
        made.path("parts.jsonl").write_text("".join(results))
        for _ in range(2):
            folder = record.take_apart(made.path("parts.jsonl"), self.folder / "apart")
            self.assertEqual([path.read_text() for path in sorted(folder.iterdir())], results)

    def test_pages_are_replaced_by_shorter_ones(self):
        made = record.Record(self.folder / "out")
        made.page("a long page\n")
        made.page("short\n")
        self.assertEqual(made.path("README.md").read_text(), "short\n")

    def test_numbers_that_are_no_json_spoil_no_file(self):
        made = record.Record(self.folder / "out")
        made.line("steps.jsonl", {"step": float("nan")})
        self.assertIn("nan", json.loads(made.path("steps.jsonl").read_text())["text"])

    def test_files_are_no_more_than_come_back(self):
        self.assertLessEqual(len(record.FILES), 8)

    def test_tests_are_counted_by_name(self):
        report = self.folder / "report.json"
        tests = [
            {"name": "A", "status": "RUN", "result": "COMPLETED"},
            {"name": "B", "status": "RUN", "result": "COMPLETED", "failures": [{}]},
            {"name": "C", "status": "RUN", "result": "SKIPPED"},
            {"name": "D", "status": "NOTRUN"},
        ]
        report.write_text(json.dumps({"testsuites": [{"name": "Suite", "testsuite": tests}]}))
        counts = tests_plan._counted([report, self.folder / "missing.json"])
        known = {"failed": ["Suite.B"], "names": ["Suite.A", "Suite.C"]}
        self.assertEqual(counts, {"passed": 1, "skipped": 1} | known)
        skipped = tests_plan._judged(Outcome("ok"), {"passed": 0, "failed": [], "skipped": 4})
        self.assertEqual(skipped.status, "refused")


class Plans(unittest.TestCase):
    def test_ranks_double_up_to_the_cores(self):
        self.assertEqual(cpu_plan.rank_counts(1), [1])
        self.assertEqual(cpu_plan.rank_counts(6), [1, 2, 4])
        self.assertEqual(cpu_plan.rank_counts(64), [1, 2, 4, 8, 16])

    def test_names_of_steps_differ(self):
        fake = fake_programs(["conformance_test", "nccl_test"])
        options = types.SimpleNamespace(
            groups=list(runner.GROUPS),
            python="python3",
            cpu_networks=[],
            cpu_iterations=8,
            cpu_pictures=512,
        )
        names = [step.name for step in runner.plan(options, fake)]
        self.assertEqual(len(set(names)), len(names))
        self.assertEqual(names[0], "test-conformance_test")
        self.assertLessEqual({"data", "io", "h2d-f32"}, set(names))


def run_of(ranks, predicted, measured, network="alexnet"):
    return {
        "run": {
            "network": network,
            "batch": 32,
            "dtype": "f32",
            "schedule": "wait_free",
            "ranks": ranks,
        },
        "phases": [
            {
                "phase": "t_iter",
                "predicted_s": predicted,
                "measured_s": measured,
                "error": predicted / measured - 1,
            },
            {"phase": "t_io", "predicted_s": 0, "measured_s": 1e-6, "error": -1},
        ],
    }


class Judgement(FolderTest):
    def test_speed_ups_are_compared_over_one_rank(self):
        found = models.summary({"runs": [run_of(1, 1.0, 1.0), run_of(4, 1.25, 1.0)]})
        (row,) = found["speedups"]
        self.assertAlmostEqual(row["predicted"], 3.2)
        self.assertAlmostEqual(row["measured"], 4)
        self.assertAlmostEqual(found["median_absolute_speedup_error"], 0.2)
        self.assertAlmostEqual(found["median_absolute_error"]["t_iter"], 0.125)
        self.assertNotIn("t_io", found["median_absolute_error"])

    def test_what_was_trained_more_often_counts_once(self):
        often = [run_of(1, 1.1, 1.0)] * 6
        found = models.summary({"runs": [*often, run_of(1, 1.3, 1.0, "vgg16")]})
        self.assertEqual((found["runs"], found["cells"]), (7, 2))
        self.assertAlmostEqual(found["median_absolute_error"]["t_iter"], 0.2)

    def test_the_page_compares_with_pytorch(self):
        made = record.Record(self.folder / "out")
        runs = [("eager", "none", 1, 0.01), ("graph", "relu", 2, 0.005)]
        runs.append(("graph", "relu", gpu_plan.ALONE, 1))
        for launch, fuse, repeat, seconds in runs:
            made.line(
                "training.jsonl",
                {
                    "axes": {
                        "network": "resnet50",
                        "batch": "64",
                        "dtype": "bf16",
                        "launch": launch,
                        "fuse": fuse,
                        "repeat": str(repeat),
                    },
                    "series": {
                        name: {"samples": [[share * seconds, share * seconds, 0.03]]}
                        for name, share in zip(
                            ["t_iter", "t_f", "t_b", "t_u"], [1, 0.25, 0.125, 0.125], strict=True
                        )
                    },
                },
            )
        made.line(
            "pytorch.jsonl",
            {"batch": 64, "dtype": "bf16", "mode": "eager", "input": "device", "median_s": 0.02},
        )
        text = page.text(made, "t", "s")
        self.assertIn("ours: eager | ratio | ours: eager, computing | ratio | ours: graph, ", text)
        self.assertIn(
            "| 64 | bf16 | eager, input on the device | 3200 | 6400 | 2.000 | 12800 | 4.000 "
            "| 12800 | 4.000 | 25600 | 8.000 |",
            text,
        )

    def add_round(self, made, number, **seconds):
        for phases, time in seconds.items():
            axes = {"network": "resnet50", "batch": "256", "dtype": "bf16", "launch": "graph"}
            axes |= {"fuse": "relu", "repeat": str(gpu_plan.TIMED[number]), "phases": phases}
            series = {"t_iter": {"samples": [[time] * 3]}}
            made.line("training.jsonl", {"axes": axes, "series": series})

    def test_the_page_tells_what_timing_phases_costs(self):
        made = record.Record(self.folder / "out")
        self.add_round(made, 0, yes=0.0102)
        self.assertNotIn("What timing phases costs", page.text(made, "t", "s"))
        self.add_round(made, 0, no=0.01)
        said = "- resnet50, batch 256, bf16, graph, ReLUs fused: {} ms an iteration with its phases timed, "
        self.assertIn(
            said.format("10.200")
            + "10.000 ms as a whole; ratio 1.0200, too few rounds for an interval (1 round)",
            page.text(made, "t", "s"),
        )
        # Ratios of 1.00, 1.02 and 1.04, of which e^(mean of logarithms ± 4.303 s / √3), worked out apart.
        self.add_round(made, 1, no=0.01, yes=0.01)
        self.add_round(made, 2, no=0.01, yes=0.0104)
        self.add_round(made, 3, no=0.01)
        self.assertIn(
            said.format("10.200")
            + "10.000 ms as a whole; ratio 1.0199, 95 % interval 0.9714 to 1.0708 (3 rounds)",
            page.text(made, "t", "s"),
        )


def timed(algorithm, seconds, status="ok", computed="forward", half_width=0.01, **more):
    """A result of bench conv --algorithms all."""
    axes = {
        "network": "vgg16",
        "layer": "conv3_2",
        "batch": "32",
        "dtype": "f32",
        "cache": "cold",
        "fuse": "none",
        "kernel": "convolution c256 h56 w56 k256 r3 s3 stride1 pad1 groups1 bias",
        "pass": computed,
        "algorithm": algorithm,
    }
    row = {"benchmark": "conv", "axes": axes, "status": status}
    low, high = (1 - half_width) * seconds, (1 + half_width) * seconds
    summary = {"median": seconds, "ci95_low": low, "ci95_high": high}
    row["series"] = {"time": {"summary": summary}} if status == "ok" else {}
    return row | {"work": {"flops": 66.9e9, "bytes": 0.48e9}} | more


class Rivals(FolderTest):
    H200 = ceilings.of(ROOT / "configs", "NVIDIA H200")

    def word(self, *rows, sheet=H200):
        made = record.Record(self.folder / f"out{len(list(self.folder.iterdir()))}")
        for row in rows:
            made.line("parts.jsonl", row)
        (found,) = rivals.compare(made, sheet)
        return found[-1], found

    def test_ceilings_are_those_of_the_data_sheet(self):
        self.assertEqual(self.H200["peak"]["tf32"], 494.7e12)
        self.assertEqual(self.H200["bandwidth"], 4.8e12)
        self.assertIsNone(ceilings.of(ROOT / "configs", "NVIDIA Z900"))
        seconds, bound = ceilings.least_seconds(self.H200, "f32", 66.9e9, 1)
        self.assertAlmostEqual(seconds, 1e-3)
        self.assertEqual(bound, "arithmetic")
        self.assertEqual(ceilings.least_seconds(self.H200, "f32", 1, 4.8e9), (1e-3, "memory"))
        self.assertIsNone(ceilings.least_seconds(self.H200, "f128", 1, 1))

    def test_the_best_of_each_is_compared(self):
        rows = [timed("own winograd_f4", 1e-3), timed("own fft", 5e-3), timed("eng1 k0", 2e-3)]
        rows += [timed("legacy 1 GEMM", 3e-3), timed("eng2 k0", 0, "unsupported")]
        word, row = self.word(*rows, timed("chosen", 1e-6))
        self.assertEqual(word, "ahead")
        self.assertEqual(
            row[:-1],
            ["vgg16 conv3_2", "forward", "32", "f32", "1", "winograd_f4", "2", 2, "2.00",
             "1 (arithmetic)"],
        )  # fmt: skip

    def test_a_lead_within_the_intervals_is_a_tie(self):
        plans = [timed("eng1", 1.05e-3), timed("eng2", 1.5e-3, half_width=0.4)]
        self.assertEqual(self.word(timed("own fft", 1e-3), plans[0])[0], "ahead")
        self.assertEqual(self.word(timed("own fft", 1e-3, half_width=0.05), plans[0])[0], "tie")
        self.assertEqual(self.word(timed("own fft", 1e-3), *plans)[0], "tie")

    def test_nobody_is_faster_than_memory(self):
        work = {"flops": 1e6, "bytes": 4.8e9}
        word, _ = self.word(
            timed("own fft", 2e-3, work=work), timed("eng1", 1.05e-3, work=work)
        )
        self.assertEqual(word, "cannot: cuDNN within 5% of the memory's bound")

    def test_an_algorithm_is_judged_by_its_own_work(self):
        own = timed("own fft", 4e-3, algorithmic_work={"flops": 200.7e9, "bytes": 1e9})
        word, _ = self.word(own, timed("eng1", 2e-3))
        self.assertEqual(word, "cannot: our work takes 3 ms at least (arithmetic)")
        winograd = timed("own winograd_f4", 4e-3, implementation="own winograd_f4 F(4x4,3x3) x")
        word, _ = self.word(winograd, timed("eng1", 2e-3))
        self.assertEqual(word, "behind: our work takes 0.25 ms at least")
        fft = timed("own fft", 4e-3, implementation="own fft 64x64 cufft")
        self.assertEqual(self.word(own, fft, timed("eng1", 2e-3))[0], "behind")
        self.assertEqual(self.word(fft, timed("eng1", 2e-3))[0], "behind")
        self.assertIn("5% of the arithmetic's bound", self.word(fft, timed("eng1", 1.05e-3))[0])

    def test_what_is_missing_is_told(self):
        refused = timed("own fft", 0, "unsupported")
        self.assertIn("no algorithm of ours", self.word(refused, timed("eng1", 5e-3))[0])
        self.assertEqual(self.word(timed("own fft", 1e-3))[0], "cuDNN has no plan")
        word, row = self.word(timed("own fft", 5e-3), timed("eng1", 1e-3), sheet=None)
        self.assertEqual((word, row[-2]), ("behind", "-"))

    def test_the_page_has_a_table(self):
        made = record.Record(self.folder / "out")
        made.line("steps.jsonl", {"machine": {}, "ceilings": self.H200})
        for computed in ["forward", "backward_data"]:
            made.line("parts.jsonl", timed("own fft", 1e-3, computed=computed))
            made.line("parts.jsonl", timed("eng1", 2e-3, computed=computed))
        text = page.text(made, "t", "s")
        self.assertIn("ahead of every plan of cuDNN that was timed in 2 of 2 passes", text)
        self.assertIn("| vgg16 conv3_2 | backward_data | 32 | f32 | 1 | fft | 2 | 1 | 2.00 |", text)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
