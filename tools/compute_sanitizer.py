#!/usr/bin/env python3
"""Runs the tests of tests/gpu under NVIDIA's compute-sanitizer, one tool after the other.

Each program has as many processes as there are cores; each process takes its share of the test cases.
Kernels come from the cache that `make test-gpu` has filled before. Where compute-sanitizer is not
installed or refuses the device, it says so and ends well.
"""
import argparse
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
PROGRAMS = {  # of tests/gpu → test cases left out: errors on purpose, and those of minutes each
    "programs_test": "",
    "edges_test": "GpuManyBlocks.*",
    "dlpack_test": "",
    "device_test": "Gpu.OutOfMemory*:Gpu.ALaunchThatFails*:Gpu.MoreThanTwoToThe31Elements",
}  # functions_test is left out: it tries every operand of an f32
FOUND = 99  # exit code of a share in which the tool found something


def find_sanitizer():
    places = ["/usr/local/cuda/bin", os.environ.get("CUDA_HOME", "") + "/bin"]
    return shutil.which("compute-sanitizer", path=os.pathsep.join([os.environ["PATH"], *places]))


def case_count(program, cases):
    listed = subprocess.run([program, f"--gtest_filter={cases}", "--gtest_list_tests"], check=True,
                            capture_output=True, text=True).stdout
    return sum(line.startswith("  ") for line in listed.splitlines())


def start(sanitizer, tool, program, share, shares, cases, log):
    environment = dict(os.environ, GTEST_TOTAL_SHARDS=str(shares), GTEST_SHARD_INDEX=str(share))
    environment.pop("GTEST_OUTPUT", None)
    command = [sanitizer, "--tool", tool, "--error-exitcode", str(FOUND), "--print-limit", "5",
               program, f"--gtest_filter={cases}"]
    with open(log, "w") as out:
        return subprocess.Popen(command, env=environment, stdout=out, stderr=subprocess.STDOUT,
                                start_new_session=True)


def first_lines(text, count=40):
    lines = [line for line in text.splitlines() if line.startswith("=========")]
    return "\n".join(lines[:count])


def run_tool(args, sanitizer, tool, name, logs):
    """The findings' texts of a program, or None where the tool does not run here."""
    program = (args.build / "tests/gpu" / name).resolve()
    without = PROGRAMS[name] if "-" not in args.cases else ""
    cases = f"{args.cases}-{without}" if without else args.cases
    # A share without a case never calls the driver, which the tool takes for an error.
    shares = min(args.shares, max(1, case_count(program, cases)))
    files = [logs / f"{tool}_{name}_{share}.log" for share in range(shares)]
    processes = [start(sanitizer, tool, program, share, shares, cases, file)
                 for share, file in enumerate(files)]
    codes, end = [], time.monotonic() + args.seconds
    for process in processes:
        try:
            codes.append(process.wait(timeout=max(0.1, end - time.monotonic())))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # the program under the tool, too
            codes.append(None)
    texts = [file.read_text(errors="replace") for file in files]
    if any("not supported" in text and "ERROR SUMMARY" not in text for text in texts):
        return None
    found, passed, late = [], 0, codes.count(None)
    for code, text in zip(codes, texts):
        passed += len(re.findall(r"^\[       OK \]", text, re.M))
        if code not in (0, None) or re.search(r"ERROR SUMMARY: [1-9]", text):
            found.append(first_lines(text) or text[-2000:])
    print(f"compute-sanitizer {tool}: {name}, {passed} test cases, {len(found)} of {shares} shares with"
          f" findings" + (f", {late} not done after {args.seconds} s" if late else ""), flush=True)
    return found + ["a share is not done"] * (late > 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--shares", type=int, default=os.cpu_count())
    parser.add_argument("--seconds", type=int, default=1800, help="limit of a program under one tool")
    parser.add_argument("--programs", default=",".join(PROGRAMS))
    parser.add_argument("--tools", default=",".join(TOOLS))
    parser.add_argument("--cases", default="*", help="as --gtest_filter")
    args = parser.parse_args()
    os.environ.setdefault("INGOT_CACHE_DIR", str((args.build / "tests/cache").resolve()))

    sanitizer = find_sanitizer()
    if sanitizer is None:
        sys.exit(print("compute-sanitizer: not installed, skipped"))
    logs = (args.build / "tests/sanitizer").resolve()
    logs.mkdir(parents=True, exist_ok=True)
    findings = []
    for tool in args.tools.split(","):
        for name in args.programs.split(","):
            found = run_tool(args, sanitizer, tool, name, logs)
            if found is None:
                sys.exit(print("compute-sanitizer: refuses this device, skipped"))
            findings += found
    for text in findings[:4]:
        print(text)
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
