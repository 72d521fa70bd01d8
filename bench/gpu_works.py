"""The works of bench/gpu/*.ingot for peers: each once, for PyTorch and for JAX.

A work is a list of inputs and a function of (m, *inputs), where m gives the words in which the two
libraries differ.
"""
import types

# name → (inputs, function). An input: dtype and shape; "ids:N": i64 below N; "mask": bool, 80 % true.
WORKS = {}


def work(name, *inputs):
    def add(function):
        WORKS[name] = (inputs, function)
        return function
    return add


def bias_gelu(m, x, b):
    return m.gelu(x + b)


def chain4(m, x, b, s, r):
    return m.silu((x + b) * s) + r


def chain16(m, x):
    for _ in range(4):
        t = m.tanh(x * 1.01 + 0.1)
        x = t * m.sigmoid(t)
    return x


def softmax(m, x):
    return m.softmax(x)


def layer_norm(m, x, g, b):
    return m.layer_norm(x, g, b)


def rms(m, x, g):
    f = m.f32(x)
    return m.bf16(f * m.rsqrt(m.row_mean(f * f) + 1e-6) * m.f32(g))


def rms_backward(m, dy, x, g, rstd):
    d, n = m.f32(dy), m.f32(x) * rstd
    w = d * m.f32(g)
    return m.bf16((w - n * m.row_mean(n * w)) * rstd), m.column_sum(d * n)


work("bias_gelu_bf16", "bf16 16384 8192", "bf16 8192")(bias_gelu)
for _type in ("bf16", "f32"):
    work(f"chain4_{_type}", f"{_type} 16384 8192", f"{_type} 8192", f"{_type} 8192",
         f"{_type} 16384 8192")(chain4)
work("chain16_f32", "f32 16384 8192")(chain16)
work("small_chain_bf16", "bf16 64 1024", "bf16 1024", "bf16 1024", "bf16 64 1024")(chain4)
work("softmax_4096_bf16", "bf16 32768 4096")(softmax)
work("softmax_65536_bf16", "bf16 2048 65536")(softmax)
for _rows, _length, _type in ((32768, 4096, "bf16"), (65536, 1024, "f32"), (1 << 20, 128, "bf16"),
                              (1 << 19, 256, "bf16"), (1 << 18, 512, "bf16")):
    work(f"layernorm_{_length}_{_type}", f"{_type} {_rows} {_length}", f"{_type} {_length}",
         f"{_type} {_length}")(layer_norm)
work("rmsnorm_16384_bf16", "bf16 8192 16384", "bf16 16384")(rms)
for _rows, _length in ((16384, 4096), (8192, 8192)):
    work(f"rmsnorm_bwd_{_rows}x{_length}_bf16", f"bf16 {_rows} {_length}",
         f"bf16 {_rows} {_length}", f"bf16 {_length}", f"f32 {_rows} 1")(rms_backward)


@work("dropmask_residual_bf16", "bf16 16384 8192", "bf16 8192", "mask 16384 8192",
      "bf16 16384 8192")
def _(m, x, b, keep, r):
    return (x + b) * keep * 1.25 + r


@work("softmax_scale_mask_4096_bf16", "bf16 32768 4096", "bf16 4096")
def _(m, x, mask):
    return m.bf16(m.softmax(m.f32(x * 0.125 + mask)))


@work("add_rmsnorm_4096_bf16", "bf16 32768 4096", "bf16 32768 4096", "bf16 4096")
def _(m, x, r, g):
    h = x + r
    return rms(m, h, g), h


@work("layernorm_bwd_4096_bf16", "bf16 32768 4096", "bf16 32768 4096", "bf16 4096", "f32 32768 1",
      "f32 32768 1")
def _(m, dy, x, g, mean, rstd):
    d, n = m.f32(dy), (m.f32(x) - mean) * rstd
    w = d * m.f32(g)
    dx = (w - (n * m.row_mean(n * w) + m.row_mean(w))) * rstd
    return m.bf16(dx), m.column_sum(d * n), m.column_sum(d)


@work("dgelu_colsum_bf16", "bf16 32768 4096", "bf16 32768 4096")
def _(m, dy, x):
    f = m.f32(x)
    slope = 0.5 * (1 + m.erf(f * 0.7071067811865476)) \
        + f * m.exp(-0.5 * f * f) * 0.3989422804014327
    d = m.f32(dy) * slope
    return m.bf16(d), m.column_sum(d)


@work("sumsq_full_f32", "f32 268435456")
def _(m, x):
    return (x * x).sum()


@work("cross_entropy_128k_bf16", "bf16 4096 128256", "ids:128256 4096")
def _(m, x, target):
    f = m.f32(x)
    return m.logsumexp(f) - m.pick(f, target)


@work("rope_bf16", "bf16 8 4096 32 128", "bf16 4096 1 64", "bf16 4096 1 64")
def _(m, q, c, s):
    a, b = q[..., :64], q[..., 64:]
    return m.concat(a * c - b * s, b * c + a * s)


@work("transpose_bias_gelu_bf16", "bf16 16 4096 2048", "bf16 4096")
def _(m, x, b):
    return m.gelu(m.swap(x) + b)


def torch_words():
    import torch
    from torch.nn import functional as F
    return types.SimpleNamespace(
        gelu=F.gelu, silu=F.silu, tanh=torch.tanh, sigmoid=torch.sigmoid, erf=torch.erf,
        exp=torch.exp, rsqrt=torch.rsqrt,
        softmax=lambda x: F.softmax(x, -1),
        layer_norm=lambda x, g, b: F.layer_norm(x, g.shape, g, b, 1e-5),
        f32=lambda x: x.float(), bf16=lambda x: x.to(torch.bfloat16),
        row_mean=lambda x: x.mean(-1, keepdim=True), column_sum=lambda x: x.sum(0),
        logsumexp=lambda x: torch.logsumexp(x, -1),
        pick=lambda x, ids: x.gather(1, ids[:, None])[:, 0],
        concat=lambda a, b: torch.cat((a, b), -1), swap=lambda x: x.transpose(-1, -2).contiguous())


def jax_words():
    import jax
    import jax.numpy as jnp

    def layer_norm(x, g, b):
        f = x.astype(jnp.float32)
        d = f - f.mean(-1, keepdims=True)
        n = d * jax.lax.rsqrt((d * d).mean(-1, keepdims=True) + 1e-5)
        return (n * g.astype(jnp.float32) + b.astype(jnp.float32)).astype(x.dtype)

    return types.SimpleNamespace(
        gelu=lambda x: jax.nn.gelu(x, approximate=False), silu=jax.nn.silu, tanh=jnp.tanh,
        sigmoid=jax.nn.sigmoid, erf=jax.lax.erf, exp=jnp.exp, rsqrt=jax.lax.rsqrt,
        softmax=jax.nn.softmax, layer_norm=layer_norm,
        f32=lambda x: x.astype(jnp.float32), bf16=lambda x: x.astype(jnp.bfloat16),
        row_mean=lambda x: x.mean(-1, keepdims=True), column_sum=lambda x: x.sum(0),
        logsumexp=lambda x: jax.nn.logsumexp(x, -1),
        pick=lambda x, ids: jnp.take_along_axis(x, ids[:, None], 1)[:, 0],
        concat=lambda a, b: jnp.concatenate((a, b), -1), swap=lambda x: x.swapaxes(-1, -2))
