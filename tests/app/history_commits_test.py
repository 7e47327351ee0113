"""Which commit a result is of, and where it is in the history: names, repositories, times."""

import json
import os
import subprocess

from history_test import History, google, moment
from program import main, run


class Repository(History):
    def setUp(self):
        super().setUp()
        self.repository = self.folder / "code"
        subprocess.run(["git", "init", "-q", "-b", "nightly", self.repository], check=True)

    def git(self, *words, at="2026-01-31T12:00:00Z"):
        command = ["git", "-C", self.repository, "-c", "user.name=T", "-c", "user.email=t@example.org", *words]
        done = subprocess.run(command, check=True, capture_output=True, text=True, env=os.environ | {"GIT_COMMITTER_DATE": at})
        return done.stdout.strip()

    def make_commit(self, message, at="2026-01-31T12:00:00Z"):
        self.git("commit", "-q", "--allow-empty", "-m", message, at=at)
        return self.git("rev-parse", "HEAD")

    def add_as(self, name, *words, value=1.0, repository=None):
        file = self.write(f"{value}.json", google(value))
        words = words if repository is None else (*words, "--repository", repository)
        return self.history("add", file, "--commit", name, *words)

    def records(self):
        return [json.loads(line) for line in (self.store / "runs.jsonl").read_text().splitlines()]


class Names(Repository):
    def test_a_commit_is_looked_up_in_its_repository(self):
        whole = self.make_commit("x")
        self.git("tag", "v1.0")
        for number, name in enumerate(["HEAD", "nightly", "v1.0", whole[:8], whole.upper()]):
            added = self.add_as(name, value=1 + number, repository=self.repository)
            self.assertEqual((added.returncode, added.stderr), (0, ""))
        self.assertEqual({record["commit"] for record in self.records()}, {whole})
        self.assertEqual({record["time"] for record in self.records()}, {"2026-01-31T12:00:00Z"})
        self.assert_refused(self.add_as("HEAD~7", repository=self.repository), 2, "is not a commit of", "git log")

    def test_a_name_of_a_branch_and_a_tag_is_refused(self):
        self.make_commit("first")
        self.git("tag", "v1")
        self.git("branch", "v1")
        self.assertEqual(self.add_as("v1", repository=self.repository).returncode, 0)
        self.git("checkout", "-q", "-B", "v1", "nightly")
        second = self.make_commit("second")
        refused = self.add_as("v1", value=2.0, repository=self.repository)
        self.assert_refused(refused, 2, "v1 is a branch and a tag", "Write heads/v1 or tags/v1")
        self.assertEqual(self.add_as("heads/v1", value=2.0, repository=self.repository).returncode, 0)
        self.assertIn(second, {record["commit"] for record in self.records()})

    def test_a_name_that_moves_is_refused_without_a_repository(self):
        for name in ["HEAD", "v1.0", "abc1234-dirty", "v1.2-3-gabc1234"]:
            added = self.add_as(name, "--time", moment(1))
            self.assert_refused(added, 2, f"--commit {name} is ")
        self.assertFalse(self.store.exists())

    def test_short_and_whole_names_are_one_commit(self):
        whole = "abc1234" + 33 * "d"
        for value, name in enumerate(["abc1234", "ABC1234D", whole.upper()], 1):
            added = self.add_as(name, "--time", moment(1), value=value)
            self.assertEqual(added.returncode, 0, added.stderr)
        self.assertIn(f"{whole} counts as commit abc1234, which the history has", added.stderr)
        [series] = json.loads(self.history("list", "--name", "real_time", "--format", "json").stdout)["series"]
        self.assertEqual(([row["commit"] for row in series["latest"]], series["commits"]), ([whole], 1))
        self.add_as("abc1234" + 33 * "e", "--time", moment(2), value=7)
        self.assert_refused(self.add_as("abc1234", "--time", moment(2), value=8), 2, "several commits' names")
        for verb in ("list", "check"):
            answer = self.history(verb)
            self.assertIn("abc1234 is the beginning of several commits' names", answer.stdout + answer.stderr)

    def test_a_commit_keeps_its_earliest_time_and_says_so(self):
        self.add_as("abc1234", "--time", moment(5))
        again = self.add_as("abc1234", "--time", moment(9), value=2.0)
        self.assertEqual(again.returncode, 0)
        self.assertIn(f"--time is {moment(9)}, and the history has commit abc1234 at {moment(5)}", again.stderr)
        self.assertNotIn("dlscale:", self.add_as("abc1234", "--time", moment(5), value=3.0).stderr)

    def test_a_time_to_come_is_refused(self):
        for time in ("2126-08-01T10:00:00Z", "4940488800"):
            self.assert_refused(self.add_as("abc1234", "--time", time), 2, "--time is 2126-", "hide all later ones")
        ahead = self.make_commit("x", at="@4940488800 +0000")
        self.assert_refused(self.add_as("HEAD", repository=self.repository), 2, f"the date of commit {ahead}", "--time")


class Order(Repository):
    def test_commits_of_one_second_are_in_the_order_of_their_ancestry(self):
        commits = [self.make_commit(str(i)) for i in range(15)]
        answers = []
        for order in (range(15), reversed(range(15))):
            self.store = self.folder / f"store{len(answers)}"
            for i in order:
                added = self.add_as(commits[i], value=(1.0 if i < 12 else 1.2) + i % 3 / 1000 + i / 1e6, repository=self.repository)
                self.assertEqual((added.returncode, added.stderr), (0, ""))
            result, report = self.check()
            answers.append((result.returncode, report["alerts"][0]["commit"]))
        self.assertEqual(answers, [(1, commits[12])] * 2)

    def test_the_ancestry_of_a_shallow_clone_is_unknown(self):
        for i in range(3):
            self.make_commit(str(i))
        shallow = self.folder / "shallow"
        subprocess.run(["git", "clone", "-q", "--depth", "1", f"file://{self.repository}", shallow], check=True)
        self.assert_refused(self.add_as("HEAD~1", repository=shallow), 2, "a shallow clone", "git fetch --unshallow")
        added = self.add_as("HEAD", repository=shallow)
        self.assertEqual(added.returncode, 0)
        self.assertIn("is a shallow clone, so the ancestry of", added.stderr)
        self.assertNotIn("ancestors", self.records()[0])

    def test_commits_of_branches_are_told(self):
        root = self.make_commit("root")
        left = self.make_commit("left", at="2026-02-01T12:00:00Z")
        self.git("switch", "-q", "--detach", root)
        right = self.make_commit("right", at="2026-02-02T12:00:00Z")
        self.git("merge", "-q", "--no-ff", "-m", "merge", left, at="2026-02-03T12:00:00Z")
        said = [self.add_as(name, value=1 + number / 1000, repository=self.repository).stderr
                for number, name in enumerate([root, left, "HEAD", right])]
        self.assertEqual(said[:3], ["", "", ""])
        self.assertIn(f"neither of the commits {right} and {left} of the history comes from the other", said[3])
        self.assertIn("1 commit of a series have as many ancestors as another", " ".join(self.history("check").stdout.split()))


if __name__ == "__main__":
    main()
