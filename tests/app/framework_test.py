"""predict and plan as a framework trains, with one batch for all ranks, and to a target."""

import json

from program import ProgramTest, main, run


class Asked(ProgramTest):
    words = ["--network", "alexnet", "--cluster", "v100x16_ib100", "--loader-threads", 6]

    def answer(self, verb, *more):
        words = self.words if "--cluster" not in more else [*self.words[:2], *self.words[4:]]
        result = run(verb, *words, *more, "--format", "json")
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def test_a_framework_is_what_its_properties_are_by_hand(self):
        words = ["--ranks", "2,8", "--cluster", "dgx_h100"]
        named = self.answer("predict", *words, "--framework", "horovod 0.19")["predictions"]
        by_hand = self.answer("predict", *words, "--schedule", "horovod", "--cycle", "5ms",
                              "--fusion-threshold", "64MiB", "--all-reduce", "nccl")["predictions"]
        self.assertEqual([row["time"] for row in named], [row["time"] for row in by_hand])
        self.assertIn("by configs/frameworks/horovod_0.19", json.dumps(named[0]["notes"]))
        other = self.answer("predict", *words, "--framework", "horovod", "--cycle", "5ms",
                            "--fusion-threshold", "64MiB")["predictions"]
        self.assertEqual([row["time"] for row in other], [row["time"] for row in by_hand])
        self.assertIn("--cycle in place of fusion_cycle", json.dumps(other[0]["notes"]))

    def test_servers_are_called_as_the_framework_does(self):
        words = ["--ranks", "4,16", "--launch", "eager", "--input-copy", "ahead"]
        named = self.answer("predict", *words, "--framework", "tf_cnn_benchmarks_distributed_replicated")["predictions"]
        served = self.answer("predict", *words, "--layers", "--framework", "tf_cnn_benchmarks_distributed_replicated")["runs"]
        by_hand = self.answer("predict", *words, "--layers", "--synchronisation", "parameter_server", "--sharding", "tensorflow", "--transport", "grpc",
                              "--server-clients", "nodes")["runs"]
        # Only the framework says that GPUs add within a node, where by hand the host does.
        within, between = ([sum(layer["t_comm_s"] for layer in row["layers"]) for row in runs] for runs in (served, by_hand))
        self.assertGreater(within[0], between[0])
        self.assertAlmostEqual(within[1] - within[0], between[1] - between[0], delta=1e-9)
        self.assertIn("one process of each node pushes to servers", json.dumps(named[0]["notes"]))
        # Within one machine parameter_server makes no calls, and distributed_replicated does.
        local = self.answer("predict", *words, "--framework", "tf_cnn_benchmarks_parameter_server_cpu")["predictions"]
        self.assertLess(local[0]["time"]["t_comm_exposed_s"], named[0]["time"]["t_comm_exposed_s"])
        self.assertIn("calls no server", json.dumps(local[0]["notes"]))

    def test_buckets_of_any_size(self):
        words = ["--ranks", 16, "--schedule", "bucketed,reduce_scatter_overlap"]
        rows = self.answer("predict", *words, "--bucket", "1GB")["rows"]
        self.assertEqual(rows[0]["time"]["t_comm_hidden_s"], 0)  # one message, after backward
        self.assertEqual([row["run"]["first_bucket_bytes"] for row in rows], [1e9, 1e9])
        usual = self.answer("predict", *words)["rows"]
        same = self.answer("predict", *words, "--bucket", "25MiB", "--first-bucket", "1MiB")["rows"]
        self.assertEqual([row["time"] for row in usual], [row["time"] for row in same])
        self.assert_refused(run("predict", *self.words, "--ranks", 2, "--schedule", "wait_free", "--bucket", "1MB"), 2, "bucket changes nothing here")
        self.assert_refused(run("predict", *self.words, "--ranks", 2, "--schedule", "bucketed", "--bucket", "2B"), 2,
                            "bucket is 2 B (less than one gradient element)")
        self.assert_refused(run("predict", *self.words, "--ranks", 2, "--schedule", "bucketed", "--bucket", "1MB", "--first-bucket", "2B"), 2,
                            "--first-bucket is 2 B (less than one gradient element)")

    def test_a_plan_chooses_from_what_the_framework_can_do(self):
        words = ["--ranks", "4,8", "--batch", 64, "--epochs", 1]
        plan = self.answer("plan", *words, "--framework", "pytorch")
        self.assertEqual({one["schedule"] for one in plan["best"]}, {"bucketed"})
        self.assertEqual(plan["configurations"], 2)
        self.assertIn("pytorch_ddp", json.dumps(plan["question"]["notes"]))
        served = self.answer("plan", *words, "--framework", "mxnet_0.10")["best"][0]
        self.assertEqual((served["synchronisation"], served["sharding"]), ("parameter_server", "mxnet"))
        pushed = self.answer("plan", *words, "--framework", "byteps")["best"][0]
        self.assertEqual((pushed["synchronisation"], pushed["schedule"]), ("parameter_server", "wait_free"))
        self.assert_refused(run("predict", *self.words, "--ranks", 2, "--framework", "pytroch"), 2, "pytorch_ddp")

    def test_a_global_batch_is_shared_by_the_ranks(self):
        answer = self.answer("predict", "--ranks", "1,2,3,4", "--global-batch", 256)
        rows = {row["run"]["ranks"]: row for row in answer["rows"]}
        self.assertEqual({ranks: row["run"]["batch"] for ranks, row in rows.items()}, {1: 256, 2: 128, 4: 64})
        self.assertIn("3", answer["left_out"][0])
        self.assertEqual(answer["speedup_over"], "1 rank with all 256 images")
        self.assertAlmostEqual(rows[1]["speedup"], 1, delta=1e-12)
        alone = self.answer("predict", "--ranks", 4, "--batch", 64)["predictions"][0]
        self.assertEqual(rows[4]["time"], alone["time"])
        self.assertAlmostEqual(rows[4]["speedup"] / (rows[1]["time"]["t_iter_s"] / alone["time"]["t_iter_s"]), 1, delta=1e-12)
        beyond = self.answer("predict", "--ranks", "8,16", "--global-batch", 8192)
        self.assertIn("8 ranks, counted as 8, for one rank cannot train with all 8192 images", beyond["speedup_over"])
        self.assertAlmostEqual(beyond["rows"][0]["speedup"], 8, delta=1e-9)
        for more, part in [(["--batch", 32], "--batch"), (["--global-batch", 0], "counted"), (["--global-batch", "1e3"], "counted"),
                           (["--global-batch", 1000000000], "of 1000000000 images each has 500000000 (a rank takes 65536 at most)"),
                           (["--layers"], "several are asked for")]:
            words = ["--ranks", "2,4", *([] if "--global-batch" in more else ["--global-batch", 64]), *more]
            self.assert_refused(run("predict", *self.words, *words), 2, part)

    def test_a_plan_of_one_global_batch_keeps_to_it(self):
        words = ["--ranks", "1..12", "--epochs", 90, "--schedules", "wait_free,horovod"]
        plan = self.answer("plan", *words, "--global-batch", 256)
        self.assertEqual({one["ranks"] * one["batch"] for one in plan["best"] + plan["front"] + plan["neighbours"]}, {256})
        self.assertEqual(plan["configurations"], 4 * 2)  # of 1, 2, 4 and 8 ranks
        self.assertEqual(plan["by_simulation"], 4)
        self.assertEqual(plan["question"]["global_batch"], 256)
        predicted = self.answer("predict", "--ranks", "1..8:x2", "--global-batch", 256, "--schedule", "wait_free")["rows"]
        of_ranks = {row["run"]["ranks"]: row for row in predicted}
        for one in plan["front"]:
            if one["schedule"] == "wait_free":
                self.assertAlmostEqual(one["efficiency"] / of_ranks[one["ranks"]]["efficiency"], 1, delta=1e-9)
        self.assert_refused(run("plan", *self.words, "--ranks", "3,5", "--epochs", 1, "--global-batch", 256), 2, "cannot be shared equally")
        self.assert_refused(run("plan", *self.words, "--ranks", "4", "--epochs", 1, "--global-batch", 256, "--batch", 2), 2, "--batch")

    def test_targets_have_one_name_and_one_network(self):
        for verb, words in [("predict", ["--ranks", 2]), ("plan", ["--ranks", 2])]:
            self.assert_refused(run(verb, *self.words, *words, "--target", "imagenet-75.9"), 2, "known for resnet50 alone")
            self.assert_refused(run(verb, *self.words, *words, "--target", "resnet50"), 2, "imagenet-75.9")
        trained = run("predict", "--network", "resnet50", "--cluster", "v100x16_ib100", "--ranks", "8,16", "--global-batch", 512,
                      "--target", "imagenet-75.9", "--format", "json")
        trainings = json.loads(trained.stdout)["trainings"]
        self.assertEqual([one["global_batch"] for one in trainings], [512, 512])

    def test_near_misses_are_told_what_was_meant(self):
        for words, parts in [
            (["predict", *self.words, "--rank", 2], ["--rank is not an option of predict", "Did you mean --ranks?"]),
            (["predict", "--network", "alexnt", "--cluster", "p40x16", "--ranks", 2], ['Did you mean "alexnet"?']),
            (["predict", *self.words, "--ranks", "1,,2"], ['--ranks is "1,,2"', "leave the comma out"]),
            (["predict", *self.words, "--ranks", 2, "--schedule=,merged"], ['--schedule is ",merged"']),
            (["plan", *self.words, "--epochs", 1, "--ranks", 2, "--time-limit", "7 dys"], ['Write "7 d"']),
            (["plan", *self.words, "--epochs", 90, "--ranks", 1, "--batch", 32, "--time-limit", "1 h"], ["(1 rank,", "images/s, not"]),
        ]:
            self.assert_refused(run(*words), 2, *parts)

    def test_epochs_are_fitted_to_what_batches_took(self):
        words = ["--ranks", 8, "--batch", 64]
        trained = self.answer("predict", *words, "--epochs-at", "1000=50,9000=90")["trainings"][0]
        self.assertAlmostEqual(trained["epochs"], 45 + 512 / 200, delta=1e-9)
        planned = self.answer("plan", *words, "--epochs-at", "1000=50,9000=90")["best"][0]
        self.assertAlmostEqual(planned["epochs"], trained["epochs"], delta=1e-9)
        for points, part in [("1000=50", "need two"), ("1000=50,9000=40", "do not rise"), ("1000", "8192=64"), ("0=1,2=3", "above 0")]:
            self.assert_refused(run("predict", *self.words, *words, "--epochs-at", points), 2, part)

    def test_what_bounds_input_is_said(self):
        text = run("predict", "--network", "alexnet", "--cluster", "v100x16_ib100", "--ranks", 8, "--batch", 1024, "--loader-threads", 1, "--notes").stdout
        self.assertRegex(text, r"input: (4 loader threads decode|storage delivers) [0-9]+ of the [0-9]+ images/s")


if __name__ == "__main__":
    main()
