#!/usr/bin/env python3
"""Fails on an #include that runs against the data flow. The table is the one of CMakeLists.txt."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]')

MAY_SEE = {  # folder of src/ → folders, or single headers, besides its own
    "base": "ingot/dtype.h ingot/error.h ingot/tensor.h",  # the public API's words
    "device": "base",
    "op": "base device device_functions.inc",
    "graph": "op base device",
    "onnx": "graph op base",
    "plan": "graph op base",
    "loop": "op base device",
    "lower": "plan graph loop op base",
    "emit": "loop op base device",
    "jit": "base emit/kernel_source.h",
    "run": "jit plan graph op base emit/kernel_source.h",
    "report": "run jit emit lower loop plan onnx graph op device base",
    "html": "base",
    "api": "html report run jit emit lower loop plan onnx graph op device base ingot version.h",
    "emit/kernel_source.h": "op base device",  # jit reads it, and jit knows no IR
}
ONLY_IN = [  # headers of libraries → the folders that may include them (CUDA: dlopen, no headers)
    (re.compile(r"\.pb\.h$"), {"onnx"}),
    (re.compile(r"^(oneapi/)?dnnl"), {"run"}),
    (re.compile(r"^(cuda|nvrtc|cublas|cudnn|nccl)\w*\.h"), set()),
]


def complaint(path, bracket, name):
    """Why this file may not include this header, or None."""
    top, *rest = path.relative_to(ROOT).parts
    folder = (rest[0] if len(rest) > 1 else "api") if top == "src" else top
    for pattern, folders in ONLY_IN:
        if pattern.search(name) and folder not in folders:
            return f"may be included by: {' '.join(sorted(folders)) or 'nobody'}"
    target = name.split("/")[0]
    ours = bracket == '"' or target in MAY_SEE or target == "ingot"
    if not ours or name.endswith(".pb.h"):
        return None
    if top != "src":
        own = (path.parent / name).exists()
        return None if own or target == "ingot" else f"{top} may include <ingot/...> only"
    allowed = MAY_SEE.get("/".join(rest), MAY_SEE.get(folder, "")).split()
    if target in (*allowed, folder) or name in allowed:
        return None
    return f"{folder} may see: {' '.join(allowed) or 'nothing'}"


wrong = 0
for area in ("src", "include", "cli", "examples", "bench", "python"):
    for path in sorted((ROOT / area).rglob("*")):
        if path.suffix not in (".h", ".cpp", ".def"):
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            found = INCLUDE.match(line)
            reason = found and complaint(path, *found.groups())
            if reason:
                print(f"{path.relative_to(ROOT)}:{number}: {line.strip()}    {reason}")
                wrong += 1
sys.exit(1 if wrong else 0)
