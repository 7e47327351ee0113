"""How scripts/on_gpu finds a GPU, its driver and libraries; and records that stay small enough."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import types
import unittest
from unittest import mock

from on_gpu_support import ON_GPU, ROOT, FolderTest

# isort: split
import ceilings
import driver
import machine
import models
import needs
import page
import programs
import record
import runner
import tests_plan
from session import Outcome, Step

CONFIGS = ROOT / "configs"
H100 = "NVIDIA H100 80GB HBM3"


def fake_driver(code=0, version=13000, count=1, name=b"NVIDIA H100 80GB HBM3"):
    def fill(value):
        def call(pointer, *_):
            pointer._obj.value = value
            return 0

        return call

    def write(buffer, _size, _device):
        buffer.value = name
        return 0

    return types.SimpleNamespace(
        cuInit=lambda _: code,
        cuDriverGetVersion=fill(version),
        cuDeviceGetCount=fill(count),
        cuDeviceGet=fill(0),
        cuDeviceGetName=write,
    )


class Driver(FolderTest):
    def test_the_driver_is_asked(self):
        self.assertIsNone(driver.problem(fake_driver(), 13))
        self.assertIn(
            "CUDA 12.4 and the programs are of CUDA 13",
            driver.problem(fake_driver(version=12040), 13),
        )
        self.assertIn("no GPU", driver.problem(fake_driver(100, count=0), 13))
        self.assertIn("error 999", driver.problem(fake_driver(999, count=0), 13))

    def test_the_gpu_is_named_by_the_driver_else_by_nvidia_smi(self):
        self.assertEqual(driver.name_by(fake_driver()), H100)
        self.assertEqual(driver.name_by(fake_driver(code=100)), "")
        self.assertEqual(driver.name_by(None), "")
        (self.folder / "nvidia-smi").write_text(
            "#!/bin/sh\necho 'GPU 0: NVIDIA H200 (UUID: GPU-1)'\n"
        )
        (self.folder / "nvidia-smi").chmod(0o755)
        driver.gpu_name.cache_clear()
        path = f"{self.folder}:{os.environ['PATH']}"
        try:
            with mock.patch.dict(os.environ, PATH=path), mock.patch.object(
                driver, "open_library", lambda: None
            ):
                self.assertEqual(driver.gpu_name(), "NVIDIA H200")
        finally:
            driver.gpu_name.cache_clear()

    def test_results_are_kept_by_the_kind_of_gpu(self):
        names = {H100: "h100", "NVIDIA H200": "h200", "NVIDIA A100-SXM4-80GB": "a100",
                 "NVIDIA GeForce RTX 4090": "rtx_4090", "Tesla V100-PCIE-16GB": "v100_pcie",
                 "NVIDIA H100 PCIe": "h100_pcie", "NVIDIA H100 NVL": "h100_nvl",
                 "NVIDIA A100 80GB PCIe": "a100_pcie", "NVIDIA L4": "l4", "": "gpu"}  # fmt: skip
        for name, folder in names.items():
            self.assertEqual(driver.folder_name(name), folder)

    def test_gpus_are_counted_by_the_driver(self):
        def count(pointer):
            pointer._obj.value = 4
            return 0

        library = types.SimpleNamespace(cuInit=lambda flags: 0, cuDeviceGetCount=count)
        self.assertEqual(driver.count_by(library), 4)
        library.cuInit = lambda flags: 100
        self.assertEqual(driver.count_by(library), 0)
        self.assertEqual(driver.count_by(None), 0)

    def test_a_run_says_where_its_results_belong(self):
        packed = types.SimpleNamespace(manifest={"program": "dlscale 0.9, commit abcdef0123"})
        with mock.patch.object(driver, "gpu_name", lambda: H100):
            self.assertRegex(runner._name_of_results(packed), r"^results/h100/20[-\d]{8}-abcdef0$")

    def test_others_on_the_gpu_are_told(self):
        script = self.folder / "nvidia-smi"
        script.write_text("#!/bin/sh\necho '71, /usr/bin/python3'\necho '72, train, me'\n")
        script.chmod(0o755)
        with mock.patch.dict(os.environ, PATH=f"{self.folder}:{os.environ['PATH']}"):
            self.assertEqual(driver.others(own=[71]), [(72, "train, me")])
            script.write_text("#!/bin/sh\nexit 9\n")
            self.assertIsNone(driver.others())
        made = record.Record(self.folder / "out")
        machine_row = {"machine": {"others_on_gpu": [[72, "train"]]}}
        made.line("steps.jsonl", machine_row)
        self.assertIn("Other processes computed on the GPU when this began: train (72)",
                      page.text(made, "t", "s"))  # fmt: skip


class Libraries(FolderTest):
    def test_a_driver_that_the_loader_does_not_know_is_found(self):
        (self.folder / driver.LIBRARY).write_bytes(b"")
        places = [self.folder / "none", self.folder]
        self.assertEqual(driver.folders({}, places), [self.folder])
        self.assertEqual(driver.folders({driver.LIBRARY: "/usr/lib/libcuda.so.1"}, places), [])

    def test_what_the_caller_was_told_is_searched_last(self):
        told = ["/opt/driver/lib64", "/w/cudnn/lib"]
        path = programs.library_path(["/pack/lib"], ["/w/cudnn/lib"], told)
        self.assertEqual(path, "/pack/lib:/w/cudnn/lib:/opt/driver/lib64")
        path = programs.library_path(["/pack/lib"], [], [], ["/pack/lib/fallback"])
        self.assertEqual(path, "/pack/lib/fallback:/pack/lib")

    def test_programs_start_with_the_libraries_that_the_caller_has(self):
        made = programs.Programs.__new__(programs.Programs)
        made.root, made._folders, made._fallback = pathlib.Path("/p"), [], False
        with mock.patch.dict(os.environ, LD_LIBRARY_PATH="/usr/local/nvidia/lib64:"):
            path = made.environment()["LD_LIBRARY_PATH"]
        self.assertEqual(path, "/p/lib:/usr/local/nvidia/lib64")

    def test_programs_without_cuda_do_no_gpu_work(self):
        self.assertIn("without CUDA", machine.gpu_problem([]))

    def test_missing_libraries_are_named_with_what_brings_them(self):
        _, missing = machine.find_cuda_libraries(["libcudnn.so.987"])
        self.assertEqual(missing, ["libcudnn.so.987"])
        self.assertIn("cuDNN 9", machine.name_missing(missing))


class Needs(unittest.TestCase):
    INFO = (
        "compute backends\n  cuda                 a GPU\n"
        "                       built, but not usable here: no driver\n"
        "  onednn               processors\n  other                not in this build: absent\n"
    )

    def test_info_tells_which_backends_can_be_used(self):
        known = needs.Needs(None, "")
        known._asked = lambda: self.INFO
        self.assertIn("no driver", known._backend("cuda"))
        self.assertIsNone(known._backend("onednn"))
        self.assertIn("not in this build", known._backend("other"))
        self.assertIn("does not name", known._backend("missing"))

    def test_what_gave_no_answer_in_time_is_asked_again(self):
        known = needs.Needs(None, "")
        slow = machine.output_of([sys.executable, "-c", "import time; time.sleep(60)"], timeout=0.2)
        answers = [slow, self.INFO]
        known._asked = lambda: answers.pop(0)
        self.assertIn("gave no answer", known._backend("onednn"))
        self.assertIsNone(known._backend("onednn"))

    def test_what_never_answers_is_not_waited_for_again_and_again(self):
        known = needs.Needs(None, "")
        asked = []
        known._asked = lambda: asked.append(1) or f"dlscale {machine.TOO_SLOW} 240 s"
        for _ in range(5):
            self.assertIn("gave no answer", known._backend("onednn"))
        self.assertEqual(len(asked), 2)


class Sheets(unittest.TestCase):
    def test_any_gpu_with_a_data_sheet_has_ceilings(self):
        for name in [H100, "NVIDIA H200", "NVIDIA A100-SXM4-80GB", "Tesla T4", "NVIDIA H100 PCIe"]:
            self.assertGreater(ceilings.of(CONFIGS, name)["bandwidth"], 1e11, name)
        self.assertEqual(ceilings.of(CONFIGS, H100)["peak"]["bf16"], 989.4e12)

    def test_clusters_are_those_with_such_gpus(self):
        clusters = {H100: "dgx_h100", "NVIDIA H200": "h200x8", "NVIDIA GeForce RTX 4090": None,
                    "NVIDIA Z900": None, "": None}  # fmt: skip
        for name, cluster in clusters.items():
            self.assertEqual(ceilings.cluster_of(CONFIGS, name), cluster)


class Sizes(FolderTest):
    def test_a_step_ends_before_its_file_is_too_large_to_come_back(self):
        session = self.session()
        with mock.patch.object(record, "LARGEST", 50_000):
            outcome = session.execute(["sh", "-c", "yes '{\"axes\": 1}'"], 30, "parts.jsonl")
            self.assertEqual(outcome.status, "failed")
            self.assertIn("parts.jsonl is full", outcome.reason)
            self.assertFalse(session.record.has_room("parts.jsonl"))

    def test_a_long_log_keeps_its_head_and_its_tail(self):
        made = record.Record(self.folder / "out")
        sizes = {"LARGEST": 1000, "LOG_HEAD": 100, "LOG_TAIL": 200}
        made.path("log.txt").write_text("a" * 600 + "z" * 600)
        with mock.patch.multiple(record, **sizes):
            made.shorten_log()
        text = made.path("log.txt").read_text()
        self.assertTrue(text.startswith("a" * 100 + "\n== 900 bytes are left out"), text[:150])
        self.assertTrue(text.endswith("\n" + "z" * 200))

    def test_of_models_the_last_of_each_kind_is_kept(self):
        made = record.Record(self.folder / "out")
        for number in range(3):
            for what in ["machine", "validation"]:
                key = {"of": "gpu", "what": what}
                made.replace_line("models.jsonl", key, key | {"document": number})
        rows = made.lines("models.jsonl")
        self.assertEqual([(row["what"], row["document"]) for row in rows],
                         [("machine", 2), ("validation", 2)])  # fmt: skip
        self.assertEqual(len(list(made.folder.iterdir())), 1)

    def test_a_refusal_within_rows_is_no_refusal_of_the_rest(self):
        session = self.session()
        rows = ["sh", "-c", "echo '{\"axes\": {}}'; echo 'dlscale: no' >&2; exit 6"]
        self.assertEqual(session.execute(rows, 30, "parts.jsonl").status, "failed")
        self.assertEqual(session.execute(["sh", "-c", "exit 6"], 30, "parts.jsonl").status, "refused")


class Crashes(FolderTest):
    def test_any_error_of_a_step_and_of_the_page_is_told_and_the_rest_is_done(self):
        session = self.session()
        steps = [
            Step("a", "", "a", 1, 60, lambda *_: None + 1),
            Step("b", "", "b", 1, 60, lambda *_: Outcome("ok")),
        ]
        run = runner.Run(types.SimpleNamespace(minutes=1), session, None)
        with mock.patch.object(page, "text", lambda *_: [][0]):
            self.assertEqual(run.carry_out(steps), 2)
        rows = session.record.lines("steps.jsonl")
        self.assertEqual([row["status"] for row in rows], ["failed", "ok"])
        self.assertIn("TypeError", rows[0]["reason"])
        self.assertIn("Traceback", session.record.path("log.txt").read_text())
        self.assertIn("No tables: IndexError", session.record.path("README.md").read_text())

    def test_tests_that_crash_are_named_and_tried_by_themselves(self):
        """A program that stands in for one of Google Test's: B fails, and C crashes after it."""
        program = self.folder / "device_test"
        program.write_text(
            f"#!{sys.executable}\n"
            "import os, sys\n"
            "names = ['S.A', 'S.B', 'S.C', 'S.D']\n"
            "asked = [w.split('=')[1] for w in sys.argv if w.startswith('--gtest_filter')][0]\n"
            "if '--gtest_list_tests' in sys.argv:\n"
            "    print('S.'); [print('  ' + n[2:]) for n in names]; sys.exit(0)\n"
            "run = names if asked.startswith('-') else [asked]\n"
            "for n in run:\n"
            "    print(f'[ RUN      ] {n}', flush=True)\n"
            "    if n == 'S.B':\n"
            "        print(f'[  FAILED  ] {n} (0 ms)', flush=True); bad = True; continue\n"
            "    if n == 'S.C' and len(run) > 1: os.abort()\n"
            "    print(f'[       OK ] {n} (0 ms)', flush=True)\n"
            "sys.exit(1 if 'bad' in globals() else 0)\n"
        )
        program.chmod(0o755)
        session = self.session()
        session.programs.test = lambda name: program
        outcome = tests_plan._device_test("device_test")(session, 60)
        self.assertEqual(outcome.status, "failed")
        found = outcome.details
        self.assertEqual((found["passed"], found["failed"], found["crashed"]), (1, ["S.B"], ["S.C"]))
        self.assertEqual((found["fail_alone"], found["lost"]), (["S.B"], 1))
        self.assertEqual(found["pass_alone"], ["S.C", "S.D"])
        self.assertIn("1 tests crashed, the first S.C", outcome.reason)
        self.assertIn("1 fail in a process of their own, the first S.B", outcome.reason)


