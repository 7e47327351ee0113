"""The program with the backends of GPUs, where there is no GPU: it starts, says why it cannot use them, and refuses them."""

import pathlib
import re
import sys
import unittest

from program import ProgramTest, main, run

GPU_BACKENDS = sys.argv[3].split(",") if len(sys.argv) > 3 else []


@unittest.skipIf(pathlib.Path("/dev/nvidiactl").exists(), "there is a driver of GPUs here")
class GpuProgram(ProgramTest):
    def test_info_says_of_each_backend_why_it_cannot_be_used(self):
        result = run("info")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        for name in GPU_BACKENDS:
            with self.subTest(name):
                reason = re.search(rf"^  {name} +\S.*\n +built, but not usable here: (.+)$", result.stdout, re.MULTILINE)
                self.assertIsNotNone(reason, result.stdout)
                self.assertRegex(reason[1], "driver|GPU")

    def test_what_is_to_run_on_a_gpu_is_refused(self):
        for backend in ["cuda", "cuda_nchw"]:
            self.assert_refused(run("bench", "conv", "--network", self.network, "--backend", backend), 6, "driver")
        train = ["bench", "e2e", "--network", self.network, "--data", self.make_data(), "--backend", "cuda"]
        self.assert_refused(run(*train), 6, "driver")


if __name__ == "__main__":
    main()
