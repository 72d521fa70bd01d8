#!/usr/bin/env python3
"""Runs ctest and closes with "N passed, N failed".

A GoogleTest program counts once a test case, another test once. A program that ended without its
result file (a crash, a time-out) counts as one failure beside none of its cases.
"""
import argparse
import collections
import os
import pathlib
import shutil
import subprocess
import sys
import xml.etree.ElementTree as xml


def count_cases(file):
    """(passed, failed names, skipped messages) of a GoogleTest result file."""
    passed, failed, skipped = 0, [], []
    for case in xml.parse(file).getroot().iter("testcase"):
        name = f"{case.get('classname')}.{case.get('name')}"
        if case.find("failure") is not None:
            failed.append(name)
        elif case.get("result") == "skipped" or case.find("skipped") is not None:
            reason = case.find("skipped")
            message = (reason.get("message") or "").strip() if reason is not None else ""
            skipped.append(f"{name}: {message.splitlines()[-1]}" if message else name)
        elif case.get("status") != "notrun":
            passed += 1
    return passed, failed, skipped


def by_reason(skipped):
    """One line for many cases that were skipped for one reason."""
    cases = collections.defaultdict(list)
    for name in skipped:
        case, _, reason = name.partition(": ")
        cases[reason].append(case)
    lines = []
    for reason, names in cases.items():
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        lines.append(f"{names[0]}{more}: {reason}" if reason else "\n  ".join(names))
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--only", help="label (the folder of tests/)")
    parser.add_argument("--exclude", help="label")
    parser.add_argument("--jobs", type=int, default=2, help="tests at once")
    args = parser.parse_args()

    tests = (args.build / "tests").resolve()
    shutil.rmtree(tests / "results", ignore_errors=True)
    (tests / "results").mkdir(parents=True)
    report = tests / "results" / "ctest.xml"
    command = ["ctest", "--test-dir", args.build, f"-j{args.jobs}", "--output-on-failure",
               "--output-junit", report]
    command += ["-L", f"^{args.only}$"] if args.only else []
    command += ["-LE", f"^{args.exclude}$"] if args.exclude else []
    environment = dict(os.environ)
    nvrtc = sorted((args.build / "nvrtc").resolve().glob("nvidia/*/lib/libnvrtc.so.*"))
    if nvrtc and "INGOT_NVRTC" not in environment:  # scripts/nvrtc.sh put it there
        environment["INGOT_NVRTC"] = str(nvrtc[0])
    status = subprocess.run(command, env=environment).returncode

    passed, failed, skipped = 0, [], []
    for test in xml.parse(report).getroot().iter("testcase") if report.exists() else []:
        name, ok = test.get("name"), test.get("status") == "run"
        file = tests / "results" / f"{name}.xml"
        if file.exists():
            cases = count_cases(file)
            passed += cases[0]
            failed += [f"{name} {case}" for case in cases[1]]
            skipped += [f"{name} {case}" for case in cases[2]]
            if not ok and not cases[1]:
                failed.append(name)
        elif ok:
            passed += 1
        elif test.find("skipped") is not None and test.get("status") != "fail":
            skipped.append(name)
        else:
            failed.append(name)

    for title, names in (("skipped", skipped), ("failed", failed)):
        if names:
            lines = by_reason(names) if title == "skipped" else names
            print(f"\n{title}: {len(names)}", *lines, sep="\n  ")
    print(f"\n{passed} passed, {len(failed)} failed", flush=True)
    sys.exit(1 if failed or status != 0 or passed == 0 else 0)


if __name__ == "__main__":
    main()
