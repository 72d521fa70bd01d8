#!/usr/bin/env python3
"""Fails where two types of one namespace have the same name: a linker merges their functions without
a word. Types in unnamed namespaces are seen by one file only and do not count."""
import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TYPE = re.compile(r"^(?:struct|class|enum class) (\w+)(?: final)?(?: ?:(?!:)[^;=()]*)? \{")

places = collections.defaultdict(set)
for area in ("src", "include", "cli", "tests/support"):
    for path in sorted((ROOT / area).rglob("*")):
        if path.suffix not in (".h", ".cpp"):
            continue
        spaces = []  # open namespaces; "" has no name
        for line in path.read_text(encoding="utf-8").splitlines():
            opened = re.match(r"namespace ([\w:]*) ?\{", line)
            if opened:
                spaces.append(opened.group(1))
            elif line.startswith("}  // namespace"):
                spaces.pop()
            found = TYPE.match(line)
            if found and "" not in spaces:
                places["::".join([*spaces, found.group(1)])].add(str(path.relative_to(ROOT)))

wrong = {name: files for name, files in places.items() if len(files) > 1}
for name, files in sorted(wrong.items()):
    print(f"{name} is defined in {', '.join(sorted(files))}: give one another name")
sys.exit(1 if wrong else 0)
