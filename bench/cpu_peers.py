"""The works of cpu_bench in NumExpr and in JAX (XLA:CPU), medians of several runs.

    python3 bench/cpu_peers.py --build build --threads 2 [--only WORK]...

Runs build/bench/cpu_bench first and then the peers, so that all figures come from one run, and
prints one table. A peer that is not installed, or cannot express a work, is "-": NumExpr has no
erf and no reductions along one dimension inside an expression.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

import numpy as np


def random(*shape):
    return np.random.default_rng(len(shape)).standard_normal(shape, dtype=np.float32)


# Inputs by the name of the work; the same shapes as in cpu_bench.cpp.
def inputs(work):
    wide, row = (4096, 16384), (16384,)
    tall = (16384, 4096)
    return {
        "chain4": lambda: dict(x=random(*wide), b=random(*row), s=random(*row), r=random(*wide)),
        "bias_gelu": lambda: dict(x=random(*wide), b=random(*row)),
        "softmax_4096": lambda: dict(x=random(*tall)),
        "layer_norm_4096": lambda: dict(x=random(*tall), g=random(4096), b=random(4096)),
        "add_rmsnorm_4096": lambda: dict(x=random(*tall), r=random(*tall), g=random(4096)),
        "add_mul_add_relu": lambda: dict(x=random(*wide)),
        "add_mul_add_relu_vectors": lambda: dict(
            x=random(*wide), b=random(*row), s=random(*row), r=random(*row)
        ),
    }[work]()


NUMEXPR = {
    "chain4": "(x + b) * s / (1 + exp(-(x + b) * s)) + r",
    "add_mul_add_relu": "where((x + 0.25) * 1.5 - 0.125 > 0, (x + 0.25) * 1.5 - 0.125, 0)",
    "add_mul_add_relu_vectors": "where((x + b) * s + r > 0, (x + b) * s + r, 0)",
}


def jax_functions():
    import jax
    import jax.numpy as jnp

    def layer_norm(x, g, b):
        centred = x - x.mean(-1, keepdims=True)
        return centred * jax.lax.rsqrt((centred * centred).mean(-1, keepdims=True) + 1e-5) * g + b

    def add_rmsnorm(x, r, g):
        h = x + r
        return h * jax.lax.rsqrt((h * h).mean(-1, keepdims=True) + 1e-6) * g, h

    return {
        "chain4": lambda x, b, s, r: jax.nn.silu((x + b) * s) + r,
        "bias_gelu": lambda x, b: jax.nn.gelu(x + b, approximate=False),
        "softmax_4096": lambda x: jax.nn.softmax(x, axis=-1),
        "layer_norm_4096": layer_norm,
        "add_rmsnorm_4096": add_rmsnorm,
        "add_mul_add_relu": lambda x: jnp.maximum((x + 0.25) * 1.5 - 0.125, 0),
        "add_mul_add_relu_vectors": lambda x, b, s, r: jnp.maximum((x + b) * s + r, 0),
    }


def median_ms(call, repeats=7):
    call()
    call()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times)


def time_numexpr(work, values, threads):
    try:
        import numexpr
    except ImportError:
        return None
    expression = NUMEXPR.get(work)
    if expression is None:
        return None
    numexpr.set_num_threads(threads)
    out = np.empty_like(values["x"])
    compiled_for_f32 = expression.replace("0.25", "q").replace("1.5", "m").replace("0.125", "e")
    constants = dict(q=np.float32(0.25), m=np.float32(1.5), e=np.float32(0.125))
    return median_ms(lambda: numexpr.evaluate(compiled_for_f32, {**values, **constants}, out=out))


def time_jax(work, values):
    try:
        import jax
    except ImportError:
        return None
    function = jax_functions().get(work)
    if function is None:
        return None
    # Unused arguments that are given away become the memory of the results, so that no call pays for
    # fresh pages.
    compiled = jax.jit(lambda _, *arrays: function(*arrays), donate_argnums=0, keep_unused=True)
    arrays = [jax.device_put(value) for value in values.values()]
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
        return f"{milliseconds:9.2f} {milliseconds / fused:5.2f}x"

    print(
        f"{'work':26} {'separate':>9} {'fused ms':>9} {'of copy':>8}"
        f" {'NumExpr':>9} {'':>6} {'JAX':>9} {'':>6}"
    )
    for row in run_ingot(arguments.build, arguments.threads, arguments.only):
        work, fused = row["work"], row["fused_ms"]
        try:
            values = inputs(work)
        except KeyError:
            print(f"{work:26} no peer's form of it", file=sys.stderr)
            continue
        numexpr_ms = time_numexpr(work, values, arguments.threads)
        jax_ms = time_jax(work, values)
        print(
            f"{work:26} {row['separate_ms']:9.2f} {fused:9.2f} {row['percent_of_copy']:6.0f} %"
            f" {cell(numexpr_ms, fused)} {cell(jax_ms, fused)}",
            flush=True,
        )


if __name__ == "__main__":
    main()
