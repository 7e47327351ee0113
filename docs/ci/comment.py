#!/usr/bin/env python3
"""Posts what a gate says on its pull request (GitHub) or merge request (GitLab), and edits its own comment the next time.

    comment.py github          in a workflow that runs on workflow_run: takes the comment from the artifact of the run it follows
    comment.py gitlab FILE [PICTURE]   in a job of a merge request pipeline; the PNG, if it is there, is shown below the text

What it posts was written by the code of the pull request, which may be a stranger's: its size and form are checked, nothing in it
can call people, refer, link, give commands, load pictures or hold HTML, and the comment says where it comes from. On GitHub the pull request is found by the
commit and the branch that ran, never by what the artifact says. It needs nothing but Python.

Environment: on GitHub GITHUB_TOKEN (pull-requests: write, actions: read) and what a runner sets; on GitLab DLSCALE_NOTE_TOKEN (scope
api) and what a runner sets. Exit code 0: posted, or said why there is nowhere to post; 1: refused, or the host answered with an error;
2: called in another way, or outside of such a job.
"""

import io
import json
import os
import re
import secrets
import sys
import unicodedata
import urllib.error
import urllib.parse
import urllib.request
import zipfile

MARKER = "<!-- dlscale -->"
ARTIFACT = "dlscale-comment"
FILE = "comment.md"
LARGEST = 65536  # characters of a comment on GitHub; of the file bytes
WRITTEN_BY = "what follows was written by the code of the"
LARGEST_ARCHIVE = 2 * LARGEST  # a stored ZIP file of such a file, with its headers
LARGEST_PICTURE = 2**20  # bytes


class Refused(Exception):
    """What was found must not be posted."""


class Host:
    """Requests to the API of a code host."""

    def __init__(self, api, headers):
        self.api = api.rstrip("/")
        self.headers = headers

    def open(self, method, path, body=None, kind="application/json", **query):
        url = f"{self.api}/{path}" + ("?" + urllib.parse.urlencode(query) if query else "")
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(url, data=data, method=method)
        for name, value in self.headers.items():
            request.add_unredirected_header(name, value)  # a redirection leads to another host
        if data is not None:
            request.add_header("Content-Type", kind)
        return urllib.request.urlopen(request, timeout=60)

    def json(self, method, path, body=None, **query):
        with self.open(method, path, body, **query) as answer:
            return json.load(answer)

    def pages(self, path):
        """All elements of a list that comes in pages."""
        for page in range(1, 101):
            found = self.json("GET", path, per_page=100, page=page)
            yield from found
            if len(found) < 100:
                return


def checked(data):
    """The text of a comment of dlscale, or a refusal. Control characters, line separators and invisible characters become blanks."""
    if len(data) > LARGEST:
        raise Refused(f"the comment has more than {LARGEST} bytes")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise Refused("the comment is not UTF-8 text") from None
    text = "".join(" " if is_hidden(character) else character for character in text.replace("\r\n", "\n"))
    first, _, rest = text.partition("\n")
    if first != MARKER:
        raise Refused(f"the comment does not begin with {MARKER}")
    return rest


def is_hidden(character):
    return character != "\n" and unicodedata.category(character) in ("Cc", "Cf", "Zl", "Zp")


# Hosts look for what acts in the text that a reader sees, so entities and backslashes stop nothing. A space without width does,
# behind what each of these patterns finds.
GAP = "\u200b"
ACTING = [re.compile(pattern) for pattern in (
    r"&(?:amp|lt|gt);",
    r"[\[\]]|[@＠﹫#＃﹟!！﹗~～%％﹪$＄﹩^＾](?=[^\s|])",  # mentions, in other widths, too, references, links and their definitions, pictures, footnotes
    r"(?i::(?=\\*/)|(?:www|mailto|xmpp|iteration)(?=\\*[.:]))",  # addresses that become links by themselves
    r"`(?=`)|(?i:javascript|data|vbscript)(?=:)",  # fences, which hide what follows, and scripts
    r"(?<![A-Za-z0-9])(?:(?i:gh)|[A-Z][A-Z0-9_]+)\\*-(?=\\*\d)",  # GH-9, and keys of other trackers
)]
COMMIT = re.compile(r"(?i)(?<![0-9a-z])(?:(?=[0-9a-f]*[a-f])(?=[0-9a-f]*\d)[0-9a-f]{7,19}|[0-9a-f]{20,64})(?![0-9a-z])")
COMMAND = re.compile(r"(?m)^((?:\d+[.)])?[^\w/／\n]*[/／])")  # of GitLab, and of robots that read comments
TAGS = re.compile(r"(</?(?:details|summary)>)")


