"""Steps that say whether the GPU computes the right answers."""

import json
import re
import time

import driver
from machine import output_of, toolkit_tool, usable_cores
from session import Outcome, Step

# Other backends were tested where this was built.
ON_THE_DEVICE = "-*/onednn*:*/reference*:*/mpi*:*/local*"
# A process compiles plans of cuDNN one after the other, for minutes if it has all the tests.
MOST_SHARDS = 12
# Tests that did not pass are run again, each in a process of its own: after an error that stays
# with a process (an illegal address, say) all its other tests fail as well.
MOST_AGAIN = 20
SECONDS_AGAIN = 60  # of one test
# Those whose ranks are GPUs: by themselves they test little.
JOINT = ["nccl_test"]
# Our own kernels: every access is watched, which takes 10 to 100 times as long.
WATCHED = {
    "kernels_on_device_test": "*",
    "transforms_on_device_test": "*",
    "conformance_test": "*/cuda*_bf16_*:*/cuda*_f32_plain-*Convolution*:*FullyConnected*",
}


def _shards(session, name, count, limit):
    """Runs a test program as `count` processes at once, each with its share of the tests."""
    reports = [session.work / f"{name}-{shard}.json" for shard in range(count)]
    commands, environments = [], []
    for shard, report in enumerate(reports):
        commands.append(
            [
                session.programs.test(name),
                f"--gtest_filter={ON_THE_DEVICE}",
                f"--gtest_output=json:{report}",
            ]
        )
        environments.append(
            session.programs.environment()
            | {"GTEST_TOTAL_SHARDS": str(count), "GTEST_SHARD_INDEX": str(shard)}
        )
    return session.execute_together(commands, environments, limit), reports


def _counted(reports):
    """Tests passed, failed (by name) and skipped, of Google Test's reports."""
    counts = {"passed": 0, "failed": [], "skipped": 0, "names": []}
    for report in reports:
        if not report.exists():
            continue
        for suite in json.loads(report.read_text(encoding="utf-8"))["testsuites"]:
            for test in suite["testsuite"]:
                name = f"{suite['name']}.{test['name']}"
                if test.get("failures"):
                    counts["failed"].append(name)
                    continue
                if test.get("status") == "RUN":
                    counts["names"].append(name)
                if test.get("result") == "SKIPPED":
                    counts["skipped"] += 1
                elif test.get("status") == "RUN":
                    counts["passed"] += 1
    return counts


def _add_crashed(counts, said):
    """A process that crashes writes no report. What it said of each test, as it went, is counted
    instead; under way in the end were those that crashed."""
    known = {*counts["names"], *counts["failed"]}
    ended = {
        name: how
        for how, name in re.findall(
            r"^\[ +(OK|FAILED|SKIPPED) +\] ([\w./-]+)(?:,| \()", said, re.MULTILINE
        )
    }
    begun = re.findall(r"^\[ RUN +\] (\S+)", said, re.MULTILINE)
    counts["crashed"] = [name for name in begun if name not in ended and name not in known]
    for name in begun:
        if name in known or name not in ended:
            continue
        if ended[name] == "FAILED":
            counts["failed"].append(name)
            continue
        counts["names"].append(name)
        counts["passed" if ended[name] == "OK" else "skipped"] += 1


def _listed(session, name):
    """All tests that are run, in their order. A test is where its suite stands before it."""
    environment = session.programs.environment()
    words = [str(session.programs.test(name)), f"--gtest_filter={ON_THE_DEVICE}"]
    suite, found = "", []
    for line in output_of([*words, "--gtest_list_tests"], 120, environment).splitlines():
        text = line.partition("#")[0].rstrip()
        if line.startswith("  ") and suite:
            found.append(suite + text.strip())
        elif text.endswith(".") and " " not in text:
            suite = text
    return found


def _again(session, name, counts, end):
    """Runs what did not pass once more, one test a process, and counts it by how it ended there.
    What failed together with others only is told apart from what fails by itself."""
    known = {*counts["names"], *counts["failed"], *counts["crashed"]}
    lost = [test for test in _listed(session, name) if test not in known]
    suspects = [*counts["crashed"], *counts["failed"], *lost]
    alone, passed = [], []
    for test in suspects[:MOST_AGAIN]:
        limit = min(SECONDS_AGAIN, end - time.monotonic())
        if limit < 1:
            break
        outcome = session.execute(
            [session.programs.test(name), f"--gtest_filter={test}", "--gtest_brief=1"], limit
        )
        if session.signal:
            break
        (passed if outcome.status == "ok" else alone).append(test)
    counts["fail_alone"], counts["pass_alone"] = alone, passed
    counts["not_tried_alone"] = max(0, len(suspects) - len(alone) - len(passed))
    counts["lost"] = len(lost)  # that never began, as their process had crashed


