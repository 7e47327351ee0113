"""docs/ci/comment.py against servers in place of GitHub and GitLab: what it posts, where, and what it refuses of a stranger's artifact."""

import contextlib
import html
import http.server
import io
import json
import os
import re
import subprocess
import sys
import threading
import unittest
import urllib.parse
import zipfile
from unittest import mock

from support import ROOT, FolderTest, load_script, output_of

SCRIPT = ROOT / "docs" / "ci" / "comment.py"
COMMENT = load_script(SCRIPT)
MARKER = "<!-- dlscale -->"
TEXT = f"{MARKER}\n1 regressed of 2\n\n| case | change |\n| --- | ---: |\n| a | +5.0 % |\n\n<details>\n<summary>rest</summary>\n\nb\n</details>\n"
SHA = "0123456789abcdef0123456789abcdef01234567"
BOT = "github-actions[bot]"


def zipped(files):
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in files:
            file.writestr(name, data)
    return archive.getvalue()


class Host:
    """A code host: answers of GET by path, a log of what else was asked; `elsewhere` is where archives are stored."""

    def __init__(self):
        self.answers = {}
        self.asked = []
        host = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def answer(self):
                parts = urllib.parse.urlsplit(self.path)
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                query = dict(urllib.parse.parse_qsl(parts.query))
                if self.headers.get("Content-Type") == "application/json":
                    body = json.loads(body)
                host.asked.append((self.command, parts.path, query, body or None, dict(self.headers)))
                found = host.answers.get(parts.path, {} if self.command != "GET" else None)
                if callable(found):
                    found = found(query)
                if isinstance(found, str):  # elsewhere
                    self.send_response(302)
                    self.send_header("Location", found)
                    data = b""
                else:
                    self.send_response(404 if found is None else 200)
                    data = found if isinstance(found, bytes) else json.dumps(found).encode()
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = do_PATCH = do_PUT = answer

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def written(self):
        """Comments, and pictures as their bytes."""
        return [(command, path, body if isinstance(body, bytes) else body["body"])
                for command, path, _, body, _ in self.asked if command != "GET"]

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class CommentTest(FolderTest):
    def setUp(self):
        super().setUp()
        self.host = self.started()

    def started(self):
        host = Host()
        self.addCleanup(host.close)
        return host

    def run_script(self, *words, **variables):
        """As a job would, but in this process: dozens of interpreters take their time."""
        out, err = io.StringIO(), io.StringIO()
        with mock.patch.dict(os.environ, variables, clear=True), mock.patch.object(sys, "argv", ["comment.py", *map(str, words)]), \
                contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = COMMENT.main()
        return subprocess.CompletedProcess(words, code, out.getvalue(), err.getvalue())

    def assert_refused(self, done, sentence, code=1):
        super().assert_refused(done, sentence, code)
        self.assertEqual(self.host.written(), [])


