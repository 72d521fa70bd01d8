#!/usr/bin/env python3
"""Writes src/onnx/op_forms.inc: each op of ONNX's own domain in the forms that it has in ingot's
opsets, as the Python package onnx knows them. A version that changes neither the names of attributes
nor the numbers of inputs and outputs has no row. Ops that are newer than ingot's opsets have their
first form, for messages.

    tools/list_onnx_forms.py [--output FILE]     # needs `pip install onnx`
"""
import argparse
import collections
import pathlib

import onnx
import onnx.defs

FIRST, LAST = 7, 23  # ingot's opsets
ANY_NUMBER = 2**31 - 1  # the package's word for it
INC = pathlib.Path(__file__).resolve().parent.parent / "src" / "onnx" / "op_forms.inc"


def number(count):
    return "any" if count == ANY_NUMBER else str(count)


def form(schema, is_gone):
    if is_gone:
        return '0, 0, 0, ""'
    names = sorted(a.name + "!" * a.required for a in schema.attributes.values())
    return (f"{schema.min_input}, {number(schema.max_input)}, {number(schema.max_output)}, "
            f'"{" ".join(names)}"')


def rows(name, schemas):
    """Of the versions that are in force in ingot's opsets, those that change something."""
    out = []
    for i, schema in enumerate(schemas):
        if i > 0 and schema.since_version > LAST:
            break
        # Deprecated for good: a later version may be another op of the same name.
        is_gone = schema.deprecated and schema is schemas[-1]
        row = form(schema, is_gone)
        if out and out[-1][1] == row:
            continue
        if out and schema.since_version <= FIRST:
            out.pop()
        out.append((schema.since_version, row))
    return [f'{{"{name}", {since}, {row}}},' for since, row in out]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--output", type=pathlib.Path, default=INC)
    options = parser.parse_args()
    schemas = collections.defaultdict(list)
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.domain == "":
            schemas[schema.name].append(schema)
    lines = [f"// Made by tools/list_onnx_forms.py from the Python package onnx {onnx.__version__}.",
             "// name, since, fewest inputs, most inputs, most outputs, attributes (!: required)"]
    for name in sorted(schemas):
        lines += rows(name, sorted(schemas[name], key=lambda schema: schema.since_version))
    options.output.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
