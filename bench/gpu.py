#!/usr/bin/env python3
"""Times the works of bench/gpu on one GPU: ingot in its numerics modes, and its peers.

    gpu.py --build build --out bench/gpu-results.jsonl [--only PREFIX …] [--numerics exact,wide,fast]
           [--peers eager,inductor,xla]

One JSON object a line: work, peer, ms, bytes, gbs, flops, tflops, compile_s, relerr. `bytes` counts
each input read once and each output written once. Peer `copy` is a device copy of as many bytes.
A peer that is not installed is left out, with a note. Where the binary is missing it is built.

Each time is the median of bursts: calls one after the other over several sets of buffers, larger
than the second-level cache together, captured as one graph and timed by events (XLA: wall time of
20 calls, in a process of its own at the end). The others are timed work by work.
"""
import argparse
import glob
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

import gpu_works

HERE = pathlib.Path(__file__).resolve().parent
INGOT_PEERS = {"wide": "ingot", "exact": "ingot-exact", "fast": "ingot-fast"}
MIN_CALLS, SAMPLES, MAX_SETS = 4, 15, 256
L2_BYTES = 4 * 60 * 1000 * 1000


class Table:
    def __init__(self, path):
        self.file = open(path, "w", encoding="utf-8") if path else None
        self.rows = []

    def add(self, work, peer, ms=None, bytes_=None, **more):
        row = {"work": work, "peer": peer, "ms": ms, "bytes": bytes_, "gbs": None, "flops": 0,
               "tflops": None, "compile_s": None, "relerr": None, **more}
        if ms and bytes_:
            row["gbs"] = round(bytes_ / ms / 1e6, 1)
        if ms and row["flops"]:
            row["tflops"] = round(row["flops"] / ms / 1e9, 1)
        self.rows.append(row)
        if self.file:
            self.file.write(json.dumps(row) + "\n")
            self.file.flush()

    def of(self, work):
        return {row["peer"]: row for row in self.rows if row["work"] == work and row["ms"]}

    def print(self):
        peers = ["copy", "eager", "inductor", "xla", "ingot-exact", "ingot", "ingot-fast"]
        print(f"{'work':32}" + "".join(f"{peer:>19}" for peer in peers) + "   best peer / ingot")
        for work in dict.fromkeys(row["work"] for row in self.rows):
            found = self.of(work)
            copy = found.get("copy")
            line = f"{work:32}"
            for peer in peers:
                row = found.get(peer)
                share = "" if not row or not copy else f" {100 * copy['ms'] / row['ms']:5.1f} %"
                line += f"{'-' if not row else format(row['ms'], '.4f') + share:>19}"
            others = [found[p]["ms"] for p in ("eager", "inductor", "xla") if p in found]
            if others and "ingot" in found:
                line += f"   {min(others) / found['ingot']['ms']:.2f}"
            print(line, flush=True)


def note(text):
    print(f"note: {text}", file=sys.stderr, flush=True)


# ---- ingot

def run_ingot(program, work, numerics, repeats):
    """The object of `ingot bench --json`, or None with a note."""
    file = HERE / "gpu" / f"{work}.ingot"
    dims = file.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ").split()
    command = [program, "bench", str(file), "--device", "cuda", "--numerics", numerics, "--json",
               *dims, *(["--repeats", str(repeats)] if repeats else [])]
    start = time.time()
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        why = "its results differ by more than the mode allows" if result.returncode == 1 \
            else result.stderr.strip()[:500]
        note(f"{work}, {numerics}: {why}")
        return None, 0
    return json.loads(result.stdout), time.time() - start


def add_ingot(table, program, work, numerics, bytes_, repeats):
    report, seconds = run_ingot(program, work, numerics, repeats)
    if report is None:
        return
    fused = report["results"][1]
    ms = fused["kernel_us"]["median"] / 1e3
    table.add(work, INGOT_PEERS[numerics], round(ms, 5), bytes_,
              launches=fused["launches"], host_us=fused["host_us"]["median"],
              separate_ms=round(report["results"][0]["kernel_us"]["median"] / 1e3, 5),
              moved_bytes=fused["bytes"], copy_gbs=round(report["ceilings"]["copy_gbs"], 1),
              identical=report["identical"], wall_s=round(seconds, 1))