def disarmed(text):
    """The same to read, without effects, except the tags that fold tables, if each is closed."""
    folds = are_closed(TAGS.findall(text))
    return "".join(part if folds and TAGS.fullmatch(part) else without_effects(part) for part in TAGS.split(text))


def are_closed(tags):
    """Whether each tag is closed before the one around it; otherwise a fold would hide what follows."""
    open_tags = []
    for tag in tags:
        if not tag.startswith("</"):
            open_tags.append(tag)
        elif not open_tags or open_tags.pop() != tag.replace("/", ""):
            return False
    return not open_tags


def without_effects(text):
    text = text.replace("&quot;", '"').replace("&#39;", "'")
    text = re.sub(r"&(?!(?:amp|lt|gt);)", "&amp;", text).replace("<", "&lt;")
    for pattern in ACTING:
        text = pattern.sub(lambda found: found[0] + GAP, text)
    text = COMMIT.sub(lambda found: GAP.join(re.findall(".{1,6}", found[0])), text)
    return COMMAND.sub(lambda found: found[1][:-1] + GAP + found[1][-1] + GAP, text)


def within(text, room):
    """As many of its lines as fit."""
    if len(text) <= room:
        return text
    lines = text.splitlines(keepends=True)
    kept, used = 0, 100
    while kept < len(lines) and used + len(lines[kept]) <= room:
        used += len(lines[kept])
        kept += 1
    return "".join(lines[:kept]) + f"\n{len(lines) - kept} more lines\n"


def body_of(data, origin, picture=""):
    """The comment; `picture` is the host's own text for one that it holds."""
    head = f"{MARKER}\n{origin}\n"
    tail = f"\n{picture}\n" if picture else ""
    return head + within(disarmed(checked(data)), LARGEST - len(head) - len(tail)) + tail


def unpacked(archive):
    """The one file of an artifact, of which nothing is written to disk."""
    try:
        with zipfile.ZipFile(io.BytesIO(archive)) as found:
            names = [entry.filename for entry in found.infolist()]
            if names != [FILE]:
                raise Refused(f"the artifact {ARTIFACT} holds {names[:3]}, not {FILE} alone")
            with found.open(FILE) as file:
                return file.read(LARGEST + 1)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, ValueError) as error:
        raise Refused(f"the artifact {ARTIFACT} is not a ZIP file that can be read ({error})") from None


def artifact_of(host, repository, run):
    found = host.json("GET", f"repos/{repository}/actions/runs/{run['id']}/artifacts", name=ARTIFACT, per_page=100)["artifacts"]
    if not found:
        return None
    if len(found) > 1:
        raise Refused(f"the run has {len(found)} artifacts {ARTIFACT}")
    artifact = found[0]
    origin = artifact.get("workflow_run") or {}
    if artifact["name"] != ARTIFACT or origin.get("id") != run["id"] or origin.get("head_sha") != run["head_sha"]:
        raise Refused(f"the artifact {ARTIFACT} is not of the run {run['id']}")
    if artifact["size_in_bytes"] > LARGEST_ARCHIVE:
        raise Refused(f"the artifact {ARTIFACT} has {artifact['size_in_bytes']} bytes, more than {LARGEST_ARCHIVE}")
    with host.open("GET", f"repos/{repository}/actions/artifacts/{artifact['id']}/zip") as answer:
        archive = answer.read(LARGEST_ARCHIVE + 1)
    if len(archive) > LARGEST_ARCHIVE:
        raise Refused(f"the artifact {ARTIFACT} has more than {LARGEST_ARCHIVE} bytes")
    return unpacked(archive)


def pull_request_of(host, repository, run):
    """The number of the open pull request whose head is the commit that ran; None if there is none any more."""
    source = run["head_repository"]
    found = host.json("GET", f"repos/{repository}/pulls", state="open", per_page=100,
                      head=f"{source['owner']['login']}:{run['head_branch']}")
    numbers = [each["number"] for each in found
               if each["head"]["sha"] == run["head_sha"] and (each["head"]["repo"] or {}).get("id") == source["id"]]
    if len(numbers) > 1:
        raise Refused(f"the commit {run['head_sha']} is the head of the pull requests {numbers}, and the run is of one of them")
    return numbers[0] if numbers else None


def post(host, path, is_own, method, body):
    """Edits the first comment of our own that begins with the marker, by `method`, or writes one. Returns which."""
    for comment in host.pages(path):
        if is_own(comment) and comment["body"].startswith(MARKER):
            host.json(method, edited_path(path, comment), {"body": body})
            return "edited"
    host.json("POST", path, {"body": body})
    return "posted"


def edited_path(path, comment):
    """Of GitHub comments belong to the repository, of GitLab notes to their merge request."""
    return re.sub(r"/\d+/comments$", "/comments", path) + f"/{comment['id']}"


