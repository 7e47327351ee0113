"""Bad input: one clear sentence, exit code 2, nothing lost."""

import pathlib

from program import BACKEND, MPIEXEC, ProgramTest, main, run

CLUSTER = (pathlib.Path(__file__).parents[2] / "configs" / "clusters" / "p40x16.yaml").read_text()


class BadInput(ProgramTest):
    def conv(self, network, *more):
        backend = [] if "--backend" in more else ["--backend", BACKEND]
        return run("bench", "conv", "--network", network, "--batch", 2, "--max-time", 0.02, *backend, *more)

    def train(self, *more):
        return run("bench", "e2e", "--backend", BACKEND, "--network", self.network, "--batch", 4, "--iterations", 3, *more)

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

    def test_unknown_producer(self):
        network = self.write_network("b.yaml", "kind: relu}", "kind: relu, from: [conv9]}")
        self.assert_refused(self.conv(network), 2, "relu1", "conv9")

    def test_shape_mismatch(self):
        network = self.write_network(
            "c.yaml", "  - {name: fc,", "  - {name: both, kind: sum, from: [pool1, relu1]}\n  - {name: fc,"
        )
        self.assert_refused(self.conv(network), 2, "both", "8 × 8 × 8", "8 × 16 × 16")

    def test_a_link_slower_than_nothing(self):
        for words in (["-10 GB/s", "5 us"], ["0 GB/s", "5 us"], ["10 GB/s", "-5 us"]):
            result = run("predict", "--network", "alexnet", "--cluster", "p40x16", "--ranks", "2",
                         "--inter-node-bandwidth=" + words[0], "--inter-node-latency=" + words[1])
            self.assert_refused(result, 2, "--inter-node-bandwidth", "10Gb/s")

    def test_a_suite_without_a_folder(self):
        self.assert_refused(run("run", "quickstart", "-o", "", "--list"), 2, "--output")

    def test_a_count_that_is_not_positive(self):
        for words in (["--ranks", "0"], ["--ranks", "1,-2"], ["--ranks", "1", "--loader-threads", "0"]):
            result = run("predict", "--network", "alexnet", "--cluster", "p40x16", *words)
            self.assert_refused(result, 2, words[-2], "is no number above 0")

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
        self.assert_refused(run("prédict"), 2)
        self.assert_refused(run(), 2)
        self.assert_refused(run("predict", "--network", "alexnet", "--cluster", "p40x16", "--ranks", "1", "--speed"), 2)
        self.assert_refused(self.conv(self.network, "--bogus", "1"), 2, "--bogus")
        self.assert_refused(self.conv(self.network, "--backend", "cudnn9"), 2, "cudnn9")
        self.assert_refused(self.conv(self.network, "--passes", "sideways"), 2, "sideways")
        self.assert_refused(self.train("--data", "x", "--schedule", "eager"), 2, "eager")

    def test_options_without_effect_are_refused(self):
        for option in ["--max-time", "--precision"]:
            self.assert_refused(self.train("--data", "x", option, "0.5"), 2, option)
            self.assertNotIn(option, run("bench", "e2e", "--help").stdout)

    def test_data_set_missing(self):
        self.assert_refused(self.train("--data", self.folder / "nowhere"), 2, "nowhere", "data make")

    def test_truncated_picture(self):
        data = self.make_data()
        for picture in data.rglob("*.jpg"):
            picture.write_bytes(picture.read_bytes()[: picture.stat().st_size // 2])
        self.assert_refused(self.train("--data", data), 2, ".jpg", "truncated")

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

    def test_results_folder_not_writable(self):
        result = self.conv(self.network, "-o", "/dev/null/results/out.jsonl")
        self.assert_refused(result, 2, "/dev/null")

    def test_disk_full(self):
        self.assert_refused(self.conv(self.network, "-o", "/dev/full"), 2, "/dev/full")
        result = run("predict", "--network", "alexnet", "--cluster", "p40x16", "--ranks", "1", "-o", "/dev/full")
        self.assert_refused(result, 2, "/dev/full")

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
        self.assert_refused(result, 2, " -n 2 ")


if __name__ == "__main__":
    main()
