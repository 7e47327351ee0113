"""Steps that say whether the GPU computes the right answers."""

import json

from machine import toolkit_tool, usable_cores
from session import Outcome, Step

# Other backends were tested where this was built.
ON_THE_DEVICE = "-*/onednn*:*/reference*:*/mpi*:*/local*"
# Our own kernels: every access is watched, which takes 10 to 100 times as long.
# A process compiles plans of cuDNN one after the other, for minutes if it has all the tests.
MOST_SHARDS = 12
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
                "--gtest_brief=1",
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
    counts = {"passed": 0, "failed": [], "skipped": 0}
    for report in reports:
        if not report.exists():
            continue
        for suite in json.loads(report.read_text(encoding="utf-8"))["testsuites"]:
            for test in suite["testsuite"]:
                if test.get("failures"):
                    counts["failed"].append(f"{suite['name']}.{test['name']}")
                elif test.get("result") == "SKIPPED":
                    counts["skipped"] += 1
                elif test.get("status") == "RUN":
                    counts["passed"] += 1
    return counts


def _judged(outcome, counts):
    """A test that fails is the finding; a program none of whose tests ran has tested nothing."""
    outcome.details = counts
    if outcome.status == "failed" and counts["failed"]:
        outcome.reason = f"{len(counts['failed'])} tests failed, the first {counts['failed'][0]}"
    elif outcome.status == "ok" and counts["passed"] == 0:
        return Outcome("refused", f"no test ran, {counts['skipped']} were skipped", 0, counts)
    return outcome


def _device_test(name):
    def action(session, limit):
        count = min(MOST_SHARDS, usable_cores()) if name == "conformance_test" else 1
        outcome, reports = _shards(session, name, count, limit)
        return _judged(outcome, _counted(reports))

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


def _watched_step(tool, name):
    mixed = name == "conformance_test"  # cuDNN's plans are compiled beside our own kernels
    return Step(f"sanitizer-{tool}-{name}", f"own kernels under compute-sanitizer's {tool}",
                f"sanitizer-{name}", 150 if mixed else 45, 300 if mixed else 180,
                _sanitized(tool, name), ("sanitizer", "cuda"),
                turn=1 if mixed or tool == "racecheck" else 0)  # fmt: skip


def steps(programs):
    """Tests first: a speed of wrong answers is worth nothing."""
    names = sorted(programs.tests, key=lambda name: name != "conformance_test")
    return [_test_step(name) for name in names] + [
        _watched_step(tool, name)
        for name in WATCHED
        if name in programs.tests
        for tool in ["memcheck", "racecheck"]
    ]
