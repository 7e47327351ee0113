"""plan: what it answers, and what it refuses."""

import csv
import io
import json
import os
import pathlib

from program import ProgramTest, main, run

SCHEDULES = ["sequential", "wait_free", "bucketed", "merged_greedy", "merged"]


class Plan(ProgramTest):
    def setUp(self):
        super().setUp()
        text = (pathlib.Path(os.environ["DLSCALE_CONFIGS"]) / "clusters" / "v100x16_ib100.yaml").read_text(encoding="utf-8")
        self.cluster = self.folder / "quick_loader.yaml"
        text = text.replace("decode: 2.8 ms", "decode: 100 us").replace("read_bandwidth: 600 MB/s", "read_bandwidth: 100 GB/s")
        self.cluster.write_text(text, encoding="utf-8")
        self.words = ["plan", "--network", "alexnet", "--cluster", self.cluster, "--loader-threads", 4]

    def plan(self, *more):
        result = run(*self.words, *more, "--format", "json")
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def test_the_best_is_what_predict_says(self):
        answer = self.plan("--gpus", 16, "--batch", "32,64", "--epochs", 90)
        self.assertEqual(answer["schema"], "dlscale.plan")
        self.assertEqual(answer["configurations"], 16 * 2 * len(SCHEDULES))
        self.assertEqual(answer["by_simulation"], 0)
        best = answer["best"][0]
        predicted = run("predict", *self.words[1:], "--ranks", best["ranks"], "--batch", best["batch"],
                        "--schedule", best["schedule"], "--format", "json")
        time = json.loads(predicted.stdout)["predictions"][0]["time"]["t_iter_s"]
        self.assertAlmostEqual(best["t_iter_s"] / time, 1, delta=1e-12)
        self.assertAlmostEqual(best["closed_form_t_iter_s"] / time, 1, delta=1e-9)
        images = best["ranks"] * best["batch"]
        self.assertAlmostEqual(best["time_to_train_s"] / (90 * 1281167 / images * time), 1, delta=1e-9)
        for other in answer["best"][1:]:
            self.assertGreaterEqual(other["time_to_train_s"] * (1 + 1e-9), best["time_to_train_s"])
        front = answer["front"]
        self.assertGreater(len(front), 1)
        self.assertAlmostEqual(front[0]["time_to_train_s"] / best["time_to_train_s"], 1, delta=1e-9)
        for left, right in zip(front, front[1:]):
            self.assertLess(left["time_to_train_s"], right["time_to_train_s"])
            self.assertGreater(left["rank_hours"], right["rank_hours"])

    def test_limits_are_kept_and_money_counted(self):
        free = self.plan("--gpus", 16, "--epochs", 90, "--batch", "64", "--cost-per-gpu-hour", 2.5)
        self.assertAlmostEqual(free["best"][0]["cost"] / (2.5 * free["best"][0]["rank_hours"]), 1, delta=1e-9)
        limit = 2 * free["best"][0]["time_to_train_s"]
        cheap = self.plan("--gpus", 16, "--epochs", 90, "--batch", "64", "--cost-per-gpu-hour", 2.5, "--objective", "cost",
                          "--time-limit", f"{limit} s")
        self.assertLessEqual(cheap["best"][0]["time_to_train_s"], limit)
        self.assertLessEqual(cheap["best"][0]["cost"], free["best"][0]["cost"])
        self.assertLess(cheap["within_limits"], free["within_limits"])

    def test_it_says_where_in_its_interval_a_plan_keeps_to_a_limit(self):
        words = ["--ranks", 1, "--epochs", 90, "--batch", 32, "--schedules", "wait_free"]
        free = self.plan(*words)["best"][0]
        self.assertLess(free["t_iter_low_s"], free["t_iter_s"])
        self.assertGreater(free["t_iter_high_s"], free["t_iter_s"])
        time = free["time_to_train_s"]
        self.assertEqual(self.plan(*words, "--time-limit", f"{1.05 * time} s")["best"][0]["limits_kept"], "as predicted")
        refused = run(*self.words, *words, "--time-limit", f"{0.95 * time} s")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("; 90 % interval ", refused.stderr)

    def test_a_known_target_counts_epochs_by_the_batch(self):
        words = ["plan", "--network", "resnet50", "--cluster", self.cluster, "--loader-threads", 4, "--ranks", "8,16",
                 "--batch", "32", "--schedules", "wait_free", "--target", "imagenet-75.9", "--format", "json"]
        result = run(*words)
        self.assertEqual(result.returncode, 0, result.stderr)
        best = json.loads(result.stdout)["best"][0]
        self.assertAlmostEqual(best["epochs"], 34.58 * (1 + 32 * best["ranks"] / 46909), delta=1e-6)

    def test_parameter_servers_are_a_choice(self):
        words = ["--ranks", "2,16", "--batch", 32, "--epochs", 90]
        answer = self.plan(*words, "--synchronisation", "all_reduce,parameter_server", "--servers", "1,4,all", "--simulate-top", 20)
        self.assertEqual(answer["configurations"], 2 * (5 + 3 * 3))
        self.assertEqual(answer["by_simulation"], 0)
        self.assertEqual(len(answer["left_out_for_servers"]), 3)
        self.assertIn("sequential by 4 servers", answer["left_out_for_servers"][0])
        served = [one for one in answer["best"] if one["synchronisation"] == "parameter_server"]
        self.assertTrue(served)
        for one in served:
            predicted = run("predict", *self.words[1:], "--ranks", one["ranks"], "--batch", 32, "--schedule", one["schedule"],
                            "--synchronisation", "parameter_server", "--servers", one["servers"], "--format", "json")
            time = json.loads(predicted.stdout)["predictions"][0]["time"]["t_iter_s"]
            self.assertAlmostEqual(one["closed_form_t_iter_s"] / time, 1, delta=1e-9)
            self.assertAlmostEqual(one["t_iter_s"] / time, 1, delta=1e-12)
        alone = self.plan(*words, "--synchronisation", "parameter_server")
        self.assertEqual(alone["configurations"], 2 * 3)
        self.assertEqual({one["servers"] == one["ranks"] for one in alone["best"]}, {True})
        words = [*words, "--synchronisation", "parameter_server"]
        for more, part in [(["--schedules", "merged"], "merged, which orders all-reduces"),
                           (["--servers", "32"], "servers are ranks"), (["--servers", "0"], "0"),
                           (["--servers", "many"], "many"), (["--servers", "2,2"], "twice"),
                           (["--buckets", "1MiB"], "--buckets changes nothing")]:
            self.assert_refused(run(*self.words, *words, *more), 2, part)
        self.assert_refused(run(*self.words, *words[:-2], "--servers", 2), 2, "--servers changes nothing")
        self.assert_refused(run(*self.words, *words[:-1], "all_reduce,parameter_server", "--schedules", "merged"), 2,
                            "goes with none of the --schedules")

    def test_servers_own_parameters_by_the_rules_of_frameworks(self):
        words = ["--ranks", "4", "--batch", 32, "--epochs", 90, "--synchronisation", "parameter_server", "--servers", 2]
        answer = self.plan(*words, "--sharding", "largest_first,mxnet,tensorflow", "--simulate-top", 20)
        self.assertEqual(answer["configurations"], 3 + 2 + 2)
        self.assertEqual({one["sharding"] for one in answer["best"]}, {"largest_first", "mxnet", "tensorflow"})
        for one in answer["best"]:
            predicted = run("predict", *self.words[1:], "--ranks", 4, "--batch", 32, "--schedule", one["schedule"], "--synchronisation",
                            "parameter_server", "--servers", 2, "--sharding", one["sharding"], "--format", "json")
            prediction = json.loads(predicted.stdout)["predictions"][0]
            self.assertEqual(prediction["run"]["sharding"], one["sharding"])
            self.assertAlmostEqual(one["closed_form_t_iter_s"] / prediction["time"]["t_iter_s"], 1, delta=1e-9)
        for more, part in [(["--sharding", "mxnt"], "mxnet"), (["--sharding", "mxnet,mxnet"], "twice"),
                           (["--sharding", "mxnet", "--schedules", "bucketed"], "goes with none of the --schedules")]:
            self.assert_refused(run(*self.words, *words, *more), 2, part)
        self.assert_refused(run(*self.words, *words[:-4], "--sharding", "mxnet"), 2, "--sharding changes nothing")

    def test_servers_are_called_by_ranks_or_nodes(self):
        words = ["--ranks", "4,16", "--batch", 32, "--epochs", 90, "--schedules", "wait_free,merged", "--servers", "1,all",
                 "--synchronisation", "all_reduce,parameter_server"]
        answer = self.plan(*words, "--transport", "collectives,grpc,grpc_rdma", "--server-clients", "ranks,nodes", "--simulate-top", 30)
        # One server or one on each, by collectives, or by two kinds of calls of ranks or nodes.
        self.assertEqual(answer["configurations"], 2 * (2 + 2 * (1 + 2 * 2)))
        self.assertEqual(answer["by_simulation"], 0)
        self.assertIn("left out with parameter servers: merged, which order all-reduces", answer["question"]["notes"])
        called = [one for one in answer["best"] if one["transport"] == "grpc"]
        self.assertEqual({one["callers"] for one in called}, {"ranks", "nodes"})
        for one in called[:3]:
            predicted = run("predict", *self.words[1:], "--ranks", one["ranks"], "--batch", 32, "--synchronisation", "parameter_server",
                            "--servers", one["servers"], "--transport", "grpc", "--server-clients", one["callers"], "--format", "json")
            prediction = json.loads(predicted.stdout)["predictions"][0]
            self.assertEqual(prediction["run"]["callers"], one["callers"])
            self.assertAlmostEqual(one["closed_form_t_iter_s"] / prediction["time"]["t_iter_s"], 1, delta=1e-9)
        for more, part in [(["--transport", "grcp"], 'Did you mean "grpc"?'), (["--transport", "grpc,grpc"], "--transport names grpc twice"),
                           (["--server-clients", "nodes"], "--server-clients changes nothing here"),
                           (["--transport", "collectives", "--server-clients", "nodes"], "setting of --transport grpc"),
                           (["--transport", "grpc", "--server-clients", "hosts"], '"hosts" is not a word for who calls')]:
            self.assert_refused(run(*self.words, *words, *more), 2, part)
        self.assert_refused(run(*self.words, *words[:-2], "--transport", "grpc"), 2, "changes nothing here: it is a setting of --synchronisation")
        table = run(*self.words, *words, "--transport", "grpc", "--server-clients", "nodes", "--format", "csv").stdout
        self.assertEqual({row["callers"] for row in csv.DictReader(io.StringIO(table)) if row["transport"]}, {"nodes"})

    def test_a_plan_calls_servers_as_the_framework_does(self):
        answer = self.plan("--ranks", "4,16", "--batch", 32, "--epochs", 1, "--framework", "tf_cnn_benchmarks_distributed_replicated")
        best = answer["best"][0]
        self.assertEqual((best["transport"], best["callers"], best["sharding"]), ("grpc", "nodes", "tensorflow"))
        self.assertEqual(answer["configurations"], 2)

    def test_images_are_counted(self):
        words = ["--ranks", "1,4", "--epochs", 1]
        for more, parts in [(["--max-global-batch", "0.5"], ['--max-global-batch is "0.5" (samples are counted)']),
                            (["--max-global-batch", "0"], ["from 1 to"]),
                            (["--global-batch", 1000000000], ["--global-batch 1000000000 is at least 250000000 images for each rank", "65536"])]:
            self.assert_refused(run(*self.words, *words, *more), 2, *parts)
        shared = self.plan("--ranks", "1,3,4096", "--epochs", 1, "--global-batch", 4096 * 32)
        self.assertEqual([one["ranks"] for one in shared["best"]], [4096] * len(shared["best"]))
        self.assertIn("left out: 1 rank, with more than 65536 of 131072 images for each rank", shared["question"]["notes"])
        self.assertIn("left out: 3 ranks that cannot share 131072 images equally", shared["question"]["notes"])

    def test_nothing_fits(self):
        more = ["--gpus", 16, "--batch", "64", "--epochs", 90]
        self.assert_refused(run(*self.words, *more, "--time-limit", "1 s"), 2, "the quickest training takes", "the time limit of 1.000 s")
        self.assert_refused(run(*self.words, *more, "--cost-per-gpu-hour", 2, "--budget", 0.001), 2, "cheapest", "times the budget")
        self.assert_refused(run(*self.words, *more, "--max-global-batch", 8), 2, "smallest global batch asked for is 64")
        more[3] = "65535"
        self.assert_refused(run(*self.words, *more), 2, "no batch leaves room in the memory")

    def test_questions_that_are_none(self):
        cases = [(["--ranks", "4"], "how long training takes"),
                 (["--ranks", "4", "--epochs", "90", "--target", "imagenet-75.9"], "more than one option says how long"),
                 (["--ranks", "4", "--target", "imagenet-75.9"], "known for resnet50 alone"),
                 (["--ranks", "4", "--target", "cifar"], "cifar"),
                 (["--ranks", "4", "--epochs", "0"], "not a number above 0"),
                 (["--ranks", "4", "--epochs", "nan"], "not a finite number"),
                 (["--ranks", "4", "--epochs", "1", "--samples", "-1"], "not a number above 0"),
                 (["--ranks", "4", "--epochs", "1e300"], "--epochs is 1e+300"),
                 (["--ranks", "4", "--epochs", "1", "--samples", "1e300"], "--samples is 1e+300"),
                 (["--ranks", "4", "--epochs", "1", "--critical-batch", "1e-300"], "--critical-batch is 1e-300"),
                 (["--ranks", "4", "--epochs", "1", "--cost-per-gpu-hour", "1e300"], "--cost-per-gpu-hour is 1e+300"),
                 (["--ranks", "4", "--max-ranks", "8", "--epochs", "1"], "Give the ranks once"),
                 (["--max-ranks", "0", "--epochs", "1"], "not a number above 0"),
                 (["--max-ranks", "2000000", "--epochs", "1"], "more than 1000000"),
                 (["--ranks", "8..4", "--epochs", "1"], "ends before it begins"),
                 (["--ranks", "4", "--epochs", "1", "--batch", "0"], "not a number above 0"),
                 (["--ranks", "4", "--epochs", "1", "--batch", "70000"], "65536"),
                 (["--ranks", "4", "--epochs", "1", "--budget", "5"], "needs --cost-per-gpu-hour"),
                 (["--ranks", "4", "--epochs", "1", "--time-limit", "24"], "no unit"),
                 (["--ranks", "4", "--epochs", "1", "--time-limit", "0 h"], "--time-limit"),
                 (["--ranks", "4", "--epochs", "1", "--objective", "joy"], "joy"),
                 (["--ranks", "4", "--epochs", "1", "--schedules", "merged", "--buckets", "1MiB"], "--buckets"),
                 (["--ranks", "4", "--epochs", "1", "--buckets", "1 B"], "--buckets"),
                 (["--ranks", "4", "--epochs", "1", "--buckets", "4"], "no unit"),
                 (["--ranks", "4", "--epochs", "1", "--simulate-top", "0"], "not a number above 0"),
                 (["--ranks", "1..1000000", "--epochs", "1"], "too many to choose from"),
                 (["--ranks", "1..3000", "--epochs", "1", "--schedules", "horovod", "--batch", "8"], "have to be simulated")]
        for more, part in cases:
            self.assert_refused(run(*self.words, *more), 2, part)
        self.assert_refused(run("plan", "--network", "alexnet", "--epochs", 1), 2, "Give the hardware once")


if __name__ == "__main__":
    main()
