""".ci: what CI runs, in which order and environment, and when the CUDA step is skipped; with programs in place of builds and tests."""

import os
import re
import shutil
import subprocess
import unittest

from ci_support import git
from support import ROOT, FolderTest, output_of

# Writes down how it is called; prints and ends as the environment says.
CMAKE = """#!/bin/sh
echo "cmake $*" >> "$CALLS"
case "$*" in
  *"--target help"*) [ -n "${NO_CUDNN:-}" ] || echo "dlscale_cuda_tests: phony" ;;
  --build*) exit "${BUILD_ENDS:-0}" ;;
esac
"""
CTEST = '#!/bin/sh\necho "ctest $*" >> "$CALLS"\nexit "${TESTS_END:-0}"\n'
STEP = '#!/bin/sh\necho "{name}$(printf " %s" "$@")"\n{more}\n'


class CiTest(FolderTest):
    """A folder with a checkout that has what .ci is about."""

    def setUp(self):
        super().setUp()
        self.checkout = self.folder / "checkout"
        shutil.copytree(ROOT / ".ci", self.checkout / ".ci")

    def run_ci(self, *command, **variables):
        changed = dict(os.environ) | {key: str(value) for key, value in variables.items()}
        return output_of(*command, cwd=self.checkout, timeout=120, env=changed)


class Order(CiTest):
    def run_all(self, cuda=0, tests=0):
        self.write("checkout/.ci/cuda", STEP.format(name="cuda", more=f"exit {cuda}"))
        self.write("checkout/.ci/without_cuda", STEP.format(name="without_cuda", more='exec "$@"'))
        self.write("checkout/scripts/test", STEP.format(name="test", more=f'echo "100% tests passed"\nexit {tests}'))
        return self.run_ci(self.checkout / ".ci" / "run")

    def test_the_command_of_the_readme_comes_last_and_word_for_word(self):
        self.assertIn("\n./scripts/test ", (ROOT / "README.md").read_text())
        done = self.run_all()
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout.splitlines(), ["cuda ", "without_cuda ./scripts/test", "test ", "100% tests passed"])

    def test_each_step_that_fails_fails_all_and_ctest_has_the_last_word(self):
        for cuda, tests, expected in [(3, 0, 3), (0, 8, 8), (3, 8, 8)]:
            done = self.run_all(cuda, tests)
            self.assertEqual(done.returncode, expected)
            self.assertEqual(done.stdout.splitlines()[-1], "100% tests passed")
            self.assertEqual("failed with exit code 3" in done.stdout, cuda == 3)


class WithoutCuda(CiTest):
    def setUp(self):
        super().setUp()
        self.toolkit = self.folder / "toolkit"
        self.write("toolkit/bin/nvcc", "#!/bin/sh\n")
        self.write("toolkit/include/cuda.h", "")
        self.variables = {"PATH": f"{self.toolkit}/bin:{os.environ['PATH']}", "CUDA_HOME": self.toolkit, "CUDA_VISIBLE_DEVICES": "0",
                          "CPATH": f"{self.toolkit}/include", "LD_LIBRARY_PATH": f"/b:{self.toolkit}/lib:/a b"}

    def without_cuda(self, *command):
        return self.run_ci(self.checkout / ".ci" / "without_cuda", *command, **self.variables)

    def test_no_variable_leads_to_a_toolkit_and_other_folders_stay_in_order(self):
        done = self.without_cuda("env")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        left = dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)
        self.assertNotIn(str(self.toolkit), done.stdout)
        self.assertEqual(left["LD_LIBRARY_PATH"], "/b:/a b")
        self.assertTrue(left["PATH"].endswith("/bin"), left["PATH"])
        self.assertEqual({"CPATH", "CUDA_HOME", "CUDA_VISIBLE_DEVICES"} & set(left), set())

    def test_a_toolkit_is_known_by_its_compiler_and_by_links_to_it(self):
        link = self.folder / "link"
        link.symlink_to(self.toolkit)
        self.variables = {"PATH": f"{link}/bin:{os.environ['PATH']}", "CPATH": f"{self.toolkit}/include:{link}/include"}
        done = self.without_cuda("env")
        self.assertNotIn(f"{link}/", done.stdout)
        self.assertNotIn(f"{self.toolkit}/", done.stdout)

    def test_words_and_exit_code_are_those_of_the_command(self):
        done = self.without_cuda("sh", "-c", 'printf "<%s>" "$@"; exit 7', "sh", "a  b", "--", "*")
        self.assertEqual((done.returncode, done.stdout), (7, "<a  b><--><*>"))
        self.assertEqual(self.without_cuda().returncode, 2)

    def test_headers_are_not_there_in_the_command_and_still_there_for_others(self):
        command = ["unshare", "--mount", "mount", "-t", "tmpfs", "none", str(self.toolkit)]
        if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode != 0:
            self.skipTest("needs root and mount namespaces")
        other = self.write("other/nvcc", "#!/bin/sh\n")
        self.variables["PATH"] += f":{other.parent}"
        done = self.without_cuda("sh", "-c", f"ls -A {self.toolkit}; test -s {other} || command -v nvcc")
        self.assertEqual((done.stdout, done.stderr), ("", ""))
        self.assertTrue((self.toolkit / "include" / "cuda.h").exists() and other.stat().st_size > 0)


