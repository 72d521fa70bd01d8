"""The works of cpu_bench in NumExpr and in JAX (XLA:CPU), medians of several runs.

    python3 bench/cpu_peers.py --build build --threads 2 [--only WORK]...

Runs build/bench/cpu_bench first and then the peers, so that all figures come from one run, and
prints one table. A peer that is not installed, or cannot express a work, is "-": NumExpr has no
erf, no bf16, no transposed operands at speed, and a reduction only as the last step of an
expression, so that works with one in the middle are several calls of it; its softmax and norms
would measure NumPy. JAX gives its results the memory of those of the call before.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import time

import numpy as np

# By the work's name: names of the inputs with their shapes. M rows of N columns, and vectors.
INPUTS = {
    "chain4": {"x": "MN", "b": "N", "s": "N", "r": "MN"},
    "bias_gelu": {"x": "MN", "b": "N"},
    "softmax_4096": {"x": "MN"},
    "layer_norm_4096": {"x": "MN", "g": "N", "b": "N"},
    "add_rmsnorm_4096": {"x": "MN", "r": "MN", "g": "N"},
    "add_mul_add_relu": {"x": "MN"},
    "add_mul_add_relu_vectors": {"x": "MN", "b": "N", "s": "N", "r": "N"},
    "chain16": {"x": "MN"},
    "softmax_backward": {"y": "MN", "dy": "MN"},
    "layer_norm_backward": {"x": "MN", "dy": "MN", "g": "N"},
    "rms_norm_backward": {"x": "MN", "dy": "MN", "g": "N"},
    "cross_entropy_32768": {"x": "MN", "label": "M"},
    "transpose_bias_gelu": {"x": "NM", "b": "N"},
    "full_sum": {"x": "MN"},
    "column_sum": {"x": "MN"},
}
COLUMNS = {"cross_entropy_32768": 32768, "transpose_bias_gelu": 8192}
WIDE = {"chain4", "bias_gelu", "add_mul_add_relu", "add_mul_add_relu_vectors", "chain16"}
# Scale and offset after each tanh but the last.
CHAIN16 = [(1.25, 0.125), (0.75, -0.25), (1.5, 0.0625), (0.875, 0.375), (1.125, -0.125)]


def columns_of(work):
    return COLUMNS.get(work, 16384 if work in WIDE else 4096)


# As in cpu_works.h: 256 MiB a tensor, 2 MiB with .2MiB, 64 by 1024 with .64x1024.
def sizes_of(work, suffix):
    if suffix == "64x1024":
        return {"M": 64, "N": 1024}
    columns = columns_of(work)
    elements = {"": 64 << 20, "bf16": 128 << 20, "2MiB": 512 << 10}[suffix]
    return {"M": elements // columns, "N": columns}


def inputs(work, suffix):
    sizes = sizes_of(work, suffix)
    generator = np.random.default_rng(7)
    values = {}
    for name, shape in INPUTS[work].items():
        lengths = [sizes[letter] for letter in shape]
        if name == "label":
            values[name] = generator.integers(0, sizes["N"], lengths + [1])
        else:
            values[name] = generator.standard_normal(lengths, dtype=np.float32)
    return values


def chain16_text():
    text = "tanh(x)"
    for scale, offset in CHAIN16:
        text = f"tanh({text} * {scale} + {offset})"
    return text


def numexpr_text(work):
    chain = "(x + 0.25) * 1.5 - 0.125"
    vectors = "(x + b) * s + r"
    return {
        "chain4": "(x + b) * s / (1 + exp(-(x + b) * s)) + r",
        "add_mul_add_relu": f"where({chain} > 0.0, {chain}, 0.0)",
        "add_mul_add_relu_vectors": f"where({vectors} > 0.0, {vectors}, 0.0)",
        "chain16": chain16_text(),
        "full_sum": "sum(x)",
        "column_sum": "sum(x, axis=0)",
    }.get(work)


def jax_functions():
    import jax
    import jax.numpy as jnp

    def mean(x):
        return x.mean(-1, keepdims=True)

    def layer_norm(x, g, b):
        centred = x - mean(x)
        return centred * jax.lax.rsqrt(mean(centred * centred) + 1e-5) * g + b

    def add_rmsnorm(x, r, g):
        h = x + r
        return h * jax.lax.rsqrt(mean(h * h) + 1e-6) * g, h

    def chain16(x):
        x = jnp.tanh(x)
        for scale, offset in CHAIN16:
            x = jnp.tanh(x * scale + offset)
        return x

    def layer_norm_backward(x, dy, g):
        centred = x - mean(x)
        r = jax.lax.rsqrt(mean(centred * centred) + 1e-5)
        h, dh = centred * r, dy * g
        return (dh - mean(dh) - h * mean(dh * h)) * r

    def rms_norm_backward(x, dy, g):
        r = jax.lax.rsqrt(mean(x * x) + 1e-5)
        h, dh = x * r, dy * g
        return (dh - h * mean(dh * h)) * r

    def cross_entropy(x, label):
        d = x - x.max(1, keepdims=True)
        picked = jnp.take_along_axis(d, label, axis=1)
        return jnp.log(jnp.exp(d).sum(1, keepdims=True)) - picked

    return {
        "chain4": lambda x, b, s, r: jax.nn.silu((x + b) * s) + r,
        "bias_gelu": lambda x, b: jax.nn.gelu(x + b, approximate=False),
        "softmax_4096": lambda x: jax.nn.softmax(x, axis=-1),
        "layer_norm_4096": layer_norm,
        "add_rmsnorm_4096": add_rmsnorm,
        "add_mul_add_relu": lambda x: jnp.maximum((x + 0.25) * 1.5 - 0.125, 0),
        "add_mul_add_relu_vectors": lambda x, b, s, r: jnp.maximum((x + b) * s + r, 0),
        "chain16": chain16,
        "softmax_backward": lambda y, dy: y * (dy - (y * dy).sum(1, keepdims=True)),
        "layer_norm_backward": layer_norm_backward,
        "rms_norm_backward": rms_norm_backward,
        "cross_entropy_32768": cross_entropy,
        "transpose_bias_gelu": lambda x, b: jax.nn.gelu(x.T + b, approximate=False),
        "full_sum": lambda x: x.sum(),
        "column_sum": lambda x: x.sum(0),
    }


# Short calls many at a time, so that the clock's steps do not count.
def median_ms(call, repeats=7):
    call()
    start = time.perf_counter()
    call()
    times = max(1, int(2e-3 / max(time.perf_counter() - start, 1e-7)))
    samples = []
    for _ in range(repeats):
        start = time.perf_counter()
        for _ in range(times):
            call()
        samples.append((time.perf_counter() - start) * 1e3 / times)
    return statistics.median(samples)


def time_numexpr(work, suffix, values, threads):
    text = numexpr_text(work)
    if text is None or suffix == "bf16":
        return None
    try:
        import numexpr
    except ImportError:
        return None
    numexpr.set_num_threads(threads)
    # Literals would be f64: they become f32 values with names.
    constants = {}

    def named(literal):
        name = f"c{len(constants)}"
        constants[name] = np.float32(literal)
        return name

    text = re.sub(r"\d+\.\d+", lambda literal: named(literal[0]), text)
    if text.startswith("sum"):
        return median_ms(lambda: numexpr.evaluate(text, {**values, **constants}))
    out = np.empty_like(values["x"])
    return median_ms(lambda: numexpr.evaluate(text, {**values, **constants}, out=out))


def time_jax(work, suffix, values):
    try:
        import jax
        import jax.numpy as jnp
    except ImportError:
        return None
    function = jax_functions()[work]
    half = suffix == "bf16"
    arrays = [
        jax.device_put(v.astype(jnp.bfloat16) if half and v.dtype == np.float32 else v)
        for v in values.values()
    ]
    # Unused arguments that are given away become the memory of the results, so that no call pays for
    # fresh pages.
    compiled = jax.jit(lambda _, *given: function(*given), donate_argnums=0, keep_unused=True)
    results = [jax.block_until_ready(jax.jit(function)(*arrays))]

    def call():
        results[0] = jax.block_until_ready(compiled(results[0], *arrays))

    return median_ms(call)


def run_ingot(build, threads, only):
    command = [os.path.join(build, "bench", "cpu_bench"), "--json", "--threads", str(threads)]
    for work in only:
        command += ["--only", work]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)["works"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default="build")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", action="append", default=[])
    arguments = parser.parse_args()
    # XLA has no option for its number of threads: it takes the cores of the process.
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: arguments.threads])
    os.environ["JAX_PLATFORMS"] = "cpu"

    def cell(milliseconds, fused):
        if milliseconds is None:
            return f"{'-':>9} {'-':>6}"
        return f"{milliseconds:9.3f} {milliseconds / fused:5.2f}x"

    print(
        f"{'work':29} {'separate':>9} {'fused ms':>9} {'of copy':>8}"
        f" {'NumExpr':>9} {'':>6} {'JAX':>9} {'':>6}"
    )
    for row in run_ingot(arguments.build, arguments.threads, arguments.only):
        work, _, suffix = row["work"].partition(".")
        if work not in INPUTS:
            print(f"{row['work']:29} no peer's form of it", file=sys.stderr)
            continue
        fused = row["fused_ms"]
        values = inputs(work, suffix)
        numexpr_ms = time_numexpr(work, suffix, values, arguments.threads)
        jax_ms = time_jax(work, suffix, values)
        print(
            f"{row['work']:29} {row['separate_ms']:9.3f} {fused:9.3f}"
            f" {row['percent_of_copy']:6.0f} % {cell(numexpr_ms, fused)} {cell(jax_ms, fused)}",
            flush=True,
        )


if __name__ == "__main__":
    main()