class GitHub(CommentTest):
    def setUp(self):
        super().setUp()
        self.store = self.started()
        self.run = {"id": 7, "event": "pull_request", "head_sha": SHA, "head_branch": "a&b=$(c)", "html_url": "https://host/run/7",
                    "repository": {"full_name": "o/r"}, "head_repository": {"id": 5, "owner": {"login": "stranger"}}}
        self.artifact = {"id": 9, "name": "dlscale-comment", "size_in_bytes": 300, "workflow_run": {"id": 7, "head_sha": SHA}}
        self.pull = {"number": 12, "head": {"sha": SHA, "repo": {"id": 5}}}
        self.comments = []
        self.host.answers = {
            "/repos/o/r/pulls": lambda query: [self.pull] if query["head"] == "stranger:a&b=$(c)" else [],
            "/repos/o/r/actions/runs/7/artifacts": lambda _: {"artifacts": [self.artifact]},
            "/repos/o/r/actions/artifacts/9/zip": self.store.address + "/archive",
            "/repos/o/r/issues/12/comments": self.listed,
        }
        self.put([("comment.md", TEXT)])

    def listed(self, query):
        first = 100 * (int(query.get("page", 1)) - 1)
        return self.comments[first:first + 100]

    def put(self, files):
        self.store.answers["/archive"] = zipped(files)

    def comment(self, **variables):
        event = self.folder / "event.json"
        event.write_text(json.dumps({"workflow_run": self.run}))
        return self.run_script("github", GITHUB_EVENT_PATH=str(event), GITHUB_REPOSITORY="o/r", GITHUB_TOKEN="secret",
                               GITHUB_API_URL=self.host.address, **variables)

    def test_a_first_comment_is_posted_and_says_where_it_comes_from(self):
        done = self.comment()
        self.assertEqual(done.returncode, 0, done.stderr)
        ((command, path, body),) = self.host.written()
        self.assertEqual((command, path), ("POST", "/repos/o/r/issues/12/comments"))
        self.assertTrue(body.startswith(f"{MARKER}\n[Run 7](https://host/run/7) of 0123456789ab; what follows was written by the code"))
        self.assertTrue(body.endswith(TEXT.partition("\n")[2]))

    def test_its_own_comment_is_edited_however_many_there_are_and_nobody_elses(self):
        self.comments = [{"id": number, "user": {"login": "a"}, "body": MARKER} for number in range(150)]
        self.comments[120] = {"id": 120, "user": {"login": BOT}, "body": "of another robot's workflow"}
        self.comments[130] = {"id": 130, "user": None, "body": MARKER}
        self.comments[140] = {"id": 140, "user": {"login": BOT}, "body": MARKER + "\nearlier"}
        done = self.comment()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([each[:2] for each in self.host.written()], [("PATCH", "/repos/o/r/issues/comments/140")])

    def test_the_token_is_not_sent_to_where_archives_are_stored(self):
        self.comment()
        ((_, _, _, _, headers),) = self.store.asked
        self.assertNotIn("Authorization", headers)
        self.assertTrue(all(asked[4]["Authorization"] == "Bearer secret" for asked in self.host.asked))

    def test_a_pull_request_that_went_on_or_was_closed_gets_no_comment(self):
        self.pull["head"]["sha"] = "f" * 40
        self.assertIn("nothing posted", self.comment().stdout)
        self.pull = {"number": 12, "head": {"sha": SHA, "repo": {"id": 6}}}  # a fork of another owner's with the same commit
        self.assertIn("nothing posted", self.comment().stdout)
        self.pull["head"]["repo"] = None
        self.assertIn("nothing posted", self.comment().stdout)
        self.assertEqual(self.host.written(), [])

    def test_a_run_without_an_artifact_gets_no_comment(self):
        self.host.answers["/repos/o/r/actions/runs/7/artifacts"] = {"artifacts": []}
        done = self.comment()
        self.assertEqual((done.returncode, self.host.written()), (0, []), done.stderr)
        self.assertIn("left no artifact", done.stdout)

    def test_an_artifact_of_another_run_or_commit_is_refused(self):
        for origin in ({"id": 8, "head_sha": SHA}, {"id": 7, "head_sha": "f" * 40}, None):
            self.artifact["workflow_run"] = origin
            self.assert_refused(self.comment(), "is not of the run 7")

    def test_two_artifacts_or_two_pull_requests_are_refused(self):
        self.host.answers["/repos/o/r/actions/runs/7/artifacts"] = {"artifacts": [self.artifact] * 2}
        self.assert_refused(self.comment(), "has 2 artifacts")
        self.host.answers["/repos/o/r/pulls"] = [self.pull, self.pull | {"number": 13}]
        self.assert_refused(self.comment(), "head of the pull requests [12, 13]")

    def test_a_run_of_another_event_or_repository_is_refused(self):
        self.run["event"] = "push"
        self.assert_refused(self.comment(), "is not of a pull request of o/r")
        self.run |= {"event": "pull_request", "repository": {"full_name": "o/other"}}
        self.assert_refused(self.comment(), "is not of a pull request of o/r")

    def test_archives_that_are_too_large_damaged_or_of_other_files_are_refused(self):
        self.artifact["size_in_bytes"] = 10**6
        self.assert_refused(self.comment(), "1000000 bytes, more than")
        self.artifact["size_in_bytes"] = 300
        self.store.answers["/archive"] = os.urandom(200_000)  # more than was told
        self.assert_refused(self.comment(), "more than 131072 bytes")
        for data in (b"", b"PK\x03\x04", zipped([("comment.md", TEXT)])[:-30]):
            self.store.answers["/archive"] = data
            self.assert_refused(self.comment(), "not a ZIP file that can be read")
        for files in ([("other.md", TEXT)], [("../comment.md", TEXT)], [("comment.md", TEXT), ("x", "")], []):
            self.put(files)
            self.assert_refused(self.comment(), "not comment.md alone")

    def test_a_file_that_unpacks_to_more_than_a_comment_is_refused(self):
        self.put([("comment.md", TEXT + "a" * 50_000_000)])
        self.artifact["size_in_bytes"] = len(self.store.answers["/archive"])
        self.assert_refused(self.comment(), "more than 65536 bytes")

    def test_text_that_is_none_of_ours_is_refused(self):
        for data, sentence in [(b"\xff\xfe", "not UTF-8"), (b"hello\n", "does not begin with"), (b" " + TEXT.encode(), "does not begin with")]:
            self.put([("comment.md", data)])
            self.assert_refused(self.comment(), sentence)

    def test_hidden_characters_become_blanks_and_take_no_verdict_away(self):
        for hidden in ("\x1b", "\r", "\x9b", "\u202e", "\u200d", "\ufeff", "\u2028", "\U000e0041"):
            self.put([("comment.md", TEXT + f"| a{hidden}z | 5 |\n")])
            self.assertEqual(self.comment().returncode, 0)
            self.assertTrue(self.host.written()[-1][2].endswith("| a z | 5 |\n"))
        self.put([("comment.md", TEXT.replace("\n", "\r\n"))])
        self.assertEqual(self.comment().returncode, 0)

    def test_an_error_of_the_host_is_told_in_a_sentence(self):
        del self.host.answers["/repos/o/r/pulls"]
        self.assert_refused(self.comment(), "answered 404")
        done = self.run_script("github", GITHUB_REPOSITORY="o/r")
        self.assert_refused(done, "GITHUB_EVENT_PATH", code=2)


