"""The files by which hosts and editors know this tree name paths that exist: workflow, pre-commit, container, editorconfig, SECURITY."""

import configparser
import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

try:
    import yaml
except ImportError:
    yaml = None


def tracked():
    done = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.split("\n")[:-1] if done.returncode == 0 else []


def paths_in(text):
    """Words of a command that look like a path of the tree."""
    return [word for word in text.split() if re.fullmatch(r"(\./)?[\w.-]+(/[\w.-]+)+", word)]


@unittest.skipUnless(yaml, "PyYAML is not installed: apt install python3-yaml")
class Workflow(unittest.TestCase):
    def setUp(self):
        self.text = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
        self.steps = yaml.safe_load(self.text)["jobs"]["test"]["steps"]

    def test_it_runs_ci_as_a_machine_without_github_does(self):
        commands = [line.strip() for step in self.steps for line in step.get("run", "").splitlines()]
        self.assertIn(".ci/run", commands)
        self.assertTrue((ROOT / ".ci" / "run").stat().st_mode & 0o100)

    def test_its_cache_follows_the_packages(self):
        hashed = re.findall(r"hashFiles\('([^']*)'\)", self.text)
        self.assertTrue(hashed)
        for path in hashed:
            self.assertTrue((ROOT / path).is_file(), path)

    def test_it_keeps_what_ci_and_the_compiler_cache_write(self):
        kept = next(step["with"]["path"] for step in self.steps if "actions/cache" in step.get("uses", "")).split()
        self.assertIn("/root/.cache/dlscale", kept)
        self.assertIn(re.search(r"CCACHE_DIR: (\S+)", self.text).group(1), kept)
        self.assertIn(".cache}/dlscale/ci/cuda", (ROOT / ".ci" / "cuda").read_text())


@unittest.skipUnless(yaml, "PyYAML is not installed: apt install python3-yaml")
class PreCommit(unittest.TestCase):
    def setUp(self):
        self.hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]

    def test_hooks_call_what_exists_and_meet_files(self):
        files = tracked()
        for hook in self.hooks:
            for path in paths_in(hook["entry"]):
                self.assertTrue((ROOT / path).is_file(), path)
            if files:
                self.assertTrue(any(re.search(hook["files"], path) for path in files), hook["id"])

    def test_nothing_is_downloaded(self):
        self.assertEqual({hook["language"] for hook in self.hooks}, {"system"})

    def test_pre_commit_accepts_the_file(self):
        program = shutil.which("pre-commit")
        if not program:
            self.skipTest("pre-commit is not installed: pip install pre-commit")
        subprocess.run([program, "validate-config", ROOT / ".pre-commit-config.yaml"], check=True, timeout=120)


class Container(unittest.TestCase):
    folder = ROOT / ".devcontainer"

    def test_its_image_is_built_from_files_of_the_tree(self):
        build = json.loads((self.folder / "devcontainer.json").read_text())["build"]
        self.assertTrue((self.folder / build["dockerfile"]).is_file())
        context = (self.folder / build["context"]).resolve()
        self.assertEqual(context, ROOT)
        copied = re.findall(r"^COPY (.*) \S+$", (self.folder / "Dockerfile").read_text(), re.M)
        self.assertTrue(copied)
        for path in " ".join(copied).split():
            self.assertTrue((context / path).is_file(), path)

    def test_packages_of_the_build_come_from_scripts_setup_alone(self):
        text = (self.folder / "Dockerfile").read_text()
        self.assertRegex(text, r"/setup/setup\b")
        lines = (ROOT / "scripts" / "packages").read_text().splitlines()
        listed = {line.split()[0] for line in lines if line and not line.startswith("#")}
        own = set(re.search(r"--no-install-recommends ([^\\\n]*)", text).group(1).split())
        self.assertEqual(own & listed, set())

    def test_setup_works_from_the_folder_that_it_is_copied_to(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("setup", "packages"):
                shutil.copy(ROOT / "scripts" / name, folder)
            done = subprocess.run([f"{folder}/setup", "--help"], capture_output=True, text=True, check=True, timeout=60)
            self.assertIn("usage", done.stdout)

    def test_its_preset_exists(self):
        command = json.loads((self.folder / "devcontainer.json").read_text())["postCreateCommand"]
        presets = json.loads((ROOT / "CMakePresets.json").read_text())["configurePresets"]
        self.assertIn(re.search(r"--preset (\S+)", command).group(1), [preset["name"] for preset in presets])


class Editor(unittest.TestCase):
    def test_widths_agree_with_clang_format(self):
        text = (ROOT / ".editorconfig").read_text()
        rules = configparser.ConfigParser()
        rules.read_string("[top]\n" + text)
        self.assertEqual(rules["top"]["root"], "true")
        width = re.search(r"ColumnLimit: (\d+)", (ROOT / ".clang-format").read_text()).group(1)
        self.assertEqual(rules["*.{hpp,cpp,cu,cuh,md}"]["max_line_length"], width)

    def test_files_of_text_end_with_a_line(self):
        for name in tracked():
            path = ROOT / name
            if name.startswith("tests/golden/") or path.suffix not in {".md", ".py", ".yml", ".yaml", ".hpp", ".cpp", ".txt"}:
                continue
            content = path.read_bytes() if path.is_file() else b""
            self.assertTrue(not content or content.endswith(b"\n"), name)


class Security(unittest.TestCase):
    def test_it_says_how_to_report_and_names_what_exists(self):
        text = (ROOT / "SECURITY.md").read_text()
        self.assertIn("private advisories", text)
        for path in re.findall(r"`([\w.]+/[\w./]+)`", text):
            self.assertTrue((ROOT / path).exists(), path)


class Quickstart(unittest.TestCase):
    SCRIPT = ROOT / "scripts/quickstart"

    def test_help_is_printed_from_any_folder(self):
        done = subprocess.run(["./quickstart", "-h"], cwd=self.SCRIPT.parent, capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("usage: scripts/quickstart", done.stdout)

    def left(self, *lines):
        """What it says of a build whose lines came within the first minute."""
        functions = re.findall(r"^(?:took|show_counter)\(\) \{.*?^\}", self.SCRIPT.read_text(), re.M | re.S)
        self.assertEqual(len(functions), 2)
        script = "\n".join(["set -euo pipefail", *functions, "SECONDS=60 begin=0", "show_counter"])
        done = subprocess.run(["bash", "-c", script], input="".join(line + "\n" for line in lines), capture_output=True, text=True, check=True)
        return done.stdout

    def test_the_time_left_is_of_what_this_call_builds(self):
        self.assertEqual(self.left("[ 80%] Building a", "[ 90%] Building b"), "build: 90 of 100 (about 60 s left)\n")
        self.assertEqual(self.left("[1/101] Building a", "[51/101] Building b"), "build: 51 of 101 (about 60 s left)\n")


if __name__ == "__main__":
    unittest.main(verbosity=2)
