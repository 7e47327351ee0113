"""Bad input: one clear sentence, exit code 2, nothing lost."""

import json
import pathlib

from program import BACKEND, MPIEXEC, BenchTest, main, run

SOURCE = pathlib.Path(__file__).resolve().parents[2]
CLUSTER = (SOURCE / "configs" / "clusters" / "p40x16.yaml").read_text()
# Takes the place of the data sheet there.
PROCESSOR = "name: a processor\n  kind: cpu\n  peak: {f32: 1 TFLOP/s}\n  memory_bandwidth: 100 GB/s\n  memory: 64 GB"


class BadInput(BenchTest):
    def predict(self, cluster):
        return run("predict", "--network", "alexnet", "--cluster", cluster, "--ranks", "1,2")

    def cluster(self, old, new):
        text = CLUSTER.replace(old, new, 1)
        self.assertNotEqual(text, CLUSTER)
        path = self.folder / "cluster.yaml"
        path.write_text(text)
        return path

    def test_unknown_layer_kind(self):
        network = self.write_network("a.yaml", "kind: relu", "kind: relo")
        self.assert_refused(self.conv(network), 2, "relu1", "relo", "relu")

    def test_a_matrix_product_that_is_none(self):
        for words in (["--sizes", "64x64"], ["--sizes", "8x8x8:xy"], ["--list", "deepbnch"], ["--list", "no/such.yaml"]):
            result = run("bench", "gemm", "--backend", BACKEND, *words)
            self.assert_refused(result, 2, words[1])

    def test_unknown_producer(self):
        network = self.write_network("b.yaml", "kind: relu}", "kind: relu, from: [conv9]}")
        self.assert_refused(self.conv(network), 2, "relu1", "conv9")

    def test_shape_mismatch(self):
        network = self.write_network(
            "c.yaml", "  - {name: fc,", "  - {name: both, kind: sum, from: [pool1, relu1]}\n  - {name: fc,"
        )
        self.assert_refused(self.conv(network), 2, "both", "8 × 8 × 8", "8 × 16 × 16")

    def test_a_link_slower_than_nothing(self):
        for words in (["-10 GB/s", "5 us", "must be above 0"], ["0 GB/s", "5 us", "10Gb/s"], ["0.1 b/s", "5 us", "10Gb/s"],
                      ["1e-30 Gb/s", "5 us", "too small"]):
            result = run("predict", "--network", "alexnet", "--cluster", "p40x16", "--ranks", "2",
                         "--inter-node-bandwidth=" + words[0], "--inter-node-latency=" + words[1])
            self.assert_refused(result, 2, "--inter-node-bandwidth", words[2])

    def test_a_suite_without_a_folder(self):
        self.assert_refused(run("run", "quickstart", "-o", "", "--list"), 2, "--output")

    def test_a_count_that_is_not_positive(self):
        for words in (["--ranks", "0"], ["--ranks", "1,-2"], ["--ranks", "1", "--loader-threads", "0"]):
            result = run("predict", "--network", "alexnet", "--cluster", "p40x16", *words)
            self.assert_refused(result, 2, words[-2], "is not a number above 0")
        for number in ("2147483648", "1.5"):
            result = run("predict", "--network", "alexnet", "--cluster", "p40x16", "--ranks", f"1,{number}")
            self.assert_refused(result, 2, f"--ranks: {number} is not a whole number up to 2147483647")

    def test_a_spread_that_is_none(self):
        predict = ["predict", "--network", "alexnet", "--cluster", "p40x16"]
        for words in (["5"], ["-5%"], ["x%"], ["nan%"], ["5%%"], ["1001%"]):
            result = run(*predict, "--ranks", 2, "--straggler-spread=" + words[0])
            self.assert_refused(result, 2, f"--straggler-spread: {words[0]} is not a standard deviation", "5%")
        self.assert_refused(run(*predict, "--ranks", 2, "--straggler-spread=5%", "--layers"), 2, "--straggler-spread", "--layers")
        self.assert_refused(run(*predict, "--ranks", 1000000, "--straggler-spread=5%"), 2, "1000000 ranks", "fewer ranks")

    def test_a_number_of_ranks_named_twice(self):
        result = run("predict", "--network", "alexnet", "--cluster", "p40x16", "--ranks", "1,2,1")
        self.assert_refused(result, 2, "--ranks names 1 twice")

    def test_a_seed_below_zero_or_beyond_what_it_can_hold(self):
        for seed in ["-1", "-0", "1.5", "99999999999999999999"]:
            self.assert_refused(self.conv(self.network, "--order-seed=" + seed), 2, "--order-seed", "not a whole number from 0")
            made = run("data", "make", "--out", self.folder / "data", "--seed=" + seed)
            self.assert_refused(made, 2, "--seed", "not a whole number from 0")
            self.assertFalse((self.folder / "data").exists())
        self.assert_refused(self.train("--seed=-1"), 2, "--seed", "-1")

    def test_variables_of_openmp_that_end_its_library(self):
        if BACKEND != "onednn":
            self.skipTest("needs oneDNN")
        for name, value in (("OMP_NUM_THREADS", "-1"), ("OMP_STACKSIZE", "99999G")):
            self.assert_refused(run("bench", "gemm", "--backend", BACKEND, variables={name: value}), 2, f'{name} is "{value}"', "unset it")
        limited = run("bench", "gemm", "--backend", BACKEND, "--threads", "2", variables={"OMP_THREAD_LIMIT": "1"})
        self.assert_refused(limited, 2, "lets OpenMP start 1 thread")

    def test_sizes_of_nothing(self):
        for benchmark in ["comm", "memory"]:
            for size in ["0", "-3"]:
                result = run("bench", benchmark, "--sizes=" + size)
                self.assert_refused(result, 2, "--sizes is " + size, '"25 MB"')

    def test_sizes_that_no_whole_number_counts(self):
        for words in (["memory", "--operations", "copy", "--sizes"], ["peak", "--operations", "intensity", "--sizes"],
                      ["latency", "--operations", "chase", "--chase-sizes"], ["latency", "--strides"],
                      ["update", "--backend", BACKEND, "--sizes"], ["comm", "--sizes"]):
            result = run("bench", *words, "9999999999999 TB")
            self.assert_refused(result, 2, f"{words[-1]} is 9999999999999 TB (too large)")
        self.assert_refused(run("bench", "comm", "--sizes", "9999TiB"), 2, "--sizes is 9999TiB (more than any memory holds)")
        huge = ["select-algorithm", "--network", "alexnet", "--kernels", self.folder, "--workspace", "1e19 B"]
        self.assert_refused(run(*huge), 2)

    def test_more_than_the_memory_is_a_row_that_says_so(self):
        for words in (["memory", "--operations", "h2d", "--networks", "alexnet", "--batch", "200000000"],
                      ["update", "--sizes", "1000 TB"]):
            result = run("bench", *words, "--backend", BACKEND)
            self.assert_refused(result, 5, "nothing was measured")
            self.assertRegex(result.stdout, "its tensors and workspace take .* are free")
        if MPIEXEC:
            result = run("bench", "comm", "--sizes", "1000 TB", ranks=2)
            self.assertEqual(result.returncode, 5, result.stderr)
            self.assertRegex(result.stdout, "its buffers take .* are free")

    def test_an_empty_value_is_refused(self):
        bench = ["bench", "conv", "--backend", BACKEND, "--network", self.network]
        choose = ["select-algorithm", "--network", "alexnet", "--kernels", self.folder]
        predict = ["predict", "--network", "alexnet", "--cluster", "p40x16", "--ranks", "1"]
        for words in ([*bench, "-o"], [*bench, "--list"], [*bench, "--cluster"], [*choose, "--workspace"],
                      [*choose, "-o"], [*predict, "--inter-node-bandwidth"], [*predict, "-o"], ["report"],
                      ["calibrate"], ["run", "quickstart", "--data"]):
            result = run(*words, " " if words[-1] == "--list" else "")
            self.assert_refused(result, 2, "the value is empty. Write one, or leave the option out")
            self.assertEqual(result.stdout, "")

    def test_an_empty_value_behind_an_equals_sign_is_refused_for_the_option(self):
        for words in (["predict", "--network=", "--cluster", "p40x16"], ["plan", "--network", "alexnet", "--cluster="],
                      ["bench", "gemm", "--sizes="], ["select-algorithm", "--kernels="], ["gate", "--base="],
                      ["--config=", "info"], ["roofline", "fit", "x", "-o="]):
            result = run(*words)
            option = next(word for word in words if word.endswith("=")).replace("-o", "--output").rstrip("=")
            self.assert_refused(result, 2, f"{option}: the value is empty. Write one, or leave the option out")
            self.assertEqual(result.stderr.count("See"), 1, result.stderr)

    def test_a_value_that_is_missing(self):
        for words in (["predict", "--network"], ["roofline", "fit", "x", "-o"]):
            self.assert_refused(run(*words), 2, ": the value is missing. Write one behind it, or leave the option out.")

    def test_words_of_other_tools_are_answered_with_ours(self):
        predict = ["predict", "--network", "alexnet", "--cluster", "p40x16"]
        for words, said in [(["--gpus", 8], "Write --ranks N"), (["-N", 2], "2 nodes of 8 GPUs are --ranks 16"),
                            (["--nodes=2"], "--ranks 16"), (["--ntasks", 4], "Write --ranks N"), (["-np", 4], "Write --ranks N"),
                            (["--nproc_per_node", 8], "devices_per_node"), (["--precision", "fp16"], "Write --dtype f32"),
                            (["--fp16"], "Write --dtype"), (["--batch-size", 64], "Write --batch N"),
                            (["--global_batch_size", 64], "Write --global-batch N"), (["--lr", 0.1], "Leave it out."),
                            (["--arch", "resnet50"], "Write --network NAME"), (["--json"], "Write --format json"),
                            (["--ranks", "2-256"], "Write 2..256:x2"), (["--ranks", "1:8"], "Write 1..8:x2"),
                            (["--ranks", "8x"], "Write 8"), (["--ranks", "1k"], "Write 1000 or 1024"),
                            (["--ranks", "1,024"], "write 1,024 as 1024"), (["--batch", "32-64"], "Write 32..64:x2"),
                            (["--ranks", 2, "--dtype", "int8"], "8 bits and fewer are not modelled")]:
            self.assert_refused(run(*predict, *words), 2, said)
        gate = ["gate", "--base", "true", "--new", "true"]
        for words, said in [(["--warmup", 3], "Each round is a fresh process"), (["--runs", 10], "Write --rounds N"),
                            (["--alpha", 0.05], "How often a verdict may err is fixed"), (["--factor", 1.1], "Write --margin"),
                            (["--benchmark-compare-fail", "mean:5%"], "Write --margin"), (["--prepare", "sync"], "into the commands"),
                            (["--export-markdown", "x.md"], "Write --format"), (["--measurement-time", 5], "Write --time-budget")]:
            self.assert_refused(run(*gate, *words), 2, said)
        for words, said in [(["compare", "a", "b", "--no-utest"], "fixed"), (["compare", "a", "b", "--factor", 1.1], "--margin"),
                            (["history", "check", "--benchmark-storage", "x"], "Write --store"),
                            (["history", "list", "--bench", "x"], "Write --name"), (["history", "list", "--filter", "x"], "Write --name")]:
            self.assert_refused(run(*words), 2, said)
        rows = [run(*predict, "--ranks", 2, "--dtype", name, "--format", "csv").stdout for name in ("f16", "fp16", "float16", "half")]
        self.assertEqual(len(set(rows)), 1)
        self.assertIn("f16", rows[0])

    def test_verbs_of_other_tools_are_answered_with_ours(self):
        for words, said in [(["diff", "a", "b"], '"diff" is not a verb. Write dlscale compare BASE NEW'),
                            (["train"], "Write dlscale bench e2e"), (["run-bench"], "Write dlscale bench"),
                            (["bench-compare"], "Write dlscale compare"), (["continuous", "main", "HEAD"], "Write dlscale gate"),
                            (["all_reduce_perf", "-b", 8], "Write dlscale bench comm"), (["mpirun", "-n", 2], "stands before the program"),
                            (["publish"], "Write dlscale report"), (["history", "show"], "Write dlscale history list"),
                            (["history", "ack"], "Write dlscale history annotate"), (["bench", "matmul"], "Write dlscale bench gemm")]:
            result = run(*words)
            self.assert_refused(result, 2, said)
            verb = result.stderr.split("Write dlscale ")[-1].split()[0].rstrip(",.") if "Write" in result.stderr else "bench"
            self.assertEqual(run(verb, "--help").returncode, 0, result.stderr)

    def test_near_names_are_all_named_and_other_numbers_are_none(self):
        predict = ["predict", "--ranks", 2]
        for words, said in [(["--network", "alexnet", "--cluster", "p40x16", "--device", "H100"],
                             'Did you mean "h100_pcie_80gb" or "h100_sxm5_80gb"?'),
                            (["--network", "alexnet", "--cluster", "dgx"], 'Did you mean "dgx1" or "dgx_a100" or "dgx_h100"?'),
                            (["--network", "vgg", "--cluster", "dgx1"], '"vgg11"'), (["--network", "resnet", "--cluster", "dgx1"], '"resnet152"')]:
            refused = run(*predict, *words)
            self.assertEqual(refused.returncode, 2)
            for part in said.split(" or "):
                self.assertIn(part.strip("?"), refused.stderr)
        for words in (["--network", "resnet56", "--cluster", "dgx1"], ["--network", "alexnet", "--cluster", "p40x16", "--device", "A10"],
                      ["--network", "alexnet", "--cluster", "p40x16", "--device", "H900"]):
            refused = run(*predict, *words)
            self.assertEqual(refused.returncode, 2)
            self.assertNotIn("Did you mean", refused.stderr)
        self.assertEqual(run("info", "--clusters").stdout.split(), sorted(p.stem for p in (SOURCE / "configs/clusters").glob("*.yaml")))
        self.assertIn("alexnet\n", run("info", "--networks").stdout)

    def test_usage_errors_name_the_help_of_the_command(self):
        for words, said in [(["predict", "--rnks", 2], 'Did you mean --ranks? See "dlscale predict --help".'),
                            (["bench", "gemm", "--samples", "x"], 'See "dlscale bench gemm --help".'),
                            (["roofline"], 'See "dlscale roofline --help".'), (["frob"], 'See "dlscale --help".'),
                            (["noise", "x"], '"x" has no place in noise.'), (["noise", "-x"], "-x is not an option of noise."),
                            (["predict", "--batch", 2, "--global-batch", 4], "exclude each other. Leave one out."),
                            (["predict", "--log-ranks", "8"], "--log-ranks needs --message-times beside it.")]:
            result = run(*words)
            self.assert_refused(result, 2, said)
            self.assertEqual(result.stderr.count("--help"), 1, result.stderr)

    def test_arguments_that_are_missing_are_named_together(self):
        self.assert_refused(run("compare", "x"), 2, "An argument is missing: b (The results to judge by it")
        self.assert_refused(run("compare"), 2, "Arguments are missing: a (", "), b (")
        self.assert_refused(run("select-algorithm"), 2, "Arguments are missing: --network (", "), --kernels (")

    def test_files_and_folders_that_are_missing_or_empty_are_bad_input(self):
        empty = self.folder / "empty"
        empty.mkdir()
        alexnet, p40 = ["--network", "alexnet"], ["--cluster", "p40x16"]
        for path in (empty, self.folder / "none"):
            for words in (["calibrate", path, "-o", "-"], ["validate", path, "--machine", path], ["report", path], ["compare", path, path],
                          ["roofline", "show", path], ["roofline", "fit", path, "-o", "-"], ["roofline", "validate", path],
                          ["validate-comm", path], ["history", "add", path, "--store", self.folder / "new"],
                          ["history", "list", "--store", path], ["history", "check", "--store", path], ["data", "info", path],
                          ["run", path], ["run", f"{path}.yaml"], ["predict", *alexnet, "--machine", path, "--ranks", 2],
                          ["predict", "--network", path, *p40, "--ranks", 2], ["predict", *alexnet, "--cluster", path, "--ranks", 2],
                          ["predict", "--cases", path], ["validate", "--cases", path], ["select-algorithm", *alexnet, "--kernels", path],
                          ["predict", "--layer-times", path, "--batch", 2, "--ranks", 2, *p40], ["plan", *alexnet, "--machine", path, "--epochs", 1],
                          ["bench", "io", "--data", path], ["bench", "gemm", "--ceilings", path], ["--config", path, "info"]):
                with self.subTest(words=list(map(str, words))):
                    self.assert_refused(run(*words), 2)

    def test_a_file_of_another_kind_is_named_with_the_command_that_makes_the_wanted_one(self):
        results = self.folder / "conv.jsonl"
        self.assertEqual(self.conv(self.network, "-o", results).returncode, 0)
        machine, gate = self.folder / "machine.json", self.folder / "gate.json"
        machine.write_text('{"schema": "dlscale.machine", "version": 1}\n')
        gate.write_text('{\n  "schema": "dlscale.sweep",\n  "version": 2\n}\n')
        network = ["--network", self.network]
        for words, *said in [
            (["predict", *network, "--ranks", 1, "--machine", results],
             f"{results} is a file of results, and a machine description is wanted here.",
             f"Type: dlscale calibrate {results} -o machine.json"),
            (["plan", *network, "--epochs", 1, "--machine", self.network], f"{self.network} is the description of a network"),
            (["predict", *network, "--ranks", 1, "--machine", gate], f"{gate} is an answer of dlscale (dlscale.sweep)"),
            (["report", machine], f"{machine} is a machine description, and a file of results is wanted here. Name one that a benchmark wrote."),
            (["compare", self.network, results], "is the description of a network", "a file of results is wanted"),
            (["predict", *network, "--ranks", 1, "--cluster", f"{self.folder}/machine.json"], "is a machine description"),
            (["predict", "--network", results, "--cluster", "p40x16", "--ranks", 1], "is a file of results", "the description of a network is wanted"),
            (["select-algorithm", *network, "--kernels", results], f"dlscale roofline fit {results} -o kernels.json"),
            (["predict", "--cases", results], "a file of published cases is wanted"),
            (["predict", "--layer-times", machine, "--batch", 2, "--ranks", 2, "--cluster", "p40x16"], "a CSV table of times is wanted"),
            (["run", f"{SOURCE}/configs/networks/alexnet.yaml"], "is the description of a network", "a suite is wanted"),
        ]:
            with self.subTest(words=list(map(str, words))):
                self.assert_refused(run(*words), 2, *said)

    def test_an_option_given_twice(self):
        for words in (["bench", "gemm", "--sizes", "8x8x8", "--sizes", "9x9x9"],
                      ["predict", "--network", "alexnet", "--network", "vgg16"]):
            self.assert_refused(run(*words), 2, f"{words[-2]} is given 2 times", "commas")

    def test_one_value_where_one_is_taken(self):
        self.assert_refused(self.conv(self.network, "--threads", "1,2"), 2, '--threads is "1,2"', "one number is taken")
        result = run("bench", "memory", "--operations", "h2d", "--backend", BACKEND, "--dtype", "bf16,f16")
        self.assert_refused(result, 2, '"bf16,f16" is a list, where one precision is taken')
        self.assert_refused(self.conv(self.network, "--precision", "inf"), 2, "inf is not a finite number above 0")

    def test_all_stands_alone(self):
        for words in (["--layers", "all,conv1"], ["--layers", "conv1,all"], ["--passes", "all,forward"]):
            self.assert_refused(self.conv(self.network, *words), 2, words[0], '"all" stands alone')
        result = run("bench", "conv", "--backend", BACKEND, "--network", "all,alexnet")
        self.assert_refused(result, 2, "--network", '"all" stands alone')

    def test_options_without_effect_on_the_operations(self):
        for words in (["memory", "--operations", "h2d", "--isa", "avx2"], ["memory", "--operations", "h2d", "--stores", "ordinary"],
                      ["memory", "--operations", "copy", "--batch", "8"], ["peak", "--operations", "fma", "--intensities", "1"],
                      ["latency", "--operations", "line", "--strides", "64 B"]):
            result = run("bench", *words)
            self.assert_refused(result, 2, f"{words[3]} has no effect on --operations {words[2]}")

    def test_a_list_of_the_other_kind(self):
        result = run("bench", "conv", "--backend", BACKEND, "--list", "deepbench")
        self.assert_refused(result, 2, "deepbench.yaml holds matrix products")

    def test_a_data_set_that_cannot_be_made_leaves_nothing(self):
        out = self.folder / "deep" / "data"
        result = run("data", "make", "--out", out, "--pictures", 2, "--classes", 2, "--width", 96,
                     "--height", 72, "--picture-size", "500 B")
        self.assert_refused(result, 2, "500 bytes")
        self.assertFalse(out.parent.exists())

    def test_a_training_that_diverges(self):
        result = self.train("--data", self.make_data(), "--rate", "1e30")
        self.assert_refused(result, 4, "loss", "not finite", "diverged", "learning rate")
        self.assertNotIn("reference", result.stderr)

    def test_kernel_larger_than_the_image(self):
        network = self.write_network("d.yaml", "kernel: 5", "kernel: 55")
        self.assert_refused(self.conv(network), 2, "conv1")

    def test_unknown_key_in_a_network(self):
        network = self.write_network("e.yaml", "stride: 2, pad: 2", "strides: 2, pad: 2")
        self.assert_refused(self.conv(network), 2, "e.yaml", "conv1", "strides", "stride")

    def test_unknown_network_names_the_nearest(self):
        self.assert_refused(self.conv("resnet5"), 2, "resnet5", "resnet50")

    def test_missing_unit_in_a_cluster(self):
        line = next(line for line in CLUSTER.splitlines() if "bandwidth:" in line and "GB" in line)
        value = line.split("bandwidth:")[1].split("#")[0].strip().strip("'\"").rstrip("}").strip()
        cluster = self.cluster(value, value.split()[0])
        self.assert_refused(self.predict(cluster), 2, "cluster.yaml", "no unit", "GB/s")

    def test_a_latency_that_nccl_s_model_does_not_know_is_refused(self):
        words = ["predict", "--network", "alexnet", "--cluster", "h200x8", "--ranks", "16",
                 "--inter-node-bandwidth", "10Gb/s"]
        self.assert_refused(run(*words, "--inter-node-latency", "5us"), 2, "--inter-node-latency", "--all-reduce ring")
        slow = json.loads(run(*words, "--format", "json").stdout)
        fast = json.loads(run(*words[:-2], "--format", "json").stdout)
        time = lambda document: document["predictions"][0]["time"]["t_iter_s"]
        self.assertGreater(time(slow), time(fast))

    def test_a_batch_beyond_the_memory_of_the_device(self):
        words = ["predict", "--network", "resnet50", "--cluster", "h200x8", "--ranks", "1", "--batch"]
        for more in [[], ["--layers"]]:
            self.assert_refused(run(*words, "65536", *more), 2, "needs at least", "141 GB", "Ask for a batch of")
        self.assertNotIn("141 GB", run(*words, "256").stdout)

    def test_choose_refuses_what_cannot_be(self):
        words = ["select-algorithm", "--network", "alexnet", "--kernels", self.folder]
        self.assert_refused(run(*words), 2, "cannot be read", "roofline fit")
        self.assert_refused(run(*words, "--batch", "99999999"), 2, "batch", "65536")

    def test_input_copied_in_a_way_there_is_not(self):
        words = ["predict", "--network", "alexnet", "--ranks", "1", "--input-copy"]
        self.assert_refused(run(*words, "onpath", "--cluster", "p40x16"), 2, "onpath", 'Did you mean "on_path"')
        cluster = self.cluster("sheet: p40", PROCESSOR)
        for more in [[], ["--layers"]]:
            result = run(*words, "ahead", "--cluster", cluster, *more)
            self.assert_refused(result, 2, "no copy engine", "Ask for copies on the path")

    def test_kernels_launched_in_a_way_there_is_not(self):
        words = ["predict", "--network", "alexnet", "--ranks", "1", "--launch"]
        self.assert_refused(run(*words, "graphs", "--cluster", "p40x16"), 2, "graphs", 'Did you mean "graph"')
        cluster = self.cluster("sheet: p40", PROCESSOR)
        self.assert_refused(run(*words, "graph", "--cluster", cluster), 2, "launches none", "eager launches")

    def test_pictures_normalised_where_that_cannot_be(self):
        words = ["predict", "--network", "alexnet", "--ranks", "1", "--normalize"]
        self.assert_refused(run(*words, "gpu", "--cluster", "p40x16"), 2, "gpu", "host, device")
        cluster = self.cluster("sheet: p40", PROCESSOR)
        self.assert_refused(run(*words, "device", "--cluster", cluster), 2, "reads what the host wrote")
        result = self.train("--data", self.make_data(), "--normalize", "device")
        self.assert_refused(result, 2, "computes on the host", "on the host")

    def test_a_communicator_there_is_not(self):
        result = self.conv(self.network, "--comm", "pigeons")
        self.assert_refused(result, 2, "pigeons", "mpi_cuda, mpi_staged or nccl")

    def test_precision_that_nothing_computes_in(self):
        words = ["predict", "--network", "alexnet", "--ranks", "1", "--cluster", "dgx1", "--dtype"]
        self.assert_refused(run(*words, "tf32"), 2, "gives no peak in tf32", "ask for f32, or measure it")
        self.assert_refused(run(*words, "bf16"), 2, "gives no peak in bf16")

    def test_unknown_key_in_a_cluster(self):
        cluster = self.cluster("devices_per_node:", "gpus_per_node: 4\ndevices_per_node:")
        self.assert_refused(self.predict(cluster), 2, "cluster.yaml", "gpus_per_node")

    def test_no_yaml_at_all(self):
        path = self.folder / "broken.yaml"
        path.write_text("network: [unclosed")
        self.assert_refused(self.conv(path), 2, "broken.yaml")

    def test_batch_must_be_positive(self):
        for batch in ["0", "-4", "many"]:
            result = run("bench", "conv", "--backend", BACKEND, "--network", self.network, "--batch", batch)
            self.assert_refused(result, 2, "batch", batch)
            result = run("predict", "--network", "alexnet", "--cluster", "p40x16", "--ranks", "1", "--batch", batch)
            self.assert_refused(result, 2, "batch")

    def test_ranks_must_be_positive_numbers(self):
        for ranks in ["0", "-1", "two", "1,,2x"]:
            result = run("predict", "--network", "alexnet", "--cluster", "p40x16", "--ranks", ranks)
            self.assert_refused(result, 2)

    def test_unknown_verbs_options_and_values(self):
        self.assert_refused(run("predct"), 2, '"predct" is not a verb', 'Did you mean "predict"', "compare")
        self.assert_refused(run("prédict"), 2, '"prédict" is not a verb', "Allowed: ", "calibrate")
        self.assert_refused(run(), 2, "A verb is missing", "Allowed: ", "calibrate")
        self.assert_refused(run("--speed"), 2, "--speed is not an option of dlscale")
        self.assert_refused(run("bench", "con"), 2, '"con" is not a kind of bench', '"conv"')
        self.assert_refused(run("data"), 2, "A kind of data is missing", "make", "info")
        self.assert_refused(run("predict", "--network", "alexnet", "--cluster", "p40x16", "--ranks", "1", "--speed"), 2)
        self.assert_refused(self.conv(self.network, "--bogus", "1"), 2, "--bogus")
        self.assert_refused(self.conv(self.network, "--backend", "cudnn9"), 2, "cudnn9")
        self.assert_refused(self.conv(self.network, "--passes", "sideways"), 2, "sideways")
        self.assert_refused(self.train("--data", "x", "--schedule", "eager"), 2, "eager")

    def test_options_without_effect_are_refused(self):
        for option in ["--max-time", "--precision"]:
            self.assert_refused(self.train("--data", "x", option, "0.5"), 2, option)
            self.assertNotIn(option, run("bench", "e2e", "--help").stdout)

    def test_numbers_of_samples_that_are_none(self):
        for option in ["--samples", "--warm-ups"]:
            result = run("bench", "conv", "--backend", BACKEND, "--network", self.network, option, "0")
            self.assert_refused(result, 2, option, "above 0")

    def test_counts_that_no_whole_number_holds_or_is_written_so(self):
        for wrong in ["1e9", "99999999999", "2.5"]:
            for words in (["bench", "gemm", "--samples"], ["select-algorithm", "--network", "alexnet", "--kernels", "k", "--batch"]):
                self.assert_refused(run(*words, wrong), 2, f"{words[-1]} = {wrong} is not a number", "in digits")

    def test_a_filter_that_is_no_regular_expression(self):
        for wrong in ["(", "*"]:
            self.assert_refused(self.conv(self.network, "--benchmark_filter=" + wrong), 2,
                                f"--benchmark_filter={wrong} is not a regular expression", "backslash")

    def test_data_set_missing(self):
        self.assert_refused(self.train("--data", self.folder / "nowhere"), 2, "nowhere", "data make")

    def test_truncated_picture(self):
        data = self.make_data()
        for picture in data.rglob("*.jpg"):
            picture.write_bytes(picture.read_bytes()[: picture.stat().st_size // 2])
        self.assert_refused(self.train("--data", data), 2, ".jpg", "truncated")

    def test_a_backend_that_is_not_here_is_told_first_and_once(self):
        told = run("info").stdout.splitlines()
        absent = any(line.split()[:1] == ["cuda"] and "not in this build" in line for line in told)
        words = ["bench", "e2e", "--network", self.network, "--data", self.folder / "nowhere"]
        for name, code in ([("cuda", 6)] if absent else []) + [("abacus", 2)]:
            for operation in [["gemm"], ["conv"], ["peak", "--operations", "gemm"]]:
                result = run("bench", *operation, "--backend", name)
                self.assert_refused(result, code, name, "--backend")
                self.assertEqual(result.stdout, "")
            for ranks in [0, 2] if MPIEXEC else [0]:
                result = run(*words, "--backend", name, ranks=ranks, timeout=60)
                self.assert_refused(result, code, name, "--backend")
                self.assertEqual(result.stdout, "")

    def test_damaged_picture_of_one_of_two_ranks(self):
        if not MPIEXEC:
            self.skipTest("this build has no MPI")
        pictures = sorted(self.make_data(pictures=8).rglob("*.jpg"))
        for picture in pictures[:4]:  # eight pictures, four a rank: some are of rank 1
            whole = picture.read_bytes()
            picture.write_bytes(whole[: len(whole) // 2].ljust(len(whole), b"\0"))
            result = run("bench", "io", "--data", self.folder / "data", "--batch", 4, "--height", 32,
                         "--width", 32, "--max-time", 0.1, ranks=2, timeout=60)
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn(picture.name, result.stderr)
            picture.write_bytes(whole)

    def test_more_threads_than_take_turns(self):
        for words in (["conv", "--network", self.network], ["gemm"], ["update"],
                      ["e2e", "--network", self.network], ["overhead", "--network", self.network],
                      ["memory"], ["peak"]):
            result = run("bench", *words, "--threads", 100000)
            self.assert_refused(result, 2, "100000 threads on", "Give --threads at most")
        result = run("bench", "io", "--data", self.make_data(), "--loader-threads", 100000)
        self.assert_refused(result, 2, "100000 threads on", "Give --loader-threads at most")

    def test_results_of_two_machines_are_not_reported_as_one(self):
        conv = self.folder / "conv.jsonl"
        self.assertEqual(self.conv(self.network, "--algorithms", "all", "-o", conv).returncode, 0)
        header, *rows = conv.read_text().splitlines()
        header = json.loads(header)
        header["environment"]["host_hash"] = "another"
        other = self.folder / "other.jsonl"
        other.write_text("\n".join([json.dumps(header), *rows]) + "\n")
        result = run("report", conv, other, "-o", self.folder / "report")
        self.assert_refused(result, 2, "different hosts", "Give the results of one")
        self.assertFalse((self.folder / "report").exists())

    def test_machine_file_missing_or_broken(self):
        words = ["predict", "--network", "alexnet", "--ranks", "1", "--machine"]
        self.assert_refused(run(*words, self.folder / "none.json"), 2, "none.json")
        path = self.folder / "machine.json"
        path.write_text('{"schema": "dlscale.machine", "version": 99}')
        self.assert_refused(run(*words, path), 2, "machine.json", "version")

    def test_calibrate_without_results(self):
        self.assert_refused(run("calibrate", self.folder, "-o", self.folder / "m.json"), 2)
        self.assertFalse((self.folder / "m.json").exists())

    def test_suites_that_compare_workers_need_several(self):
        result = run("run", "quickstart", "--workers", 1, "--list")
        self.assert_refused(result, 2, "2 workers at least", "dlscale bench")

    def test_more_ranks_expected_than_launched(self):
        result = self.conv(self.network, "--ranks", 2)
        self.assert_refused(result, 4, " -n 2 ")


if __name__ == "__main__":
    main()