class GitLab(CommentTest):
    def setUp(self):
        super().setUp()
        self.notes = []
        self.host.answers = {"/user": {"id": 3}, "/projects/4/merge_requests/5/notes": lambda _: self.notes}
        self.file = self.folder / "comment.md"
        self.file.write_text(TEXT)

    def note(self, *more, **variables):
        known = {"CI_API_V4_URL": self.host.address, "CI_MERGE_REQUEST_PROJECT_ID": "4", "CI_MERGE_REQUEST_IID": "5",
                 "CI_PIPELINE_URL": "https://host/p/1", "CI_COMMIT_SHA": SHA, "DLSCALE_NOTE_TOKEN": "secret"}
        return self.run_script("gitlab", self.file, *more, **(known | variables))

    def test_a_first_note_is_posted_and_the_next_edits_it(self):
        done = self.note()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.notes = [{"id": 1, "author": {"id": 2}, "body": MARKER}, {"id": 8, "author": {"id": 3}, "body": MARKER}]
        self.assertEqual(self.note().returncode, 0)
        notes = "/projects/4/merge_requests/5/notes"
        self.assertEqual([each[:2] for each in self.host.written()], [("POST", notes), ("PUT", notes + "/8")])
        self.assertIn("of 0123456789ab; what follows was written", self.host.written()[0][2])

    PICTURE = b"\x89PNG\r\n\x1a\n" + bytes(range(256))

    def test_a_picture_is_kept_by_the_host_and_shown_below_the_text(self):
        picture = self.folder / "summary.png"
        self.assertEqual(self.note(picture).returncode, 0, "the comment does not need a picture")
        picture.write_bytes(self.PICTURE)
        self.host.answers["/projects/4/uploads"] = {"markdown": "![summary](/uploads/1/summary.png)"}
        done = self.note(picture)
        self.assertEqual(done.returncode, 0, done.stderr)
        _, upload, note = self.host.written()
        self.assertEqual(upload[:2], ("POST", "/projects/4/uploads"))
        self.assertIn(b'name="file"; filename="summary.png"', upload[2])
        self.assertIn(self.PICTURE, upload[2])
        self.assertTrue(note[2].endswith("</details>\n\n![summary](/uploads/1/summary.png)\n"), note[2])

    def test_what_is_not_a_picture_or_is_beside_a_foreign_text_is_not_sent(self):
        picture = self.folder / "summary.png"
        for wrong in (b"<svg/>", self.PICTURE + bytes(2**20)):
            picture.write_bytes(wrong)
            self.assert_refused(self.note(picture), "is not a PNG of at most")
        picture.write_bytes(self.PICTURE)
        self.file.write_text("hello")
        self.assert_refused(self.note(picture), "does not begin with")

    def test_without_a_token_it_says_so_and_passes(self):
        done = self.note(DLSCALE_NOTE_TOKEN="")
        self.assertEqual((done.returncode, self.host.asked), (0, []))
        self.assertIn("pipelines of forks", done.stdout)

    def test_what_is_not_ours_is_refused(self):
        self.file.write_text("hello")
        self.assert_refused(self.note(), "does not begin with")
        self.file.write_bytes(TEXT.encode() * 10_000)
        self.assert_refused(self.note(), "more than 65536 bytes")
        self.file.unlink()
        self.assert_refused(self.note(), "No such file")


class Script(unittest.TestCase):
    def test_a_shell_sees_its_exit_codes(self):
        for words, code in [(["--help"], 0), ([], 2), (["gitlab"], 2), (["github"], 2)]:
            done = output_of(sys.executable, SCRIPT, *words, env={"PATH": os.environ["PATH"]})
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertNotIn("Traceback", done.stderr)


