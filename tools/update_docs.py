#!/usr/bin/env python3
"""Rewrites what the program generates: docs/ops.md, include/ingot/ops.h, and every block of
docs/*.md and README.md that follows a line <!-- run: ingot ... -->.

With --check nothing is written: differences are shown, and the exit code is 1 if there are any.
The last paragraph of `explain` names the machine and the day, so it is left out.
"""
import argparse
import difflib
import os
import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"(<!-- run: (?P<command>ingot [^\n]*?) -->\n```(?P<language>\w*)\n)(?P<text>.*?)(?=```\n)",
                   re.DOTALL)


def run(program, words):
    # The pages must not depend on whether NVRTC is here.
    environment = {**os.environ, "INGOT_NVRTC": "none", "CUDA_VISIBLE_DEVICES": ""}
    result = subprocess.run([program, *words], cwd=ROOT, capture_output=True, text=True,
                            env=environment)
    if result.returncode != 0:
        sys.exit(f"error: ingot {shlex.join(words)}: exit code {result.returncode}\n{result.stderr}")
    output = result.stdout
    if words[0] == "explain":
        output = re.sub(r"\n\ningot [^\n]*\n*\Z", "\n", output)
    return output.rstrip("\n") + "\n"


def updated(program, path):
    """The file's text with all its blocks made anew."""
    def block(match):
        words = shlex.split(match["command"])[1:]
        return match[1] + run(program, words)
    return BLOCK.sub(block, path.read_text(encoding="utf-8"))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", default=os.environ.get("INGOT_CLI", ROOT / "build" / "ingot"))
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()

    texts = {path: updated(args.program, path)
             for path in (*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md")}
    texts[ROOT / "docs" / "ops.md"] = run(args.program, ["ops", "--markdown"])
    texts[ROOT / "include" / "ingot" / "ops.h"] = run(args.program, ["ops", "--header"])

    stale = 0
    for path, text in texts.items():
        before = path.read_text(encoding="utf-8") if path.exists() else ""
        if text == before:
            continue
        name = str(path.relative_to(ROOT))
        stale += 1
        if args.check:
            print(*difflib.unified_diff(before.splitlines(), text.splitlines(), name, "what ingot gives",
                                        lineterm=""), sep="\n")
        else:
            path.write_text(text, encoding="utf-8")
            print(f"updated {name}")
    if args.check and stale:
        sys.exit(f"{stale} files are stale: run `make docs`")


if __name__ == "__main__":
    main()