# ---- PyTorch

def make_torch(spec):
    import torch
    kind, *shape = spec.split()
    shape = [int(n) for n in shape]
    if kind.startswith("ids:"):
        return torch.randint(0, int(kind[4:]), shape, device="cuda")
    if kind == "mask":
        return torch.rand(shape, device="cuda") > 0.2
    values = torch.randn(shape, device="cuda")
    return values.to(torch.bfloat16) if kind == "bf16" else values


def byte_count(tensors):
    return sum(t.numel() * t.element_size() for t in tensors)


def as_tuple(result):
    return result if isinstance(result, tuple) else (result,)


def burst_ms(call, sets):
    """Median time of a call, by graphs of bursts over the sets of arguments."""
    import torch
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for arguments in sets[:2]:
            call(*arguments)
    torch.cuda.synchronize()
    rounds = -(-MIN_CALLS // len(sets))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(rounds):
            for arguments in sets:
                call(*arguments)
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    times = []
    for sample in range(SAMPLES + 3):
        start.record()
        graph.replay()
        end.record()
        end.synchronize()
        if sample >= 3:
            times.append(start.elapsed_time(end) / rounds / len(sets))
    del graph
    return statistics.median(times)


def add_torch(table, work, peers):
    """Rows of eager, inductor and copy; gives the bytes of the work."""
    import torch
    inputs, function = gpu_works.WORKS[work]
    words = gpu_works.torch_words()
    call = lambda *arguments: function(words, *arguments)  # noqa: E731
    first = [make_torch(spec) for spec in inputs]
    expected = as_tuple(call(*first))
    bytes_ = byte_count(first) + byte_count(expected)
    count = max(MIN_CALLS, min(MAX_SETS, -(-L2_BYTES // bytes_)))
    sets = [first] + [[t.clone() for t in first] for _ in range(count - 1)]

    # The driver copies some sizes at two thirds of the rate: the better of it and of a kernel.
    words_of_half = max(bytes_ // 8, 4)
    pairs = [torch.empty(2, words_of_half, dtype=torch.int32, device="cuda").random_()
             for _ in range(count)]
    copies = [lambda a: a[0].copy_(a[1]), lambda a: torch.bitwise_or(a[1], 0, out=a[0])]
    table.add(work, "copy", round(min(burst_ms(c, [(p,) for p in pairs]) for c in copies), 5),
              bytes_)
    del pairs
    if "eager" in peers:
        table.add(work, "eager", round(burst_ms(call, sets), 5), bytes_)
    if "inductor" in peers:
        torch._dynamo.reset()
        start = time.time()
        compiled = torch.compile(call, dynamic=False)
        got = as_tuple(compiled(*first))
        torch.cuda.synchronize()
        seconds = time.time() - start
        error = max(float(((a.float() - b.float()).norm() / b.float().norm()))
                    for a, b in zip(got, expected))
        table.add(work, "inductor", round(burst_ms(compiled, sets), 5), bytes_,
                  compile_s=round(seconds, 2), relerr=error)
    del sets, first, expected
    torch.cuda.empty_cache()
    return bytes_


def add_ceilings(table):
    import torch
    size = 4 << 30
    a, b = (torch.empty(size, dtype=torch.uint8, device="cuda").random_() for _ in range(2))
    table.add("ceiling_copy", "torch", burst_ms(lambda x, y: x.copy_(y), [(a, b)]), 2 * size)
    floats = a.view(torch.int32)
    table.add("ceiling_read", "torch", burst_ms(lambda x: x.amax(), [(floats,)]), size)
    del a, b, floats
    n = 8192
    x, y = (torch.randn(n, n, device="cuda").to(torch.bfloat16) for _ in range(2))
    table.add("ceiling_gemm_bf16", "cublas", burst_ms(lambda p, q: p @ q, [(x, y)]), None,
              flops=2 * n ** 3)
    del x, y
    torch.cuda.empty_cache()
    for row in table.rows:
        print(f"{row['work']:32}{row['ms']:10.4f} ms  {row['gbs'] or row['tflops']}", flush=True)


# ---- XLA

def xla_main(works):
    import jax
    import jax.numpy as jnp
    key = jax.random.PRNGKey(0)
    words = gpu_works.jax_words()
    for work in works:
        inputs, function = gpu_works.WORKS[work]
        arguments = []
        for spec in inputs:
            kind, *shape = spec.split()
            shape = [int(n) for n in shape]
            key, own = jax.random.split(key)
            if kind.startswith("ids:"):
                arguments.append(jax.random.randint(own, shape, 0, int(kind[4:])))
            elif kind == "mask":
                arguments.append(jax.random.uniform(own, shape) > 0.2)
            else:
                dtype = jnp.bfloat16 if kind == "bf16" else jnp.float32
                arguments.append(jax.random.normal(own, shape, jnp.float32).astype(dtype))
        call = jax.jit(lambda *a, function=function: function(words, *a))
        start = time.time()
        jax.block_until_ready(call(*arguments))
        seconds = time.time() - start
        times = []
        for _ in range(7):
            begin = time.perf_counter()
            results = [call(*arguments) for _ in range(20)]
            jax.block_until_ready(results)
            times.append((time.perf_counter() - begin) / 20 * 1e3)
            del results
        print(json.dumps({"work": work, "ms": round(statistics.median(times), 5),
                          "compile_s": round(seconds, 2)}), flush=True)
        del arguments


def add_xla(table, bytes_of):
    environment = {**os.environ, "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
                   "XLA_PYTHON_CLIENT_ALLOCATOR": "platform"}
    with subprocess.Popen([sys.executable, __file__, "--xla", *bytes_of], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as child:
        for line in child.stdout:
            if line.startswith("{"):
                row = json.loads(line)
                table.add(row["work"], "xla", row["ms"], bytes_of[row["work"]],
                          compile_s=row["compile_s"])
        errors = child.stderr.read()
    if child.returncode != 0:
        note(f"xla: {errors.strip()[-300:]}")


def has_module(name):
    return subprocess.run([sys.executable, "-c", f"import {name}"],
                          capture_output=True).returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build", help="build folder with the program")
    parser.add_argument("--out", help="file of the rows")
    parser.add_argument("--only", nargs="*", default=[], help="beginnings of works' names")
    parser.add_argument("--numerics", default="exact,wide,fast")
    parser.add_argument("--peers", default="eager,inductor,xla")
    parser.add_argument("--repeats", type=int, default=0)
    parser.add_argument("--xla", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.xla:
        return xla_main(options.xla)
    program = pathlib.Path(options.build) / "ingot"
    if not program.exists():
        subprocess.run(["make", "-C", str(HERE.parent), "build"], check=True)
    peers = [peer for peer in options.peers.split(",") if peer]
    torch_here = has_module("torch")
    if not torch_here:
        note("PyTorch is not installed: no ceilings, no eager, no inductor; bytes are ingot's")
    if "xla" in peers and not has_module("jax"):
        note("JAX is not installed: no xla")
        peers.remove("xla")
    works = [pathlib.Path(file).stem for file in sorted(glob.glob(str(HERE / "gpu" / "*.ingot")))]
    works = [work for work in works
             if not options.only or any(work.startswith(prefix) for prefix in options.only)]

    table = Table(options.out)
    if torch_here:
        add_ceilings(table)
    bytes_of = {}
    for work in works:
        bytes_ = add_torch(table, work, peers) if torch_here else None
        for numerics in options.numerics.split(","):
            add_ingot(table, str(program), work, numerics, bytes_, options.repeats)
        bytes_of[work] = bytes_
    if "xla" in peers:
        add_xla(table, bytes_of)
    table.print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