class Scaling(FolderTest):
    def test_each_training_is_predicted_on_more_gpus_once(self):
        session = self.session()
        made = session.record
        axes = {"network": "alexnet", "batch": "64", "dtype": "bf16", "launch": "graph"}
        row = {"benchmark": "e2e", "axes": axes | {"fuse": "relu"}, "series": {"t_iter": {}}}
        made.line("training.jsonl", row)
        made.line("training.jsonl", row)
        made.path("parts.jsonl").write_text("{}\n")
        said = []
        run = {"network": "alexnet", "batch": 64, "dtype": "bf16", "launch": "graph", "fuse": "relu",
               "cluster": "dgx_h100"}  # fmt: skip
        document = {"predictions": [{"run": run | {"ranks": n}, "images_per_s": 1000 * n} for n in (1, 8)]}

        def execute(words, _limit):
            said.append(words)
            pathlib.Path(words[words.index("-o") + 1]).write_text(json.dumps(document))
            return Outcome("ok")

        session.programs.command = lambda words: list(map(str, words))
        session.execute = execute
        action = models.predict_scaling("gpu", "parts.jsonl", "training.jsonl", "cuda", "dgx_h100")
        self.assertEqual(action(session, 60).status, "ok")
        self.assertEqual([words[0] for words in said], ["calibrate", "predict"])
        self.assertEqual(said[0][said[0].index("--cluster") + 1], "dgx_h100")
        for option, value in [("--launch", "graph"), ("--fuse", "relu"), ("--batch", "64")]:
            self.assertEqual(said[1][said[1].index(option) + 1], value)
        self.assertEqual(action(session, 60).status, "skipped")
        text = page.text(made, "t", "s")
        self.assertIn("| alexnet | 64 | bf16 | graph, ReLUs fused | 1000 | 8000 |", text)


