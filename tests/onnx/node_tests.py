#!/usr/bin/env python3
"""The node tests of the onnx package, run by ingot: each op in the forms that the package tests.

    tests/onnx/node_tests.py --program build/ingot [--only SUBSTRING] [--json FILE] [--docs FILE]

A test of a newer opset than ingot's newest runs as one of that, where the op has the same form there.
A file with an op, type or attribute that ingot refuses (exit code 3) is tried again with all inputs
but the first as constants, then with all of them, and then counts as refused; everything else must
give the expected values, and random numbers, which are each library's own, shape and dtype. Exit
code 1: a wrong value, or another error. Needs the Python packages onnx and numpy; says so and does
nothing where they are missing.
"""
import argparse
import collections
import concurrent.futures
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import warnings

try:
    import numpy as np
    import onnx
    from onnx import numpy_helper
except ImportError as missing:
    print(f"skipped: {missing}; `pip install onnx` makes these tests run")
    sys.exit(0)

FIRST, LAST = 7, 23  # ingot's opsets
CHOICES = "\n## What the standard leaves open"  # from there on docs/onnx.md is written by hand
RANDOM = ("test_bernoulli", "test_training_dropout")  # but for those with ratio 0


def form_at(node, version):
    """Whether the node is valid in this opset, as far as names and numbers say."""
    try:
        schema = onnx.defs.get_schema(node.op_type, version, node.domain)
    except onnx.defs.SchemaError:
        return False
    if schema.deprecated or any(a.name not in schema.attributes for a in node.attribute):
        return False
    return len(node.input) <= schema.max_input and len(node.output) <= schema.max_output


def at_our_opset(model):
    """The model with an opset of ingot's; None if its ops have no form there."""
    domains = {o.domain for o in model.opset_import}
    if domains - {"", "ai.onnx"}:
        return None
    version = model.opset_import[0].version
    ours = min(max(version, FIRST), LAST)
    if not all(form_at(node, ours) for node in model.graph.node):
        return None
    model.opset_import[0].version = ours
    return model


def typed(array):
    """bf16 and f8 outputs are written as f32."""
    return array.astype(np.float32) if array.dtype.kind == "V" or "float8" in str(array.dtype) \
        or "bfloat16" in str(array.dtype) else array


def file_name(name):
    return re.sub(r"[^A-Za-z0-9_.-]", "_", name)


def tensor_of(value, info):
    if isinstance(value, onnx.TensorProto):
        return value
    return numpy_helper.from_array(np.asarray(value), info.name)


def ulps(info, nodes):
    """Relative tolerance for halves: several ops round elsewhere, and so does the package's Attention,
    which rounds scores and weights."""
    several = len(nodes) > 1 or nodes[0].op_type == "Attention"
    return {onnx.TensorProto.FLOAT16: 2.0**-10, onnx.TensorProto.BFLOAT16: 2.0**-7}.get(
        info.type.tensor_type.elem_type, 0) * (2 if several else 1)


def same(got, want, rtol, atol, random=False):
    if got.shape != want.shape:
        return f"shape {got.shape}, not {want.shape}"
    if got.dtype != want.dtype:
        return f"dtype {got.dtype}, not {want.dtype}"
    if random:
        return None
    if want.dtype.kind in "biu":
        wrong = got != want
    else:
        got, want = got.astype(np.float64), want.astype(np.float64)
        wrong = ~np.isclose(got, want, rtol=rtol, atol=atol, equal_nan=True)
    if not wrong.any():
        return None
    at = tuple(int(i) for i in np.argwhere(wrong)[0]) if wrong.ndim else ()
    return f"{int(wrong.sum())} of {wrong.size} values, first at {at}: {got[at]}, not {want[at]}"


def with_constants(model, inputs, kept):
    """Only the first `kept` inputs stay inputs."""
    changed = onnx.ModelProto.FromString(model.SerializeToString())
    for info, value in list(zip(model.graph.input, inputs))[kept:]:
        if isinstance(value, (list, type(None))):
            continue
        tensor = changed.graph.initializer.add()
        tensor.CopyFrom(tensor_of(value, info))
        tensor.name = info.name
        changed.graph.input.remove(next(i for i in changed.graph.input if i.name == info.name))
    return changed


def run_case(case, program, cache, folder):
    model = at_our_opset(onnx.ModelProto.FromString(case.model.SerializeToString()))
    if model is None:
        return "other", "no form in opset 7 to 23"
    result = run_model(case, model, case.data_sets, program, cache, folder)
    if result[0] != "refused" or len(case.data_sets) != 1:
        return result
    inputs, outputs = case.data_sets[0]
    for kept in (1, 0):
        fixed = with_constants(model, inputs, kept)
        result = run_model(case, fixed, [(inputs[:kept], outputs)], program, cache,
                           folder / f"constants{kept}")
        if result[0] != "refused":
            break
    return result


