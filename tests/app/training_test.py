"""What training prints and writes when all is well, and the settings that it refuses."""

import json
import os

from program import BACKEND, MPIEXEC, ProgramTest, main, run


class Training(ProgramTest):
    def train(self, data, name, ranks=0, *more):
        out = self.folder / name
        result = run("bench", "e2e", "--backend", BACKEND, "--network", self.network, "--batch", 4, "--data", data,
                     "--iterations", 6, "--warmup", 1, "-o", out, *more, ranks=ranks)
        self.assertEqual(result.returncode, 0, result.stderr)
        rows = [json.loads(line) for line in out.read_text().splitlines()]
        return [row for row in rows if "axes" in row]

    def test_a_training_says_that_its_threads_share_cores(self):
        crowded = len(os.sched_getaffinity(0)) + 1
        (row,) = self.train(self.make_data(), "e2e.jsonl", 0, "--threads", crowded)
        self.assertTrue(any("cores are to be busy" in warning for warning in row["warnings"]), row["warnings"])

    def test_training_phases_add_up_to_the_iteration(self):
        (row,) = self.train(self.make_data(), "e2e.jsonl", 0)
        parts = ["t_io", "t_h2d", "t_f", "t_b", "t_comm_exposed", "t_u", "t_other"]
        for i, total in enumerate(row["series"]["t_iter"]["samples"][0]):
            self.assertAlmostEqual(
                sum(row["series"][part]["samples"][0][i] for part in parts) / total, 1, delta=0.01
            )

    def test_two_ranks_train_under_every_schedule(self):
        if not MPIEXEC:
            self.skipTest("this build has no MPI")
        schedules = ["sequential", "wait_free", "bucketed", "merged_greedy", "merged", "horovod",
                     "reduce_scatter_overlap", "priority"]
        rows = self.train(self.make_data(), "e2e.jsonl", 2, "--schedule", ",".join(schedules), "--ranks", 2)
        self.assertEqual(sorted(row["axes"]["schedule"] for row in rows), sorted(schedules))
        for row in rows:
            self.assertEqual(row["axes"]["ranks"], "2")
            self.assertEqual(len(row["series"]["t_iter"]["samples"]), 2)

    def test_settings_of_another_schedule_are_refused(self):
        predict = ["predict", "--network", "alexnet", "--cluster", "p40x16", "--ranks", 4]
        train = ["bench", "e2e", "--backend", BACKEND, "--network", self.network, "--data", self.folder]
        for options, words in [
            (["--cycle", "1 ms"], "the schedule horovod"),
            (["--schedule", "horovod", "--cycle", "1"], "cycle is 1 (no unit)"),
            (["--schedule", "horovod", "--partition", "1 MB"], "the schedule priority"),
            (["--servers", 2], "the synchronisation parameter_server"),
            (["--schedule", "merged", "--synchronisation", "parameter_server"], "orders all-reduces"),
        ]:
            for command in (predict, train):
                result = run(*command, *options)
                self.assertEqual(result.returncode, 2, result.stderr)
                self.assertIn(words, result.stderr)

    def test_two_ranks_train_with_a_parameter_server(self):
        if not MPIEXEC:
            self.skipTest("this build has no MPI")
        (row,) = self.train(self.make_data(), "server.jsonl", 2, "--synchronisation", "parameter_server",
                            "--servers", 1, "--ranks", 2)
        self.assertEqual(row["axes"]["synchronisation"], "parameter_server")
        self.assertEqual(row["axes"]["servers"], "1")

    def test_training_is_bound_to_the_cores_asked_for(self):
        (row,) = self.train(self.make_data(), "bound.jsonl", 1 if MPIEXEC else 0, "--cores-per-rank", 1)
        self.assertEqual(row["axes"]["cores_per_rank"], "1")
        self.assertEqual(row["axes"]["launch"], "eager")


if __name__ == "__main__":
    main()