CONFIGURED = """
list(APPEND CMAKE_MODULE_PATH {modules})
include(DlscaleNvidia)
dlscale_find_nvidia(FOUND fake.h fake 9 fake 9.1 version.h FAKE)
message("${{FOUND_INCLUDE}} ${{FOUND_LIBRARY}}")
"""


class Configuring(FolderTest):
    """cmake/DlscaleNvidia.cmake, with a package of Python that stands in for PyTorch's."""

    def configured(self, minor):
        package = self.folder / "nvidia" / "fake"
        (package / "include").mkdir(parents=True, exist_ok=True)
        (package / "lib").mkdir(exist_ok=True)
        (package / "include" / "fake.h").write_text("")
        (package / "lib" / "libfake.so.9").write_bytes(b"")
        version = f"#define FAKE_MAJOR 9\n#define FAKE_MINOR {minor}\n"
        (package / "include" / "version.h").write_text(version)
        script = self.folder / "find.cmake"
        script.write_text(CONFIGURED.format(modules=ROOT / "cmake"))
        done = subprocess.run(
            ["cmake", "-P", script],
            env=os.environ | {"PYTHONPATH": str(self.folder)},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        return " ".join(done.stderr.split())

    def test_libraries_of_python_packages_are_found_by_their_version(self):
        if shutil.which("cmake") is None:
            self.skipTest("there is no cmake")
        found = self.configured(10)
        self.assertIn("nvidia/fake/include ", found)
        self.assertIn("nvidia/fake/lib/libfake.so.9", found)
        old = self.configured(0)
        self.assertIn("of version 9.0, and 9.1 or newer is needed", old)
        self.assertIn("FOUND_LIBRARY-NOTFOUND", old)


class Python(unittest.TestCase):
    def test_an_old_python_is_refused_before_anything_is_read(self):
        old = f"import sys; sys.version_info = (3, 9, 2); exec(open({str(ON_GPU)!r}).read())"
        done = subprocess.run(
            [sys.executable, "-c", old], capture_output=True, text=True, check=False, timeout=60
        )
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("3.10 or newer is needed", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
