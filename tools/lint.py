#!/usr/bin/env python3
"""Runs clang-tidy over our sources, one process a core. usage: lint.py BUILD_FOLDER [FILE...]"""
import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
tool = shutil.which("clang-tidy-14") or shutil.which("clang-tidy")
if not tool or len(sys.argv) < 2:
    sys.exit("error: clang-tidy is missing" if not tool else __doc__)
build = pathlib.Path(sys.argv[1])
compiled = [pathlib.Path(entry["file"]) for entry in json.loads((build / "compile_commands.json").read_text())]
ours = [path for path in compiled if path.is_relative_to(ROOT) and not path.is_relative_to(build.resolve())]
if sys.argv[2:]:
    ours = [path for path in ours if path in [pathlib.Path(name).resolve() for name in sys.argv[2:]]]


def lint(path):
    # The compile commands are GCC's; clang knows most of its warnings.
    return path, subprocess.run([tool, "-p", build, "--quiet", "--extra-arg=-Wno-unknown-warning-option", path],
                                capture_output=True, text=True)


failed = 0
with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
    for path, result in pool.map(lint, sorted(set(ours))):
        if result.returncode != 0:
            failed += 1
            print(f"lint: {path.relative_to(ROOT)}", result.stdout, result.stderr, sep="\n")
print(f"lint: {len(set(ours))} files, {failed} with findings")
sys.exit(1 if failed else 0)
