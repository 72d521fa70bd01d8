#!/usr/bin/env python3
"""Formats the C++ and JavaScript sources with clang-format; --check only looks, and names the files that differ."""
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PATTERNS = [f"{area}/**" for area in ("src", "include", "cli", "examples", "tests", "bench", "python")]

# One version decides, because two format differently: the one of Debian 12.
tool = shutil.which("clang-format-14") or shutil.which("clang-format")
if tool and "version 14." not in subprocess.check_output([tool, "--version"], text=True):
    tool = None
if not tool:
    print("format: skipped, there is no clang-format 14 here")
    sys.exit(0)

listed = subprocess.run(
    ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *PATTERNS],
    cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
files = [name for name in sorted(set(listed)) if name.endswith((".h", ".cpp", ".js")) and (ROOT / name).exists()]
if not files:
    sys.exit(0)
if "--check" not in sys.argv[1:]:
    sys.exit(subprocess.run([tool, "-i", *files], cwd=ROOT).returncode)

differing = [name for name in files
             if subprocess.check_output([tool, name], cwd=ROOT) != (ROOT / name).read_bytes()]
if differing:
    print("format: these differ from .clang-format; run `make format`:", *differing, sep="\n  ")
    sys.exit(1)
