#!/usr/bin/env python3
"""Prints lines per folder, and the files that crossed their budget (a warning, not a failure)."""
import pathlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUDGET = {".h": 150, ".cpp": 600, ".js": 400}
SUFFIXES = {".h", ".cpp", ".def", ".inc", ".py", ".js", ".css"}

table, crossed = {}, []
for area in ("include", "src", "cli", "python", "examples", "tests", "bench", "tools", "scripts"):
    for path in sorted((ROOT / area).rglob("*")):
        if path.suffix not in SUFFIXES:
            continue
        lines = len(path.read_text(encoding="utf-8").splitlines())
        parts = path.relative_to(ROOT).parts
        folder = "/".join(parts[:2]) if area == "src" and len(parts) > 2 else area
        files, total = table.get(folder, (0, 0))
        table[folder] = (files + 1, total + lines)
        if lines > BUDGET.get(path.suffix, lines) and area != "tests":
            crossed.append(f"  {path.relative_to(ROOT)}: {lines} lines, budget {BUDGET[path.suffix]}")

print(f"{'folder':<14}{'files':>7}{'lines':>9}")
for folder, (files, lines) in table.items():
    print(f"{folder:<14}{files:>7}{lines:>9}")
print(f"{'total':<14}{sum(f for f, _ in table.values()):>7}{sum(n for _, n in table.values()):>9}")
if crossed:
    print("over their budget:", *crossed, sep="\n")