def run_model(case, model, data_sets, program, cache, folder):
    folder.mkdir(parents=True)
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    graph = model.graph
    for inputs, outputs in data_sets:
        command = [program, "run", str(path), "--device", "cpu", "--out", str(folder / "out"),
                   "--cache", cache]
        for i, (info, value) in enumerate(zip(graph.input, inputs)):
            if not info.type.HasField("tensor_type"):
                return "refused", "sequence or optional"
            data = folder / f"in{i}.pb"
            data.write_bytes(tensor_of(value, info).SerializeToString())
            command += ["--input", f"{info.name}={data}"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        except subprocess.TimeoutExpired:
            return "failed", "takes more than 120 s"
        if done.returncode != 0:
            kind = "refused" if done.returncode == 3 else "failed"
            return kind, done.stderr.strip().split("\n")[0]
        for info, value in zip(graph.output, outputs):
            want = value
            if isinstance(want, onnx.TensorProto):
                want = numpy_helper.to_array(want)
            got = np.load(folder / "out" / (file_name(info.name) + ".npy"))
            rtol = max(case.rtol, ulps(info, graph.node))
            random = case.name.startswith(RANDOM) and "zero_ratio" not in case.name
            if fault := same(got, typed(np.asarray(want)), rtol, case.atol, random):
                return "failed", f"{info.name}: {fault}"
    return "passed", ""


def collected(only):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.case.node import collect_testcases
        cases = collect_testcases(None)
    return [c for c in cases if c.model is not None and only in c.name]


def forms_of(name):
    """The versions of the op that are in force somewhere in opset 7 to 23."""
    versions = sorted(s.since_version for s in onnx.defs.get_all_schemas_with_history()
                      if s.name == name and s.domain == "" and s.since_version <= LAST)
    return [v for i, v in enumerate(versions) if i + 1 == len(versions) or versions[i + 1] > FIRST]


def document(program, cases, results):
    known = set(json.loads(subprocess.run([program, "ops", "--json"], capture_output=True,
                                          text=True, check=True).stdout)["onnx_ops"])
    counts, reasons = collections.defaultdict(collections.Counter), collections.defaultdict(set)
    for case in cases:
        if len(case.model.graph.node) != 1:
            continue
        op, (kind, why) = case.model.graph.node[0].op_type, results[case.name]
        counts[op][kind] += 1
        if kind == "refused":
            why = re.sub(r"(an? \w+ of type|%s: to) [A-Z0-9_]+" % op,
                         "a type without a dtype here", why)
            reasons[op].add(re.sub(r" \([^)]*\)$|^.*?support: |%s: | \(\d+: .*" % op, "", why))
    ops = sorted({s.name for s in onnx.defs.get_all_schemas_with_history()
                  if s.domain == "" and s.since_version <= LAST})
    of_many = collections.Counter(results[case.name][0] for case in cases
                                  if len(case.model.graph.node) != 1)
    lines = ["# ONNX", "",
             "<!-- Made by tests/onnx/node_tests.py --docs from the importer's table and the package -->",
             "",
             "Opsets 7 to 23. An op is imported in the form of its version; an op, attribute, input or "
             "output that the file's opset does not have is an error of the file (exit code 2). The "
             "columns behind the versions count the node tests of the Python package onnx "
             f"{onnx.__version__}: passed, and refused (exit code 3) with the reasons. Those of newer "
             "opsets run as opset 23 where the op has the same form; what is refused with inputs at "
             "run time is tried with constants.", "",
             "| op | versions | pass | refused | why |", "|---|---|---|---|---|"]
    for op in (op for op in ops if op in known):
        lines.append(f"| `{op}` | {', '.join(map(str, forms_of(op)))} | {counts[op]['passed']} | "
                     f"{counts[op]['refused']} | {'; '.join(sorted(reasons[op]))} |")
    lines += ["", "Not imported: " + ", ".join(f"`{op}`" for op in ops if op not in known) + ".", "",
              "| tests | pass | refused | fail | need another opset or domain |", "|---|---|---|---|---|"]
    parts = [("of the ops above", sum((counts[op] for op in counts if op in known), collections.Counter())),
             ("of ops not imported", sum((counts[op] for op in counts if op not in known),
                                         collections.Counter())),
             ("of several ops", of_many)]
    parts.append(("in all", sum((count for _, count in parts), collections.Counter())))
    lines += [f"| {name} | {c['passed']} | {c['refused']} | {c['failed']} | {c['other']} |"
              for name, c in parts]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--only", default="", help="cases whose name has this in it")
    parser.add_argument("--json", help="writes all results there")
    parser.add_argument("--docs", help="writes docs/onnx.md there")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    cases = collected(options.only)
    results = {}
    with tempfile.TemporaryDirectory() as scratch, \
            concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        def run(case):
            folder = pathlib.Path(scratch) / case.name
            return case.name, run_case(case, options.program, scratch + "/cache", folder)
        for name, result in pool.map(run, cases):
            results[name] = result
            if result[0] == "failed":
                print(f"FAILED {name}: {result[1]}", flush=True)
    count = collections.Counter(kind for kind, _ in results.values())
    reasons = collections.Counter(re.sub(r" \(\d+:.*", "", why.split("support: ")[-1])
                                  for kind, why in results.values() if kind == "refused")
    print("refused, by reason:")
    for why, times in sorted(reasons.items()):
        print(f"  {times:4} {why}")
    print(f"{count['passed']} passed, {count['failed']} failed, {count['refused']} refused, "
          f"{count['other']} of other opsets and domains, of {len(cases)}")
    if options.docs:
        path = pathlib.Path(options.docs)
        before = path.read_text() if path.exists() else ""
        by_hand = before[before.find(CHOICES):] if CHOICES in before else ""
        path.write_text(document(options.program, cases, results) + by_hand)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(results, indent=1))
    sys.exit(1 if count["failed"] else 0)


if __name__ == "__main__":
    main()
