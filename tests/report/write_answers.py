#!/usr/bin/env python3
"""Writes pages of answers that write_samples.cpp has none of: write_answers.py PROGRAM FOLDER

The program answers and reports as a user has it: a plan, memory, and parallel plans of a transformer.
"""

import pathlib
import shutil
import subprocess
import sys

CNN = ["--network", "alexnet", "--cluster", "p40x16"]
TRANSFORMER = ["--network", "llama2_7b", "--cluster", "dgx_a100", "--ranks", "8", "--global-batch", "16"]
PLANS = [word for plan in ("tensor=4,micro_batch=1,zero=1", "zero=3,micro_batch=1", "stages=4,micro_batch=1,zero=1")
         for word in ("--parallel", plan)]
ANSWERS = {
    "plan": ["plan", *CNN, "--epochs", "2"],
    "training": ["predict", *CNN, "--ranks", "1,16", "--epochs", "90", "--cost-per-gpu-hour", "2"],
    "memory": ["predict", *CNN, "--ranks", "1", "--batch", "8,16,32,64", "--memory"],
    "parallel_prediction": ["predict", *TRANSFORMER, *PLANS],
    "parallel_plan": ["plan", *TRANSFORMER],
    "parallel_memory": ["predict", *TRANSFORMER, *PLANS, "--memory"],
}


def main():
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    page = folder / "answer"
    for name, words in ANSWERS.items():
        answer = folder / f"{name}.json"
        answer.unlink(missing_ok=True)
        subprocess.run([program, *words, "--format", "json", "-o", answer], check=True)
        subprocess.run([program, "report", answer, "-o", page], check=True, stdout=subprocess.DEVNULL)
        shutil.copyfile(page / "index.html", folder / f"{name}.html")


if __name__ == "__main__":
    main()