class CudaStep(CiTest):
    def setUp(self):
        super().setUp()
        self.calls = self.folder / "calls"
        self.write("bin/cmake", CMAKE)
        self.write("bin/ctest", CTEST)
        self.write("checkout/scripts/setup", "#!/bin/sh\n")
        self.nvcc("12.4")
        self.write("checkout/backend/compute/cuda/gemm.cpp", '#include "core/base/units.hpp"\n')
        self.write("checkout/core/units.hpp", "")
        self.write("checkout/core/network.hpp", "")
        git(self.checkout, "init", "-q")
        self.commit()

    def nvcc(self, version):
        self.write("bin/nvcc", f"#!/bin/sh\necho {version}\n")

    def commit(self):
        git(self.checkout, "add", "-A")
        git(self.checkout, "commit", "-qm", "next", "--allow-empty")

    def step(self, **variables):
        self.calls.unlink(missing_ok=True)
        known = {"PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}", "CALLS": self.calls, "CUDACXX": "nvcc",
                 "XDG_CACHE_HOME": self.folder / "cache"}
        return self.run_ci(self.checkout / ".ci" / "cuda", **known | variables)

    def assert_built(self, done, why, code=0):
        self.assertEqual((done.returncode, done.stderr), (code, ""))
        self.assertRegex(done.stdout, f"(?m)^ci: CUDA and NCCL: built: .*{why}")
        self.assertIn("--preset cuda -B build/ci-cuda", self.calls.read_text())

    def assert_skipped(self, done, why):
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, f"^ci: CUDA and NCCL: skipped: .*{why}.*\n$")

    def test_it_builds_and_tests_once_and_again_when_what_it_compiles_changed(self):
        self.assert_built(self.step(), "no success is on record")
        called = self.calls.read_text()
        self.assertRegex(called, "--target dlscale_cuda_tests\n(.|\n)*ctest .*-L .cuda")
        self.assert_skipped(self.step(), "nothing changed")
        self.assertFalse(self.calls.exists())
        for changed in ["backend/compute/cuda/gemm/gemm.cpp", "core/base/units.hpp", "cmake/New.cmake", "tests/backend/comm/nccl/new_test.cpp"]:
            path = self.write(f"checkout/{changed}", '#include "core/base/units.hpp"\n// changed\n')
            self.commit()
            self.assert_built(self.step(), "files, interfaces or compilers changed")
            path.touch()
            self.assert_skipped(self.step(), "nothing changed")
        self.write("checkout/core/network.hpp", "// changed")
        self.commit()
        self.assert_skipped(self.step(), "nothing changed")
        self.nvcc("13.0")
        self.assert_built(self.step(), "compilers changed")

    def test_the_folders_that_it_names_are_there(self):
        [names] = re.findall(r"folders=\(([^)]*)\)", (ROOT / ".ci" / "cuda").read_text())
        self.assertEqual([name for name in names.split() if not (ROOT / name).exists()], [])

    def test_what_failed_is_built_again(self):
        self.assert_built(self.step(BUILD_ENDS=2), "no success", code=2)
        self.assert_built(self.step(TESTS_END=8), "no success", code=8)
        self.assert_built(self.step(), "no success")
        self.assert_skipped(self.step(), "nothing changed")

    def test_local_changes_are_built_and_not_recorded(self):
        self.write("checkout/backend/comm/nccl/new.cpp", "")
        self.assert_built(self.step(), "local changes")
        self.assert_built(self.step(), "local changes")
        self.commit()
        self.assert_built(self.step(), "no success is on record")

    def test_without_git_it_builds_each_time(self):
        shutil.rmtree(self.checkout / ".git")
        ceiling = {"GIT_CEILING_DIRECTORIES": self.folder}
        self.assert_built(self.step(**ceiling), "no git")
        self.assert_built(self.step(**ceiling), "no git")

    def test_a_record_that_cannot_be_written_fails_nothing(self):
        done = self.step(XDG_CACHE_HOME="/dev/null")
        self.assertEqual(done.returncode, 0)
        self.assertIn("this success is not on record: /dev/null/dlscale/ci/cuda cannot be written", done.stdout)

    def test_it_is_skipped_without_a_compiler_and_without_its_libraries(self):
        self.assert_skipped(self.step(CUDACXX="no-such-nvcc"), "no CUDA compiler was found .no-such-nvcc.")
        self.assert_skipped(self.step(NO_CUDNN="yes"), "CMake found nvcc, but not all else")
        self.assert_built(self.step(), "no success is on record")


class TestScript(unittest.TestCase):
    def test_says_what_its_options_are_and_refuses_others(self):
        script = ROOT / "scripts" / "test"
        done = subprocess.run([script, "--help"], capture_output=True, text=True, check=True)
        self.assertRegex(done.stdout, r"^Installs (.|\n)*--no-install(.|\n)*--preset NAME .*minimal\n$")
        for gone in ["--cuda", "--advise"]:
            done = subprocess.run([script, gone], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 2)
            self.assertIn(f'unknown option "{gone}". Options: --no-install, --preset NAME, -- CTEST OPTIONS.', done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