def github():
    with open(os.environ["GITHUB_EVENT_PATH"], encoding="utf-8") as file:
        run = json.load(file)["workflow_run"]
    repository = os.environ["GITHUB_REPOSITORY"]
    if run["event"] != "pull_request" or run["repository"]["full_name"] != repository:
        raise Refused(f"the run {run['id']} is not of a pull request of {repository}")
    if not run.get("head_repository"):
        return "the repository of the pull request is gone: nothing posted"
    host = Host(os.environ.get("GITHUB_API_URL", "https://api.github.com"), {
        "Authorization": "Bearer " + os.environ["GITHUB_TOKEN"], "Accept": "application/vnd.github+json",
        "X-GitHub-Api-Version": "2022-11-28", "User-Agent": "dlscale"})
    number = pull_request_of(host, repository, run)
    if number is None:
        return f"no open pull request has the commit {run['head_sha']} as its head any more: nothing posted"
    data = artifact_of(host, repository, run)
    if data is None:
        return f"the run {run['id']} left no artifact {ARTIFACT}: nothing posted"
    origin = f"[Run {run['id']}]({run['html_url']}) of {run['head_sha'][:12]}; {WRITTEN_BY} pull request.\n"
    login = os.environ.get("DLSCALE_COMMENT_LOGIN", "github-actions[bot]")
    done = post(host, f"repos/{repository}/issues/{number}/comments",
                lambda comment: (comment.get("user") or {}).get("login") == login, "PATCH", body_of(data, origin))
    return f"{done} the comment of pull request {number}"


def uploaded(host, project, path):
    """GitLab's text that shows the picture, which it keeps; empty if there is none."""
    if not os.path.exists(path):
        return ""
    with open(path, "rb") as file:
        data = file.read(LARGEST_PICTURE + 1)
    if len(data) > LARGEST_PICTURE or not data.startswith(b"\x89PNG\r\n\x1a\n"):
        raise Refused(f"{path} is not a PNG of at most {LARGEST_PICTURE} bytes")
    edge = "dlscale-" + secrets.token_hex(16)  # does not occur in the data
    form = (f'--{edge}\r\nContent-Disposition: form-data; name="file"; filename="summary.png"\r\n'
            "Content-Type: image/png\r\n\r\n").encode() + data + f"\r\n--{edge}--\r\n".encode()
    with host.open("POST", f"projects/{project}/uploads", form, f"multipart/form-data; boundary={edge}") as answer:
        return json.load(answer)["markdown"]


def gitlab(path, picture=""):
    token = os.environ.get("DLSCALE_NOTE_TOKEN", "")
    if not token:
        return "DLSCALE_NOTE_TOKEN is not set here, as in pipelines of forks: nothing posted"
    with open(path, "rb") as file:
        data = file.read(LARGEST + 1)
    host = Host(os.environ["CI_API_V4_URL"], {"PRIVATE-TOKEN": token, "User-Agent": "dlscale"})
    project, number = int(os.environ["CI_MERGE_REQUEST_PROJECT_ID"]), int(os.environ["CI_MERGE_REQUEST_IID"])
    origin = f"[Pipeline]({os.environ['CI_PIPELINE_URL']}) of {os.environ['CI_COMMIT_SHA'][:12]}; {WRITTEN_BY} merge request.\n"
    own = host.json("GET", "user")["id"]
    checked(data)  # before the picture is sent
    body = body_of(data, origin, uploaded(host, project, picture))
    done = post(host, f"projects/{project}/merge_requests/{number}/notes", lambda note: note["author"]["id"] == own, "PUT", body)
    return f"{done} the note of merge request {number}"


def main():
    words = sys.argv[1:]
    if words in (["-h"], ["--help"]):
        print(__doc__.strip())
        return 0
    try:
        if words == ["github"]:
            said = github()
        elif len(words) in (2, 3) and words[0] == "gitlab":
            said = gitlab(*words[1:])
        else:
            print("comment.py: write comment.py github, or comment.py gitlab FILE [PICTURE].", file=sys.stderr)
            return 2
    except Refused as error:
        print(f"comment.py: {error}, so nothing was posted.", file=sys.stderr)
        return 1
    except urllib.error.HTTPError as error:
        print(f"comment.py: {error.url} answered {error.code} {error.reason}. See the permissions of the token.", file=sys.stderr)
        return 1
    except (urllib.error.URLError, OSError) as error:
        print(f"comment.py: {error}. Run the job again.", file=sys.stderr)
        return 1
    except KeyError as error:
        print(f"comment.py: {error} is missing in the environment or the event. Run it in a job as docs/how-to/ci.md has it.", file=sys.stderr)
        return 2
    print(said)
    return 0


if __name__ == "__main__":
    sys.exit(main())