class Text(unittest.TestCase):
    """What a stranger may write, and what of it is left."""

    # What hosts look for in the text that a reader sees: docs of GitHub ("Autolinked references", "Mentioning people"), of GitLab
    # ("GitLab-specific references", "Quick actions") and CommonMark with GitHub's extensions.
    ACTS = [re.compile(pattern) for pattern in (
        r"@[\w-]", r"#\w", r"!\d", r"&\d", r"~[\w\"]", r"%[\w\"]", r"\$\d", r"\^\w", r"\bGH-\d", r"(?i)\bgh-\d", r"\w+://", r"www\.", r"mailto:",
        r"!\[", r"\]\(", r"\]\[", r"\]:", r"\[\^", r"\[\[", r"\[\w+:", r"(?m)^[^\w<]*/\w", r"\b[A-Z]{2,}-\d", r"(?i)(?<![0-9a-z])(?=\w*[a-f])(?=\w*\d)[0-9a-f]{7,64}(?![0-9a-z])", r"[＠﹫＃！～]\w", r"``", r"(?i)javascript:", r"(?m)^\d+[.)] */\w",
        r"(?m)^[^\w<]*／\w", r"iteration:", r"<details>(?!.*</details>)")]
    ACTING = [
        "@everyone", "@org/team", "a&#64;b", "&commat;octocat", "\\@octocat", "closes #12", "closes &#35;12", "owner/repo#7", "GH-9", "gh-9", "GH\\-9",
        "GH&#45;9", "_GH-9_", "https://github.com/owner/repo/issues/7", "https\\://a.b", "HTTP:\\//a.b", "www.a.org", "www\\.a.org",
        "mailto:a@b.org", "ftp://a.b", "[a](https://b)", "[a][b]", "[a]: https://b", "![x](https://a/b.png)", "[^1]", "[[page]]",
        "[vulnerability:1]", "/close", "  /assign @octocat", "> /merge", "- /label ~bug", "| /close |", "text\n/close", "</summary>/close", "!12",
        "~bug", '~"a b"', "&3", "&amp;3", "%9.1", '%"a"', "$4", "^alert#1", "ABC-12", "9ba12248", "0123456789abcdef0123456789abcdef01234567",
        "user@9ba1224", "＠octocat", "a﹫b", "＃12", "／close", "1. /close", "2)/label ~x", "_9ba12248_", "9BA12248", "1" * 40, "0123456789abcdef" * 4,
        "```\nmermaid", "> ```sh", "JavaScript:alert(1)", "*iteration:\"a\"", "<details>", "<details><summary>a</details>", "@\u200boctocat",
        "> /close\n> /label ~bug", "&#x40;octocat", "&num;8", "org/repo#9", "| /close | a |", "<!-- x", "![](https://a/b.png)"]

    def test_nothing_that_a_reader_sees_acts(self):
        for written in self.ACTING:
            seen = re.sub(r"\\\\([!-/:-@[-`{-~])", r"\1", html.unescape(COMMENT.disarmed(written)))  # as CommonMark makes text
            self.assertEqual([each.pattern for each in self.ACTS if each.search(seen)], [], written)

    def test_html_is_text_but_for_the_tags_that_fold(self):
        for written in ("<img src=x>", "<script>", "<!-- dlscale -->", "<details open>", "<DETAILS>", "<https://a.b>", "< details>"):
            self.assertNotIn("<", COMMENT.disarmed(written))
        folded = "<details>\n<summary>a</summary>\nb\n</details>\n"
        self.assertEqual(COMMENT.disarmed(2 * folded), 2 * folded)
        for hiding in ("<details>\n<summary>a</summary>", "<summary>a", "</details>" + folded, "<details><summary></details></summary>"):
            self.assertNotIn("<", COMMENT.disarmed(hiding))

    def test_what_dlscale_writes_reads_the_same(self):
        text = TEXT.partition("\n")[2] + "a &lt; b, c &amp; d and \\| \\[1.2, 3.4\\] · 4×8 H100 # 5\n## heading\n5 % and 1/2\n"
        self.assertEqual(COMMENT.disarmed(text).replace(COMMENT.GAP, ""), text)

    def test_a_comment_never_has_more_characters_than_a_host_takes(self):
        for line in ("@" * 50 + "\n", "é" * 30 + "\n", "@" * 65_000):
            data = f"{MARKER}\n" + line * ((65_536 - len(MARKER) - 1) // len(line.encode()))
            body = COMMENT.body_of(data.encode(), "origin\n")
            self.assertLessEqual(len(body), 65_536)
            self.assertEqual("more lines" in body, "@" in line)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