# Each rank writes a report of its own.
_ONE_RANK = 'exec "$0" --gtest_filter="$1" --gtest_output=json:"$2-$OMPI_COMM_WORLD_RANK.json"'


def _joint_test(name, ranks):
    """Starts a test program as one of several ranks, each with a GPU; all of them run all tests."""

    def action(session, limit):
        report = session.work / f"{name}-of-{ranks}"
        start = session.record.size("log.txt")
        one = ["sh", "-c", _ONE_RANK, session.programs.test(name), ON_THE_DEVICE, report]
        outcome = session.execute(session.programs.launched(one, ranks), limit)
        counts = _counted([report.with_name(f"{report.name}-{rank}.json") for rank in range(ranks)])
        _add_crashed(counts, session.record.text_since("log.txt", start))
        return _judged(outcome, counts)

    return action


def _judged(outcome, counts):
    """A test that fails is the finding; a program none of whose tests ran has tested nothing."""
    outcome.details = {key: value for key, value in counts.items() if key != "names"}
    told = [
        f"{len(counts[key])} tests {key}, the first {counts[key][0]}"
        for key in ("crashed", "failed")
        if counts.get(key)
    ]
    if outcome.status == "failed" and told:
        outcome.reason = "; ".join(told)
        if alone := counts.get("fail_alone"):
            outcome.reason += f"; {len(alone)} fail in a process of their own, the first {alone[0]}"
        elif counts.get("pass_alone"):
            outcome.reason += "; in a process of their own those that were tried pass"
    elif outcome.status == "ok" and counts["passed"] == 0:
        reason = f"no test ran, {counts['skipped']} were skipped"
        return Outcome("refused", reason, 0, outcome.details)
    return outcome


def _device_test(name):
    def action(session, limit):
        end = time.monotonic() + limit
        count = min(MOST_SHARDS, usable_cores()) if name == "conformance_test" else 1
        start = session.record.size("log.txt")
        outcome, reports = _shards(session, name, count, limit)
        counts = _counted(reports)
        _add_crashed(counts, session.record.text_since("log.txt", start))
        if outcome.status == "failed":
            _again(session, name, counts, end)
        return _judged(outcome, counts)

    return action


def _sanitized(tool, name):
    def action(session, limit):
        start = session.record.size("log.txt")
        outcome = session.execute(
            [
                toolkit_tool("compute-sanitizer"),
                "--tool",
                tool,
                "--error-exitcode",
                "9",
                session.programs.test(name),
                f"--gtest_filter={WATCHED[name]}",
                "--gtest_brief=1",
            ],
            limit,
        )
        said = session.record.text_since("log.txt", start)
        outcome.details = {"summary": [line for line in said.splitlines() if "SUMMARY" in line]}
        if outcome.code == 9:
            outcome.reason = f"{tool} found errors: {outcome.details['summary'][-1:]}"
        return outcome

    return action


def _test_step(name):
    # conformance_test: about 500 plans of cuDNN in all, a second each.
    seconds = 90 if name == "conformance_test" else 30
    return Step(f"test-{name}", f"device tests of {name}", f"test-{name}", seconds, 300,
                _device_test(name), ("gpu",))  # fmt: skip


def _joint_step(name, ranks):
    return Step(f"test-{name}-{ranks}", f"tests of {name}, by {ranks} ranks", f"test-{name}-ranks",
                40, 300, _joint_test(name, ranks), ("gpu", "mpi", "peers"))  # fmt: skip


def _watched_step(tool, name):
    mixed = name == "conformance_test"  # cuDNN's plans are compiled beside our own kernels
    return Step(f"sanitizer-{tool}-{name}", f"own kernels under compute-sanitizer's {tool}",
                f"sanitizer-{name}", 150 if mixed else 45, 300 if mixed else 180,
                _sanitized(tool, name), ("sanitizer", "cuda"),
                turn=1 if mixed or tool == "racecheck" else 0)  # fmt: skip


def steps(programs, gpus=1):
    """Tests first: a speed of wrong answers is worth nothing."""
    names = sorted(programs.tests, key=lambda name: name != "conformance_test")
    joint = [
        _joint_step(name, ranks)
        for name in JOINT
        if name in names
        for ranks in driver.two_and_all(gpus)
    ]
    return [*[_test_step(name) for name in names], *joint] + [
        _watched_step(tool, name)
        for name in WATCHED
        if name in programs.tests
        for tool in ["memcheck", "racecheck"]
    ]
