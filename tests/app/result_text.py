"""Result files of dlscale with numbers that a test chose."""

import json

ENVIRONMENT = {"affinity": "0-1", "commit": "unknown", "compiler": "GNU", "cores": 2, "cpu": "a processor",
               "date": "2026-01-01T00:00:00Z", "dirty": False, "flags": "-O3", "governor": "unknown",
               "host_hash": "0123456789abcdef", "kernel": "Linux", "libraries": {}, "load": "0", "memory_bytes": 2.0**34,
               "variables": {}}


def result_text(benchmark, axes, medians, command=(), ranks=1, environment=None):
    """One row with ten samples around each of the `medians`, by series, in s."""
    header = {"schema": "dlscale.result", "version": 1, "benchmark": benchmark, "command": list(command),
              "environment": ENVIRONMENT | (environment or {}), "run": {"ranks": str(ranks)}}
    samples = {name: [[value * (1 + 1e-3 * (i - 4.5)) for i in range(10)]] * ranks for name, value in medians.items()}
    row = {"benchmark": benchmark, "axes": axes | {"ranks": str(ranks)}, "implementation": "made up", "max_relative_error": 0.0,
           "reason": "", "status": "ok", "warnings": [], "work": {"bytes": 1.0, "flops": 1.0},
           "series": {name: {"unit": "s", "samples": each} for name, each in samples.items()}}
    return "".join(json.dumps(line) + "\n" for line in [header, row, {"end": {"measurements": 1}}])
