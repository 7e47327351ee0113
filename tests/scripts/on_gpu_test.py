"""scripts/on_gpu without a GPU: what it packs, what it would do there, and, with a driver made for the test, what it leaves.

    on_gpu_test.py PROGRAM [MPIEXEC]
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
from unittest import mock

from support import ROOT, FolderTest, load_script, output_of

ON_GPU = load_script(ROOT / "scripts" / "on_gpu")
PROGRAM = pathlib.Path(sys.argv[1]).resolve()
MPIEXEC = sys.argv[2] if len(sys.argv) > 2 else ""
# Stand-ins for Google Test's programs.
PASSES = '#!/bin/sh\necho "[  PASSED  ] 2 tests."\n'
FAILS = '#!/bin/sh\necho "[  PASSED  ] 3 tests."\necho "[  FAILED  ] Suite.Case/7, where GetParam() = 3 (1 ms)"\nexit 1\n'
CRASHES = "#!/bin/sh\nkill -9 $$\n"
DRIVER = """
int cuInit(unsigned flags) { return (int)flags; }
int cuDeviceGetCount(int* count) { *count = 1; return 0; }
"""


def has_driver():
    try:
        return ON_GPU.gpu_count() > 0
    except ON_GPU.Problem:
        return False


def write_program(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


class OnGpu(FolderTest):
    def setUp(self):
        """All tests share the folder of their class."""

    @classmethod
    def setUpClass(cls):
        cls._folder = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls._folder.name)
        cls.build = cls.folder / "build"
        write_program(cls.build / "dlscale", f'#!/bin/sh\nexec {PROGRAM} "$@"\n')
        (cls.build / "CMakeCache.txt").write_text(f"MPIEXEC_EXECUTABLE:FILEPATH={MPIEXEC or 'NOTFOUND'}\n")
        write_program(cls.build / "tests/conformance_test", PASSES)
        write_program(cls.build / "tests/failing_test", FAILS)
        write_program(cls.build / "tests/crashing_test", CRASHES)
        lines = []
        for name in ("conformance_test", "failing_test", "crashing_test"):
            lines.append(f'add_test({name} "{cls.build}/tests/{name}")')
            lines.append(f"set_tests_properties({name} PROPERTIES LABELS device)")
        shutil.copy(sys.executable, cls.build / "tests/linked_test")
        lines.append(f'add_test(linked "/bin/env" "{cls.build}/tests/linked_test" "-c" "0")')
        lines.append("set_tests_properties(linked PROPERTIES LABELS device)")
        lines.append('add_test(host_test "/bin/true")')
        (cls.build / "CTestTestfile.cmake").write_text("\n".join(lines) + "\n")
        cls.pack = cls.folder / "pack"
        cls.packed = cls.on_gpu("--pack", cls.pack, "--build", cls.build)

    @classmethod
    def tearDownClass(cls):
        cls._folder.cleanup()

    @classmethod
    def on_gpu(cls, *words, script=ROOT / "scripts" / "on_gpu", **variables):
        environment = os.environ | {"ASAN_OPTIONS": "detect_leaks=0", "DLSCALE_SETTINGS": "off"} | variables
        return output_of(sys.executable, script, *words, env=environment, cwd=cls.folder, timeout=300)

    def there(self, *words, **variables):
        return self.on_gpu(*words, script=self.pack / "on_gpu", **variables)

    def names(self):
        with tarfile.open(self.pack / "programs.tar.xz") as archive:
            return set(archive.getnames())

    def test_a_pack_has_all_that_is_needed_and_is_small(self):
        self.assertEqual(self.packed.returncode, 0, self.packed.stderr)
        self.assertIn("MB, 4 device tests", self.packed.stdout)
        self.assertEqual({path.name for path in self.pack.iterdir()}, {"on_gpu", "programs.tar.xz"})
        self.assertLess(sum(path.stat().st_size for path in self.pack.iterdir()), ON_GPU.LIMIT)
        names = self.names()
        self.assertLessEqual({"bin/dlscale", "bin/on_gpu", "bin/pytorch_peer.py", "tests/conformance_test", "tests/linked_test",
                              "share/dlscale/configs/suites/gpu.yaml", "share/dlscale/configs/networks/resnet50.yaml"}, names)
        self.assertNotIn("tests/host_test", names)
        loaded = {name for name in ON_GPU.loaded_by(self.build / "tests/linked_test") if not ON_GPU.GLIBC.match(name)}
        self.assertTrue(loaded <= {pathlib.Path(name).name for name in names if name.startswith("lib/")}, loaded)
        self.assertFalse([name for name in names if pathlib.Path(name).name.startswith("libc.so")])

    def test_refusals_are_one_sentence(self):
        self.assert_refused(self.on_gpu("--pack", self.folder / "new", "--build", self.folder), "cmake --preset cuda")
        self.assert_refused(self.on_gpu("--pack", self.build, "--build", self.build), "holds other files than a pack")
        self.assert_refused(self.on_gpu("--out", self.folder / "out"), "this is not a pack")
        self.assert_refused(self.there("--minutes", 0), "--minutes is 0")
        if not has_driver():
            self.assert_refused(self.there("--out", self.folder / "out"), "has no NVIDIA driver", 6)

    def test_a_pack_that_is_too_large_and_a_test_that_is_not_built_are_refused(self):
        options = ON_GPU.argparse.Namespace(pack=self.folder / "large", build=self.build)
        few = mock.patch.object(ON_GPU, "files_to_pack", return_value={"bin/dlscale": self.build / "dlscale"})
        refused = self.assertRaisesRegex(ON_GPU.Problem, r"largest: bin/dlscale\).*CMAKE_CUDA_ARCHITECTURES")
        with few, mock.patch.object(ON_GPU, "LIMIT", 1000), refused:
            ON_GPU.make_pack(options)
        self.assertFalse((options.pack / "programs.tar.xz").exists())
        broken = shutil.copytree(self.build, self.folder / "broken")
        text = (broken / "CTestTestfile.cmake").read_text().replace(str(self.build), str(broken))
        (broken / "CTestTestfile.cmake").write_text(text)
        (broken / "tests/failing_test").unlink()
        with self.assertRaisesRegex(ON_GPU.Problem, "failing_test is not built"):
            ON_GPU.device_tests(broken)

    def plan(self, minutes):
        """The steps of the suite by name: whether this call has room for each."""
        shown = self.there("--dry-run", "--minutes", minutes, "--work", self.folder / "work")
        self.assertEqual(shown.returncode, 0, shown.stderr)
        lines = [line.split(": ", 1)[0] for line in shown.stdout.splitlines()[:-1]]
        return {line.split(" ")[0]: "in another call" not in line for line in lines}

    def test_the_suite_measures_what_is_worth_most_first_and_twice_six_minutes_are_enough(self):
        steps = list(self.plan(60))
        wanted = ["data", "device-tests", "launches", "update-bf16", "train-resnet50-bf16", "pytorch-resnet50-bf16",
                  "compare-resnet50-bf16", "conv-resnet50-bf16", "train-alexnet-bf16", "h2d-f32", "train-resnet50-f32",
                  "pytorch-alexnet-f32", "train-resnet50-tf32", "algorithms-vgg16-f32", "gemm", "calibrate", "validate", "report"]
        self.assertEqual([name for name in steps if name in wanted], wanted)
        self.assertNotIn("comm", steps, "with one GPU")
        first = self.plan(6)
        self.assertTrue(all(first[name] for name in (*steps[:steps.index("conv-alexnet-bf16")], *steps[-3:])), first)
        self.assertFalse(first["gemm"])
        both = self.plan(12)
        self.assertTrue(all(both[name] for name in steps[:steps.index("conv-alexnet-f32") + 1]), both)

    def make_driver(self):
        folder = self.folder / "driver"
        if not folder.exists():
            folder.mkdir()
            (folder / "driver.c").write_text(DRIVER)
            subprocess.run(["cc", "-shared", "-fPIC", folder / "driver.c", "-o", folder / "libcuda.so.1"], check=True)
        return {"LD_LIBRARY_PATH": str(folder)}

    def suite(self):
        gemm = "bench gemm --backend reference --sizes 8x8x8 --samples 2 --warm-ups 1"
        steps = [{"name": "device-tests", "program": "on_gpu --device-tests --out {out}/tests.txt", "accept_failed_validation": True,
                  "seconds": 2},
                 {"name": "large", "command": gemm + " -o {out}/parts/large.jsonl", "seconds": 1000},
                 {"name": "small", "command": gemm + " -o {out}/parts/small.jsonl", "seconds": 2},
                 {"name": "absent", "program": "no_such_program", "seconds": 1},
                 {"name": "peer", "program": "pytorch_peer.py --help", "seconds": 1}]
        path = self.folder / "small.yaml"
        path.write_text(json.dumps({"suite": "small", "keep_going": True, "steps": steps}))
        return path

    def test_a_call_leaves_few_files_and_the_next_one_goes_on_elsewhere(self):
        driver, out = self.make_driver(), self.folder / "out"
        words = ["--suite", self.suite(), "--out", out, "--work"]
        first = self.there("--minutes", 2, *words, self.folder / "one", **driver)
        self.assertEqual(first.returncode, 3, first.stdout + first.stderr)
        self.assertEqual({path.name for path in out.iterdir()}, {"log.txt", "results.tar.xz", "summary.md"})
        found = (out / "summary.md").read_text()
        self.assertIn("device tests: 27 passed, 3 failed", found)
        self.assertIn("failing_test: Suite.Case/7\n", found)
        self.assertIn("crashing_test: ended with -9\n", found)
        self.assertIn("no room for 1 step of this suite, about 17 min: large.", first.stdout)
        self.assertIn('step "absent" is left out: no_such_program cannot be started', first.stdout)

        again = self.there("--minutes", 30, *words, self.folder / "two", **driver)
        self.assertEqual(again.returncode, 0, again.stdout + again.stderr)
        begun = [line.split("] ")[1].split(":")[0] for line in again.stdout.splitlines() if line.startswith("[")]
        self.assertLessEqual({"large", "absent"}, set(begun))
        self.assertFalse({"device-tests", "small"} & set(begun), begun)
        with tarfile.open(out / "results.tar.xz") as archive:
            self.assertLessEqual({"./parts/large.jsonl", "./parts/small.jsonl", "./tests.txt"}, set(archive.getnames()))

    @unittest.skipUnless(MPIEXEC, "this build has no MPI")
    def test_ranks_start_by_what_was_packed(self):
        root = self.folder / "unpacked"
        ON_GPU.unpack(self.pack / "programs.tar.xz", root)
        if not (root / "openmpi").exists():
            self.skipTest("this MPI is not Open MPI")
        environment = ON_GPU.environment_of(root, self.folder) | {
            "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}
        done = output_of("mpirun", "-n", 2, "sh", "-c", "echo rank $OMPI_COMM_WORLD_RANK by $OPAL_PREFIX", env=environment, timeout=60)
        self.assertEqual(sorted(done.stdout.split("\n")), ["", *(f"rank {rank} by {root}/openmpi" for rank in (0, 1))], done.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
