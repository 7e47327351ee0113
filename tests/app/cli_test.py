"""What each verb prints and answers when all is well."""

import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess

from program import BACKEND, FEW, MPIEXEC, PROGRAM, SIX, ProgramTest, as_text, main, run, start


P40_FLOPS = 11.76e12  # f32, configs/clusters/p40x16.yaml

SOURCE = pathlib.Path(__file__).resolve().parents[2]


def commands_below(*path):
    """The names below "Subcommands:" in the help."""
    below = run(*path, "--help").stdout.partition("\nSubcommands:\n")[2].partition("\n\n")[0]
    return re.findall(r"^  ([a-z]\S*)", below, re.MULTILINE)


class Cli(ProgramTest):
    def test_every_verb_has_help_with_an_example(self):
        verbs = commands_below()
        self.assertIn("predict", verbs)
        for path in [[verb] for verb in verbs] + [[verb, below] for verb in verbs for below in commands_below(verb)]:
            result = run(*path, "--help")
            self.assertEqual(result.returncode, 0, path)
            self.assertIn("Example: dlscale " + " ".join(path), result.stdout)

    def test_prints_its_version(self):
        result = run("--version")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertRegex(result.stdout, r"^dlscale \d+\.\d+\.\d+ \(commit \S+(, with local changes)?\)\n$")
        self.assertEqual(run("predict", "--version").returncode, 2)
        self.assert_refused(run("--vrsion"), 2, "--vrsion is not an option of dlscale. Did you mean --version?")
        self.assertEqual(run("--vrsion").stdout, "")

    def test_an_error_spells_a_file_as_it_was_typed_even_if_an_option_has_its_name(self):
        (self.folder / "rounds").write_text("notes")
        gate = start("gate", "--base", "true", "--new", "true", "--rounds", 12, "-o", "rounds", cwd=self.folder)
        self.assertIn("dlscale: rounds is a file, and rounds need a folder.", gate.communicate(timeout=60)[1])
        self.assertEqual(gate.returncode, 2)

    def test_info_says_where_choices_of_plans_are_kept(self):
        for value, said in [("/somewhere/plans", "kept in /somewhere/plans"), ("off", "not kept")]:
            result = run("info", variables={"DLSCALE_PLAN_CACHE": value})
            self.assertIn(said, result.stdout)

    def test_info_lists_backends_and_configurations(self):
        result = run("info")
        self.assertEqual(result.returncode, 0)
        for word in ["reference", "onednn", "local", "mpi", "double_binary_tree", "all_to_all", "resnet50", "p40x16",
                     "quickstart", "v100_sxm2_16gb", "pcie3x16", "horovod_0.19"]:
            self.assertIn(word, result.stdout)

    def test_info_prints_data_sheets_links_and_frameworks(self):
        for option, words in [("--devices", ["a100_sxm4_80gb", "2039", "312", "in part"]),
                              ("--links", ["ethernet-tcp", "94.1 %", "NDR 4x 50.0 GB/s"]),
                              ("--frameworks", ["horovod_0.19", "64.0 MiB, cycle 5.000 ms", "(not checked)"])]:
            result = run("info", option)
            self.assertEqual(result.returncode, 0, result.stderr)
            for word in words:
                self.assertIn(word, result.stdout)
            self.assertNotIn("compute backends", result.stdout)

    def test_predict_prints_the_phases_in_every_format(self):
        words = ["predict", "--network", "alexnet", "--cluster", "p40x16", "--ranks", "1,2,4,8,16"]
        result = run(*words, "--notes")
        self.assertEqual(result.returncode, 0, result.stderr)
        for word in ["speed-up", "bound", "6 loader threads"]:
            self.assertIn(word, result.stdout)
        answer = json.loads(run(*words, "--format", "json").stdout)
        self.assertEqual(answer["schema"], "dlscale.prediction")
        self.assertEqual([p["run"]["ranks"] for p in answer["predictions"]], [1, 2, 4, 8, 16])
        for name in ["markdown", "csv"]:
            self.assertEqual(run(*words, "--format", name).returncode, 0)

    def test_predict_tells_what_each_layer_adds(self):
        words = ["predict", "--network", "alexnet", "--cluster", "p40x16", "--ranks", "1,4", "--layers"]
        result = run(*words)
        self.assertEqual(result.returncode, 0, result.stderr)
        for word in ["conv1", "max_pooling", "gradient bytes", "data sheet", "1 rank", "4 ranks"]:
            self.assertIn(word, result.stdout)
        answer = json.loads(run(*words, "--format", "json").stdout)
        self.assertEqual(answer["schema"], "dlscale.layers")
        alone = ["--schedule", "sequential"]  # else messages slow down the backward pass beside them
        phases = json.loads(run(*words[:-1], *alone, "--format", "json").stdout)
        beside = json.loads(run(*words[:-1], "--format", "json").stdout)["predictions"]
        self.assertGreater(beside[1]["time"]["t_b_s"], phases["predictions"][1]["time"]["t_b_s"])
        self.assertIn("messages that slow down computing beside them", result.stdout)
        answer = json.loads(run(*words, *alone, "--format", "json").stdout)
        for layers, prediction in zip(answer["runs"], phases["predictions"], strict=True):
            self.assertEqual(layers["run"], prediction["run"])
            for phase in ["t_f_s", "t_b_s"]:
                total = sum(layer[phase] for layer in layers["layers"])
                self.assertAlmostEqual(total / prediction["time"][phase], 1, delta=1e-9)
        for name in ["markdown", "csv"]:
            self.assertIn("fully_connected", run(*words, "--format", name).stdout)

    def test_predict_copies_input_ahead_on_gpus(self):
        words = ["predict", "--network", "resnet50", "--cluster", "dgx_h100", "--ranks", "1"]
        times = {}
        for more in [[], ["--input-copy", "ahead"], ["--input-copy", "on_path"]]:
            result = run(*words, *more, "--format", "json")
            self.assertEqual(result.returncode, 0, result.stderr)
            [prediction] = json.loads(result.stdout)["predictions"]
            times.setdefault(prediction["run"]["input_copy"], []).append(prediction["time"])
        self.assertEqual(times["ahead"][0], times["ahead"][1])
        self.assertLess(times["ahead"][0]["t_iter_s"], times["on_path"][0]["t_iter_s"])
        self.assertEqual(times["ahead"][0]["t_h2d_s"], 0)
        text = " ".join(run(*words, "--notes").stdout.split())
        self.assertIn("input copied ahead, pictures normalised there", text)
        self.assertIn("input_copy", run(*words, "--format", "csv").stdout)

    def test_predict_normalises_pictures_on_gpus(self):
        words = ["predict", "--network", "resnet50", "--cluster", "h200x8", "--ranks", "1", "--input-copy", "on_path"]
        times = {}
        for more in [[], ["--normalize", "device"], ["--normalize", "host"]]:
            result = run(*words, *more, "--format", "json")
            self.assertEqual(result.returncode, 0, result.stderr)
            [prediction] = json.loads(result.stdout)["predictions"]
            times.setdefault(prediction["run"]["normalise"], []).append(prediction["time"]["t_h2d_s"])
        self.assertEqual(times["device"][0], times["device"][1])
        self.assertLess(times["device"][0], times["host"][0])
        self.assertIn("normalise", run(*words, "--format", "csv").stdout)
        self.assertEqual(run(*words, "--normalize", "gpu").returncode, 2)

    def test_predict_writes_a_file_that_is_whole(self):
        out = self.folder / "deep" / "prediction.json"
        result = run("predict", "--network", "alexnet", "--cluster", "dgx1", "--ranks", "8",
                     "--format", "json", "-o", out)
        self.assertEqual(result.returncode, 0, result.stderr)
        json.loads(out.read_text())
        self.assertEqual(result.stdout, "")

    def test_bench_conv_checks_and_measures_every_pass(self):
        out = self.folder / "conv.jsonl"
        result = run("bench", "conv", "--backend", BACKEND, "--network", self.network, "--batch", 2, "--passes", "all",
                     *FEW, "-o", out)
        self.assertEqual(result.returncode, 0, result.stderr)
        rows = [json.loads(line) for line in out.read_text().splitlines()]
        measured = [row for row in rows if "axes" in row]
        passes = {row["axes"]["pass"] for row in measured}
        self.assertLessEqual({"forward", "backward_data", "backward_filter"}, passes)
        for row in measured:
            self.assertEqual(row["status"] in ("ok", "unstable"), True, row)
            self.assertNotEqual(row["implementation"], "")

    def test_so_many_samples_as_are_asked_for_are_taken(self):
        out = self.folder / "counted.jsonl"
        result = run("bench", "memory", "--operations", "copy", "--sizes", "64KiB", "--samples", 7, "--warm-ups", 3, "-o", out)
        self.assertEqual(result.returncode, 0, result.stderr)
        header, row = [json.loads(line) for line in out.read_text().splitlines()][:2]
        self.assertEqual((header["run"]["samples"], header["run"]["warm_ups"]), ("7", "3"))
        self.assertEqual(len(row["series"]["time"]["samples"][0]), 7)

    def test_results_on_standard_output_are_nothing_but_json_lines(self):
        result = run("bench", "conv", "--backend", BACKEND, "--network", self.network, "--batch", 2, *FEW, "-o", "-")
        self.assertEqual(result.returncode, 0, result.stderr)
        rows = [json.loads(line) for line in result.stdout.splitlines()]
        self.assertEqual(rows[0]["schema"], "dlscale.result")
        self.assertEqual(rows[0]["run"]["comm"], "local")
        self.assertEqual(result.stderr.count("joined by"), 0, "there was nothing to choose")
        self.assertEqual(rows[-1], {"end": {"measurements": len(rows) - 2}})
        self.assertIn("GFLOP/s", result.stderr)

    def elsewhere(self, path, name, value):
        """The results as if they were measured where the environment is another in this."""
        header, rows = path.read_text().split("\n", 1)
        header = json.loads(header)
        header["environment"][name] = value
        copy = path.with_name(f"{name}-{path.name}")
        copy.write_text(json.dumps(header) + "\n" + rows)
        return copy

    def test_bench_conv_tells_the_shares_of_peak_and_roofline(self):
        memory, gemm, peak, out = (self.folder / f"{name}.jsonl" for name in ("memory", "gemm", "peak", "conv"))
        for name, more, path in (("memory", ["--operations", "copy,triad"], memory), ("gemm", ["--backend", BACKEND, "--sizes", "512x512x512"], gemm),
                                 ("peak", ["--backend", BACKEND], peak)):
            result = run("bench", name, *FEW, *more, "-o", path)
            self.assertEqual(result.returncode, 0, result.stderr)
        words = ["bench", "conv", "--backend", BACKEND, "--network", self.network, "--batch", 2, *FEW,
                 "--passes", "forward", "--cluster", "p40x16"]
        self.assertEqual(run(*words, "--ceilings", gemm, "-o", out).returncode, 2)
        for name, value in (("cpu", "a computer of long ago"), ("host_hash", "0123456789abcdef")):
            others = [self.elsewhere(path, name, value) for path in (memory, gemm, peak)]
            self.assert_refused(run(*words, "--ceilings", *others, "-o", out), 2, value if name == "cpu" else "another host",
                                "another machine's roofline")
        result = run(*words, "--ceilings", memory, gemm, peak, "-o", out)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("--cluster has the data sheet of a GPU (NVIDIA Tesla P40), and the rows are of a processor", result.stderr)
        header, *rows = [json.loads(line) for line in out.read_text().splitlines()]
        self.assertEqual(header["run"]["cluster"], "p40x16")
        for row in rows[:-1]:
            if row["axes"]["kernel"].startswith("convolution ") and "algorithmic_work" not in row:
                self.assertEqual(BACKEND, "reference")  # whose plain loops are no known algorithm
                self.assertFalse({"share_of_peak", "share_of_roofline"} & set(row))
                continue
            executed = row.get("algorithmic_work", row["work"])["flops"]
            time = row["series"]["time"]["summary"]["median"]
            self.assertAlmostEqual(row["share_of_peak"] / (executed / time / P40_FLOPS), 1, delta=1e-9)
            self.assertGreater(row["share_of_roofline"], 0)
        for name, size in (("gemm", "64x64x64"), ("update", "1MiB")):
            other = self.folder / f"shares-{name}.jsonl"
            result = run("bench", name, "--backend", BACKEND, "--sizes", size, "--cache", "rotating,producer",
                         *FEW, "--cluster", "p40x16", "--ceilings", memory, gemm, peak, "-o", other)
            self.assertEqual(result.returncode, 0, result.stderr)
            found = [json.loads(line) for line in other.read_text().splitlines()][1:-1]
            of = {row["axes"]["cache"]: row for row in found}
            self.assertEqual(set(of), {"rotating", "producer"})
            self.assertTrue(all(row["share_of_peak"] > 0 for row in found))
            self.assertGreater(of["rotating"]["share_of_roofline"], 0)
            self.assertGreater(of["rotating"]["series"]["operand_sets"]["summary"]["median"], 1)
            self.assertNotIn("share_of_roofline", of["producer"])  # no ceiling tells from where its bytes come
        if BACKEND != "onednn":
            return  # the stages of plain loops are not modelled
        shown = run("roofline", "show", out, memory, gemm, peak, "--format", "json")
        self.assertEqual(shown.returncode, 0, shown.stderr)
        (conv,) = [row for row in rows[:-1] if row["axes"]["layer"] == "conv1"]
        roofline = json.loads(shown.stdout)
        self.assertEqual(roofline["levels"][-1]["name"], "memory")  # as the run tells how large the last cache is
        (placed,) = roofline["kernels"]
        self.assertAlmostEqual(placed["share_of_roofline"] / conv["share_of_roofline"], 1, delta=1e-9)
        self.assertIn("algorithmic_work", conv)

    def test_a_table_of_one_row_says_what_it_is_of(self):
        result = run("bench", "gemm", "--backend", BACKEND, "--sizes", "8x9x10", *FEW)
        self.assertEqual(result.returncode, 0, result.stderr)
        above, _, row = result.stdout.partition("\n\nNext:\n")[0].splitlines()[-3:]
        self.assertIn(f"in all rows: backend {BACKEND}, cache cold, dtype f32", above)
        self.assertIn("gemm/kernel:gemm_m8_n9_k10_", row)

    def test_bench_gemm_results_are_checked_and_compared(self):
        out = self.folder / "gemm.jsonl"
        words = ["bench", "gemm", "--backend", BACKEND, "--sizes", "8x9x10:nt,4x4x4:b3,8x8x8", *SIX]
        result = run(*words, "--benchmark_filter=gemm_m8_", "-o", out)
        self.assertEqual(result.returncode, 0, result.stderr)
        rows = [row for row in map(json.loads, out.read_text().splitlines()) if "axes" in row]
        self.assertEqual({row["axes"]["kernel"] for row in rows}, {"gemm m8 n9 k10 ta0 tb1", "gemm m8 n8 k8 ta0 tb0"})
        for row in rows:
            self.assertIsNotNone(row["max_relative_error"])
        compared = run("compare", out, out)
        self.assertEqual(compared.returncode, 0, compared.stderr)
        self.assertIn("gemm m8 n9 k10", compared.stdout)

    def test_google_benchmark_flags_work(self):
        words = ["bench", "conv", "--backend", BACKEND, "--network", self.network, "--batch", 2, *FEW]
        listed = run(*words, "--benchmark_list_tests")
        self.assertEqual(listed.returncode, 0, listed.stderr)
        self.assertGreater(len(listed.stdout.split()), 5)
        filtered = run(*words, "--benchmark_filter=conv1.*forward", "--benchmark_format=json")
        self.assertEqual(filtered.returncode, 0, filtered.stderr)
        names = [entry["name"] for entry in json.loads(filtered.stdout)["benchmarks"]]
        self.assertTrue(names and all("conv1" in name for name in names), names)

    def test_models_of_messages_are_judged(self):
        results = sorted((SOURCE / "results/epyc-2vcpu/2026-11-20-6538966/validation/parts").glob("comm-*.jsonl.gz"))
        self.assertEqual(len(results), 5)
        judged = run("validate-comm", *results, "--format", "json")
        self.assertIn(judged.returncode, (0, 1), judged.stderr)
        validation = json.loads(judged.stdout)
        self.assertEqual(validation["schema"], "dlscale.message_validation")
        self.assertEqual({family["messages"] for family in validation["families"]},
                         {"all_reduce, sleep", "all_reduce, spin"})
        for family in validation["families"]:
            self.assertIsNone(family["ranks"])  # all were measured on 2 ranks
            self.assertLessEqual(family["sizes"]["median_abs"], family["sizes"]["line_median_abs"])
        other = run("validate-comm", results[0].parent / "io-1-1.jsonl.gz")
        self.assertEqual(other.returncode, 2, other.stdout)
        self.assertIn("bench comm", other.stderr)

    def test_kernel_models_are_judged_kept_and_chosen_by(self):
        results = sorted((SOURCE / "results/epyc-2vcpu/2026-11-20-6538966/validation/parts").glob("conv-*-1-1.jsonl.gz"))
        self.assertEqual(len(results), 3)
        judged = run("roofline", "validate", *results, "--format", "json")
        self.assertIn(judged.returncode, (1, 3), judged.stderr)  # one algorithm: nothing to choose from
        validation = json.loads(judged.stdout)
        self.assertEqual(validation["schema"], "dlscale.roofline_validation")
        self.assertEqual(validation["choice"]["choices"], 0)
        (direct, everything) = validation["algorithms"]
        self.assertEqual(direct["algorithm"], "onednn direct")
        self.assertLess(direct["median_abs"], direct["naive_median_abs"])
        shown = run("roofline", "show", *results, results[0].parent / "memory-1.jsonl.gz", "--format", "json")
        self.assertEqual(shown.returncode, 0, shown.stderr)
        under = json.loads(shown.stdout)
        self.assertGreaterEqual(len(under["levels"]), 2)
        self.assertTrue(all(0 < kernel["share_of_roofline"] for kernel in under["kernels"]))
        alone = run("roofline", "show", *results)
        self.assertEqual(alone.returncode, 2, alone.stdout)
        self.assertIn(" Type: dlscale bench memory", alone.stderr)
        kernels = self.folder / "kernels.json"
        fitted = run("roofline", "fit", *results, "-o", kernels)
        self.assertEqual(fitted.returncode, 0, fitted.stderr)
        options = {"--network": "resnet50", "--batch": 8, "--kernels": kernels}

        def choose(**changed):
            more = options | {"--" + name: value for name, value in changed.items()}
            return run("select-algorithm", *(word for option in more.items() for word in option))

        chosen = choose(format="json")
        self.assertEqual(chosen.returncode, 0, chosen.stderr)
        choice = json.loads(chosen.stdout)
        self.assertGreater(len(choice["layers"]), 20)
        self.assertTrue(all(layer["candidates"][0]["fits"] for layer in choice["layers"]))
        self.assertIn("onednn direct", choose().stdout)
        # These older results say nothing of workspaces, so that none is known to be within a limit.
        unknown = choose(format="json", workspace="64 GiB")
        self.assertEqual(unknown.returncode, 3, unknown.stderr)
        limited = json.loads(unknown.stdout)
        candidates = [one for layer in limited["layers"] for one in layer["candidates"]]
        self.assertEqual({(one["workspace_basis"], one["fits"]) for one in candidates}, {("formula", False)})
        for refused, part in ((choose(workspace="64"), "--workspace"), (choose(threads=7), "7 threads"),
                              (choose(cache="rotating"), "rotating caches"),
                              (choose(kernels=self.folder / "none.json"), "none.json"),
                              (choose(kernels=results[0]), "kernel models")):
            self.assertEqual(refused.returncode, 2, refused.stdout)
            self.assertIn(part, refused.stderr)
        other = run("roofline", "fit", *results, "-o", results[0])
        self.assertEqual(other.returncode, 2, other.stderr)
        kept = kernels.read_text()
        few = self.folder / "few.jsonl"
        measured = run("bench", "conv", "--backend", BACKEND, "--network", self.network, "--batch", 2, *FEW,
                       "--algorithms", "all", "-o", few)
        self.assertEqual(measured.returncode, 0, measured.stderr)
        for output in (kernels, self.folder / "new.json"):
            nothing = run("roofline", "fit", few, "-o", output)
            self.assertEqual(nothing.returncode, 3, nothing.stderr)
            self.assertIn("nothing was written", nothing.stderr)
        self.assertEqual(kernels.read_text(), kept)
        self.assertFalse((self.folder / "new.json").exists())

    def test_backends_are_compared_in_one_run(self):
        names = sorted({BACKEND, "reference"})
        out = self.folder / "both.jsonl"
        result = run("bench", "conv", "--backend", ",".join(names), "--network", self.network, "--batch", 2,
                     *FEW, "--algorithms", "all", "-o", out)
        self.assertEqual(result.returncode, 0, result.stderr)
        rows = [json.loads(line) for line in out.read_text().splitlines()]
        cells = [row["axes"] for row in rows if "axes" in row]
        self.assertEqual(sorted({axes["backend"] for axes in cells}), names)
        self.assertEqual({axes["layer"] for axes in cells}, {"conv1"}, "algorithms are those of convolutions")
        self.assertIn("chosen", {axes["algorithm"] for axes in cells})

    def test_the_whole_path_from_measurement_to_report(self):
        six = as_text(SIX)
        suite = self.folder / "suite.yaml"
        suite.write_text(f"""
suite: tiny
steps:
  - {{name: data, command: "data make --out {{data}} --pictures 24 --classes 4 --width 96 --height 72 --picture-size 6kB"}}
  - {{name: conv, command: "bench conv --backend {BACKEND} --network {self.network} --batch 4 {six} -o {{out}}/conv.jsonl"}}
  - {{name: update, command: "bench update --backend {BACKEND} --sizes 16KiB,256KiB,4MiB {six} -o {{out}}/update.jsonl"}}
  - {{name: gemm, command: "bench gemm --backend {BACKEND} --sizes 8x8x8 {six} -o {{out}}/gemm.jsonl"}}
  - {{name: memory, command: "bench memory --backend {BACKEND} {six} -o {{out}}/memory.jsonl"}}
  - {{name: io, command: "bench io --data {{data}} --height 32 --width 32 --max-time 0.1 -o {{out}}/io.jsonl"}}
  - {{name: calibrate, command: "calibrate {{out}} -o {{out}}/machine.json"}}
  - {{name: train, command: "bench e2e --backend {BACKEND} --network {self.network} --batch 4 --data {{data}} --iterations 6 -o {{out}}/e2e.jsonl"}}
  - {{name: validate, always: true, accept_failed_validation: true, command: "validate {{out}} --machine {{out}}/machine.json --format json -o {{out}}/validation.json"}}
  - {{name: report, always: true, command: "report {{out}} --ranks 1 -o {{out}}/report"}}
""")
        out = self.folder / "out"
        result = run("run", suite, "-o", out)
        self.assertEqual(result.returncode, 0, result.stderr + result.stdout)
        validation = json.loads((out / "validation.json").read_text())
        self.assertEqual(len(validation["runs"]), 1)
        self.assertEqual(validation["notes"], [])
        machine = json.loads((out / "machine.json").read_text())
        self.assertEqual(machine["measured_on"]["backend"], "onednn")
        piped = run("calibrate", out, "-o", "-")
        # The folder holds a training run by now, which changes nothing: predictions are judged on it.
        self.assertEqual(json.loads(piped.stdout), machine)
        self.assertNotIn("e2e", " ".join(machine["sources"]))
        self.assertIn("kernel times", piped.stderr)
        self.assertFalse(os.path.exists("-"))
        machine["measured_on"]["host_hash"] = "another"
        (self.folder / "elsewhere.json").write_text(json.dumps(machine))
        elsewhere = run("validate", out, "--machine", self.folder / "elsewhere.json")
        self.assertIn(", the machine with another", elsewhere.stdout)
        judged = ["validate", out, "--machine", out / "machine.json", "--limit-one-rank", 1e9, "--limit-order"]
        self.assertEqual(run(*judged, 2).returncode, 2)
        unordered = run(*judged, 0.9)  # one rank has no schedules
        self.assertEqual(unordered.returncode, 3, unordered.stdout + unordered.stderr)
        self.assertIn("No order of schedules could be judged", " ".join(unordered.stdout.split()))
        for batch in (["--batch", 4], ["--batch", "4,8"], ["--global-batch", 8]):
            more = run("predict", "--network", self.network, "--machine", out / "machine.json", "--ranks", "1,2", *batch)
            self.assertEqual(more.returncode, 0, more.stderr)
            text = " ".join(more.stdout.split())
            self.assertRegex(text, "left out: .*ranks 2.* Type: mpirun -n 2 dlscale bench comm -o comm.jsonl")
        (self.folder / "comm.jsonl").touch()
        with contextlib.chdir(self.folder):  # where results of that name must not be replaced
            kept = run("predict", "--network", self.network, "--machine", out / "machine.json", "--ranks", "1,2", "--batch", 4)
        self.assertIn("dlscale bench comm -o comm-2.jsonl", kept.stdout)
        page = (out / "report" / "index.html").read_text()
        self.assertIn("tiny", page)
        self.assertIn("What a worker of this machine reaches", result.stdout)
        self.assertIn("Iteration, predicted against measured", result.stdout)
        self.assertIn(f"report: {out.resolve() / 'report' / 'index.html'}", result.stdout)
        again = run("run", suite, "-o", out)
        self.assertEqual(again.returncode, 0)
        self.assertEqual(again.stderr.count("left)"), 2, "more than validate and report: " + again.stderr)
        self.assertEqual(again.stdout, result.stdout[-len(again.stdout):])
        self.assertIn("Iteration, predicted against measured", again.stdout)

    def test_a_suite_starts_as_many_ranks_as_it_says_whatever_the_launcher_counts(self):
        """Open MPI counts cores, and a worker may be one hardware thread of a core."""
        if not MPIEXEC:
            self.skipTest("this build has no MPI")
        suite = self.folder / "suite.yaml"
        ranks = os.cpu_count() + 1
        suite.write_text(f"suite: many\nsteps:\n  - {{name: many, ranks: {ranks}, command: info}}\n")
        unset = dict.fromkeys(["OMPI_MCA_rmaps_base_oversubscribe", "OMPI_MCA_hwloc_base_binding_policy"])
        result = run("run", suite, "-o", self.folder / "out", "--workers", 1, variables=unset)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual((self.folder / "out/logs/many.log").read_text().count("compute backends"), ranks)

    def test_calibrate_fits_the_conditions_asked_for(self):
        results = []
        for backend in ["onednn", "reference"]:
            results.append(self.folder / (backend + ".jsonl"))
            measured = run("bench", "conv", "--network", self.network, "--batch", 2, "--backend",
                           backend, *SIX, "-o", results[-1])
            self.assertEqual(measured.returncode, 0, measured.stderr)
        machine = self.folder / "machine.json"
        self.assert_refused(run("calibrate", *results, "-o", machine), 2, "Choose one backend")
        words = ["calibrate", *results, "-o", machine, "--backend", "reference"]
        self.assert_refused(run(*words, "--cache", "hot"), 2, "cold", "choose another cache")
        result = run(*words)
        self.assertEqual(result.returncode, 0, result.stderr)
        kernels = json.loads(machine.read_text())["kernels"]
        self.assertEqual({kernel["source"] for kernel in kernels}, {str(results[1])})

    def test_calibrate_fits_messages_of_each_state_of_the_caches(self):
        if not MPIEXEC:
            self.skipTest("this build has no MPI")
        out, machine = self.folder / "comm.jsonl", self.folder / "machine.json"
        measured = run("bench", "comm", "--cache", "reused", "--sizes", "1KiB,4KiB,16KiB", *SIX, "-o", out, ranks=2)
        self.assertEqual(measured.returncode, 0, measured.stderr)
        self.assert_refused(run("calibrate", out, "-o", machine), 2, "cache = cold", "reused", "choose another message cache")
        result = run("calibrate", out, "-o", machine, "--message-cache", "reused")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(len(json.loads(machine.read_text())["collectives"]), 1)

    def test_a_result_compared_with_itself_is_not_regressed(self):
        out = self.folder / "conv.jsonl"
        run("bench", "conv", "--backend", BACKEND, "--network", self.network, "--batch", 2, *SIX, "-o", out)
        result = run("compare", out, out, "--margin", 0.9, "--format", "json")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(json.loads(result.stdout)["verdict"], "unchanged")

    def test_output_to_a_closed_pipe_is_no_crash(self):
        result = subprocess.run(f"'{run.__globals__['PROGRAM']}' info | head -n 1", shell=True,
                                capture_output=True, text=True, timeout=60)
        self.assertEqual(result.returncode, 0, result.stderr)



class Moved(ProgramTest):
    def test_a_program_finds_the_configurations_that_came_with_it(self):
        for program, configs in [("a/build/release/dlscale", "a/configs"), ("b/build/dlscale", "b/configs"),
                                 ("c/bin/dlscale", "c/share/dlscale/configs"), ("d/out/build/x/dlscale", "d/configs")]:
            program, configs = self.folder / program, self.folder / configs
            program.parent.mkdir(parents=True)
            (configs / "clusters").mkdir(parents=True)
            (configs / "networks").mkdir()
            (configs / "networks" / f"{configs.parts[-2]}_net.yaml").write_text("")
            try:
                os.link(PROGRAM, program)
            except OSError:
                shutil.copy(PROGRAM, program)
            variables = {name: value for name, value in os.environ.items() if name != "DLSCALE_CONFIGS"}
            listed = subprocess.run([program, "info", "--networks"], env=variables, capture_output=True, text=True)
            self.assertEqual(listed.stdout, f"{configs.parts[-2]}_net\n", listed.stderr)
            program.unlink()


if __name__ == "__main__":
    main()
