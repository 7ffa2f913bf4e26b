#!/usr/bin/env python3
"""The same networks in plain PyTorch, written from docs/spec/model.md and docs/spec/anchor.md: equal results
are checked, then both sides run in turn and the ratios of the medians are printed.

    python3 -m venv /tmp/torch && /tmp/torch/bin/pip install torch numpy
    /tmp/torch/bin/python bench/compare_torch.py build/bin/bench/peer --threads 2

Weights, inputs and our results come from bench/peer. PyTorch gets inference_mode, fused attention,
fused AdamW and as many threads as we have; whatever it can share between samples without another
design of the network (25 as one batch) it shares. "The reference's way" is also timed for forecasts at
paper size: one sample at a time, attention as two products and a softmax. With --device cuda both run on the
GPU, ours in the precision that --precision names, PyTorch forecasting in floats and training in tf32, and
both with autocast to bf16; forecasts at paper size are then whole."""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import torch
import torch.nn.functional as F


def load_file(path):
    """The tensors of a safetensors file, copied."""
    with open(path, "rb") as f:
        header = json.loads(f.read(int.from_bytes(f.read(8), "little")))
        data = bytearray(f.read())
    types = {"F32": torch.float32, "I32": torch.int32}
    return {
        name: torch.frombuffer(data[slice(*t["data_offsets"])], dtype=types[t["dtype"]]).reshape(t["shape"])
        for name, t in header.items()
        if name != "__metadata__"
    }


class Net:
    """Tensors of a file by name, and the layers that read them."""

    def __init__(self, w, heads=4, dropout=0.0, fused=True):
        self.w, self.heads, self.dropout, self.fused = w, heads, dropout, fused

    def linear(self, name, x):
        return F.linear(x, self.w[name + ".weight"], self.w.get(name + ".bias"))

    def norm(self, name, x):
        return F.layer_norm(x, x.shape[-1:], self.w[name + ".weight"], self.w[name + ".bias"])

    def mlp(self, name, x):
        return self.linear(name + ".2", F.gelu(self.linear(name + ".0", x)))

    def drop(self, x):
        return F.dropout(x, self.dropout) if self.dropout > 0 else x

    def attend(self, q, k, v, drop=0.0):
        def split(x):
            return x.unflatten(-1, (self.heads, -1)).transpose(-3, -2)

        q, k, v = split(q), split(k), split(v)
        if self.fused:
            y = F.scaled_dot_product_attention(q, k, v, dropout_p=drop)
        else:
            y = torch.softmax(q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5, -1) @ v
        return y.transpose(-3, -2).flatten(-2)

    def ada(self, name, x, c):
        s, b = self.linear(name + ".to_ss.1", F.silu(c)).chunk(2, -1)
        return torch.addcmul(b[:, None], 1 + s[:, None], F.layer_norm(x, x.shape[-1:]))

    def project(self, name, x, i):
        h = x.shape[-1]
        part = slice(i * h, (i + 1) * h)
        return F.linear(x, self.w[name + ".in_proj_weight"][part], self.w[name + ".in_proj_bias"][part])

    # docs/spec/model.md 4.2, 4.3, 4.4

    def poles(self, c):
        d = 0.5 * torch.tanh(self.linear("model.analysis.to_poles.1", F.silu(c)))
        d_rho, d_om = d.chunk(2, -1)
        rho = F.softplus(self.w["model.analysis._rho_raw"] + d_rho) + 1e-6
        p = torch.sigmoid(self.w["model.analysis._omega_raw"]).clamp(1e-4, 1 - 1e-4)
        return rho, torch.pi * torch.sigmoid(torch.log(p) - torch.log(1 - p) + d_om)

    def basis(self, tq, rho, omega):
        decay, angle = torch.exp(-tq[..., None] * rho[:, None]), tq[..., None] * omega[:, None]
        return torch.cat([decay * torch.cos(angle), decay * torch.sin(angle)], -1)

    def pole_tokens(self, rho, omega):
        b, k = rho.shape
        kind = torch.cat([torch.zeros(k), torch.ones(k)]).expand(b, 2 * k)
        f = torch.stack([rho.repeat(1, 2), omega.repeat(1, 2), kind], -1)
        x = self.mlp("model.analysis.pole_embedding", f) + self.w["model.analysis.comp_emb"]
        return self.norm("model.analysis.q_norm", x)

    # one block, docs/spec/model.md 4.6

    def cross(self, name, x, e, tau):
        if name + ".norm_kv.to_ss.1.weight" in self.w:
            e = self.ada(name + ".norm_kv", e, tau)
        q = self.linear(name + ".q", self.ada(name + ".norm_q", x, tau))
        k, v = self.linear(name + ".kv", e).chunk(2, -1)
        return x + self.drop(self.linear(name + ".proj", self.attend(q, k, v)))

    def self_block(self, name, x, tau):
        q, k, v = self.linear(name + ".qkv", self.ada(name + ".norm1", x, tau)).chunk(3, -1)
        x = x + self.drop(self.linear(name + ".proj", self.attend(q, k, v)))
        up = self.drop(F.gelu(self.linear(name + ".mlp.0", self.ada(name + ".norm2", x, tau))))
        return x + self.drop(self.linear(name + ".mlp.3", up))


class Paper(Net):
    """The reference profile, docs/spec/model.md 4."""

    layers = 5

    def spectral(self, name, x, iterate):
        w, u, v = (self.w[f"{name}.weight_{p}"] for p in ("orig", "u", "v"))
        if iterate:
            with torch.no_grad():
                v = F.normalize(w.t() @ u, dim=0, eps=1e-12)
                u = F.normalize(w @ v, dim=0, eps=1e-12)
                self.w[name + ".weight_u"], self.w[name + ".weight_v"] = u, v
        return F.linear(x, w / torch.dot(u, w @ v), self.w[name + ".bias"])

    def forward(self, z, t, tq, e, iterate=False):
        tau = F.silu(self.w["time_embed.weight"][t])
        pool = torch.zeros_like(tau) if e is None else e.mean(1)
        rho, omega = self.poles(torch.cat([tau, pool], -1))
        a, att = self.basis(tq, rho, omega), "model.analysis.attention"
        k = self.norm("model.analysis.k_norm", self.mlp("model.analysis.time_key_proj", tq[..., None]))
        v = self.norm("model.analysis.v_norm", self.linear("model.analysis.value_proj", z))
        y = self.attend(self.project(att, self.pole_tokens(rho, omega), 0), self.project(att, k, 1),
                        self.project(att, v, 2))
        theta = self.linear("model.analysis.out_proj", self.linear(att + ".out_proj", y))
        for i in range(self.layers):
            name = f"model.blocks.{i}"
            x = self.linear(name + ".coef2hid", theta) + self.w[name + ".mode_pos"] + tau[:, None]
            if e is not None:
                x = self.cross(name + ".cross_blk", x, e, tau)
            theta = theta + self.linear(name + ".hid2coef", self.self_block(name + ".self_blk", x, tau))
        y = a @ theta
        gate, u = self.spectral("model.synthesis.mlp_in", self.norm("model.synthesis.norm", y), iterate).chunk(2, -1)
        y = y + self.spectral("model.synthesis.mlp_out", u * F.gelu(gate), iterate)
        return self.w["model.output_skip_scale"] * y + self.linear("model.head_proj", self.norm("model.head_norm", y))

    def loss(self, d):
        """docs/spec/model.md 5.4: conditional rows and the others are two forwards."""
        abar = cosine_schedule()[d["t"].long()]
        a, s = abar.sqrt()[:, None, None], (1 - abar).sqrt()[:, None, None]
        z_t, target = a * d["z0"] + s * d["eps"], a * d["eps"] - s * d["z0"]
        total = 0.0
        for part, e in ((d["conditional"] > 0.5, d["E"]), (d["conditional"] < 0.5, None)):
            pred = self.forward(z_t[part], d["t"].long()[part], d["tq"][part],
                                None if e is None else e[part], iterate=True)
            m = d["mask"][part][..., None]
            err = (m * (pred - target[part]) ** 2).sum((1, 2)) / (target.shape[-1] * m.sum((1, 2))).clamp(min=1)
            q = abar[part].clamp(1e-6, 1 - 1e-6)
            snr = q / (1 - q)
            w = snr.clamp(max=5.0) / (snr + 1)
            total = total + (w / w.mean() * err).sum() / len(abar)
        return total


class Small(Net):
    """The default profile, docs/spec/anchor.md 8.4, 8.5."""

    layers = 2

    def summary(self, d):
        x = self.linear("summarizer.in", d["tokens"]) + self.w["summarizer.position"]
        for i in range(2):
            name = f"summarizer.layers.{i}"
            u, att = self.norm(name + ".norm1", x), name + ".self_attn"
            q, k, v = F.linear(u, self.w[att + ".in_proj_weight"], self.w[att + ".in_proj_bias"]).chunk(3, -1)
            x = x + self.drop(self.linear(att + ".out_proj", self.attend(q, k, v, self.dropout)))
            up = self.drop(F.gelu(self.linear(name + ".linear1", self.norm(name + ".norm2", x))))
            x = x + self.drop(self.linear(name + ".linear2", up))
        return self.norm("summarizer.norm", x)

    def forward(self, z, time_, tq, f, e):
        freq = 0.5 * torch.pi * 200.0 ** (torch.arange(32) / 31)
        angle = time_[:, None] * freq
        waves = torch.cat([torch.sin(angle), torch.cos(angle)], -1)
        tau = self.linear("time_mlp.2", F.silu(self.linear("time_mlp.0", waves)))
        rho, omega = self.poles(torch.cat([tau, e.mean(1)], -1))
        a, att = self.basis(tq, rho, omega), "model.analysis.attention"
        q = self.pole_tokens(rho, omega)
        key = torch.cat([tq[..., None] / 168, torch.log(1 + tq[..., None]) / 5, f], -1)
        k = self.norm("model.analysis.k_norm", self.mlp("model.analysis.time_key_proj", key))
        v = self.norm("model.analysis.v_norm", self.linear("model.analysis.value_proj", torch.cat([z, f], -1)))
        y = self.attend(self.project(att, q, 0), self.project(att, k, 1), self.project(att, v, 2))
        x = 0.5 * q + self.linear(att + ".out_proj", y) + tau[:, None]
        for i in range(self.layers):
            name = f"model.blocks.{i}"
            x = self.cross(name + ".cross_blk", x, e, tau)
            x = self.self_block(name + ".self_blk", x, tau)
        theta = self.linear("model.hid2coef", self.norm("model.token_norm", x))
        y = a @ theta / (rho.shape[-1] ** 0.5)
        seen = torch.cat([self.norm("model.head_norm", y), z, f], -1)
        gate = F.linear(tau, self.w["model.local.tau.weight"])[:, None]
        g, u = (self.linear("model.local.in", seen) + gate).chunk(2, -1)
        return self.linear("model.head_proj", y) + self.linear("model.local.out", u * F.gelu(g))

    def loss(self, d):
        angle = 0.5 * torch.pi * d["time"][:, None, None]
        a, s = torch.cos(angle), torch.sin(angle)
        z_t, target = a * d["z0"] + s * d["eps"], a * d["eps"] - s * d["z0"]
        pred = self.forward(z_t, d["time"], d["tq"], d["f"], self.summary(d))
        m = d["mask"][..., None]
        err = (m * (pred - target) ** 2).sum((1, 2)) / (target.shape[-1] * m.sum((1, 2))).clamp(min=1)
        return err.mean()


# -------- samplers --------


def cosine_schedule(n=1000):
    """docs/spec/model.md 5.2."""
    x = torch.linspace(0, 1, n)
    f = torch.cos((x + 0.008) / 1.008 * torch.pi * 0.5) ** 2
    f = f / f[0]
    alpha = torch.cat([torch.ones(1), (f[1:] / f[:-1]).clamp(1e-8, 0.999999)])
    beta = (1 - alpha).clamp(1e-8, 0.999)
    beta[0] = 0
    return torch.cumprod((1 - beta).clamp(1e-12, 1).double(), 0).float()


REFERENCE = [999, 998, 997, 996, 995, 994, 993, 991, 989, 987, 983, 979, 974, 966, 957, 943, 925, 900, 866, 818, 752,
             664, 554, 431, 311, 210, 133, 80, 45, 23, 10, 4, 1]


def sample_paper(net, d, first, rows):
    """docs/spec/model.md 6.2: DDIM, guidance 1 to 2 with power 0.3 and rescaling; rows of x at a time."""
    abar, out = cosine_schedule(), []
    steps = REFERENCE[:first] if first else REFERENCE
    for x in d["x"].flatten(0, 1).split(rows):
        b = len(x)
        tq, e = d["tq"].expand(b, -1), d["E"].expand(b, -1, -1)
        for i, t in enumerate(steps):
            at = torch.full((b,), t)
            pc, pu = net.forward(x, at, tq, e), net.forward(x, at, tq, None)
            g = 1 + float(abar[t]) ** 0.3
            pr = pu + g * (pc - pu)
            m, s = pr.mean((1, 2), True), pr.std((1, 2), keepdim=True).clamp(min=1e-6)
            pr = (pr - m) / s * pc.std((1, 2), keepdim=True).clamp(min=1e-6) + pc.mean((1, 2), True)
            a, sg = abar[t].sqrt(), (1 - abar[t]).sqrt()
            x0, ep = a * x - sg * pr, sg * x + a * pr
            if i + 1 < len(steps):
                n = abar[steps[i + 1]]
                x = n.sqrt() * x0 + (1 - n).clamp(min=0).sqrt() * ep
        out.append(x0)
    return torch.cat(out)


def sample_small(net, d, first, rows):
    """docs/spec/anchor.md 8.8: DPM-Solver++(2M), 12 steps, v, |x0| <= 6."""
    e1, out, n = net.summary(d), [], 12
    high, low = (torch.log(torch.tan(torch.tensor(0.5 * torch.pi * t, dtype=torch.float64))) for t in (0.995, 0.005))
    for x in d["x"].flatten(0, 1).split(rows):
        b = len(x)
        tq, f, e = d["tq"].expand(b, -1), d["f"].expand(b, -1, -1), e1.expand(b, -1, -1)
        last = last_lam = None
        for i in range(first or n):
            lam = -(high + (low - high) * i / n)
            angle = torch.atan(torch.exp(-lam))
            a, s = float(torch.cos(angle)), float(torch.sin(angle))
            v = net.forward(x, torch.full((b,), float(angle) / (0.5 * torch.pi)), tq, f, e)
            x0 = (a * x - s * v).clamp(-6, 6)
            if i + 1 < (first or n):
                nxt = -(high + (low - high) * (i + 1) / n)
                an = torch.atan(torch.exp(-nxt))
                step = float(nxt - lam)
                r = None if last is None else float(lam - last_lam) / step
                dd = x0 if last is None else (1 + 1 / (2 * r)) * x0 - 1 / (2 * r) * last
                e_h = 2.718281828459045 ** (-step) - 1
                x = float(torch.sin(an)) / s * x - float(torch.cos(an)) * e_h * dd
                last, last_lam = x0, lam
        out.append(x0)
    return torch.cat(out)


# -------- training --------


class Trainer:
    """Loss, gradients, clipping to 1, AdamW and EMA."""

    def __init__(self, kind, w, d, dropout, half=False):
        self.half = half  # the forward pass in bf16
        buffers = (".weight_u", ".weight_v")
        self.p = {k: v.clone().requires_grad_(not k.endswith(buffers)) for k, v in w.items()}
        self.net, self.d = kind(dict(self.p), dropout=dropout), d
        self.list = [v for v in self.p.values() if v.requires_grad]
        self.ema = [v.detach().clone() for v in self.list]
        self.opt = torch.optim.AdamW(self.list, lr=1e-4, weight_decay=5e-4, fused=True)

    def step(self):
        self.opt.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled=self.half):
            loss = self.net.loss(self.d)
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(self.list, 1.0, foreach=True)
        self.opt.step()
        with torch.no_grad():
            torch._foreach_lerp_(self.ema, self.list, 0.001)
        return float(loss.detach()), float(norm)


# -------- our side --------


class Peer:
    def __init__(self, program, case, threads, how="", device=None):
        self.wall = clock is time.perf_counter
        self.path = tempfile.mktemp(suffix=".safetensors")
        words = [program, *map(str, case), str(threads), self.path] + ([how] if how else [])
        words += ["device", *device] if device else []
        passive = dict(os.environ, OMP_WAIT_POLICY="passive")  # as llapdiff sets it for itself
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=passive)
        self.note = self.process.stdout.readline().split()
        if not self.note:
            sys.exit("compare_torch: " + " ".join(words) + " failed")
        before, after = load_file(self.path), load_file(self.path + ".after")
        if device:
            before, after = ({k: v.to(device[0]) for k, v in x.items()} for x in (before, after))
        self.w = {k[2:]: v for k, v in before.items() if k.startswith("w.")}
        self.d = {k[3:]: v for k, v in before.items() if k.startswith("in.")}
        self.out = {k[4:]: v for k, v in after.items() if k.startswith("out.")}
        self.after = {k[2:]: v for k, v in after.items() if k.startswith("w.")}
        for p in (self.path, self.path + ".after"):
            os.remove(p)

    def run(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        wall, processor = map(float, self.process.stdout.readline().split())
        return wall if self.wall else processor

    def close(self):
        self.process.stdin.close()
        self.process.wait()


clock = time.perf_counter


def finish():
    if torch.cuda.is_initialized():
        torch.cuda.synchronize()


def timed(f):
    finish()
    start = clock()
    f()
    finish()
    return clock() - start


def autocast(run):
    def inner(*args):
        with torch.autocast("cuda", dtype=torch.bfloat16):
            return run(*args)

    return inner


def check(what, ours, theirs, limit):
    err = float((ours - theirs).abs().max() / theirs.abs().max().clamp(min=1e-6))
    print(f"  {what}: largest difference {err:.1e} of the largest value (limit {limit:.0e})")
    if not err <= limit:
        sys.exit(f"compare_torch: {what}: results differ")


def report(title, ours, others):
    m = statistics.median(ours)
    print(f"{title}: ours {m * 1e3:.1f} ms ({min(ours) * 1e3:.1f} to {max(ours) * 1e3:.1f})")
    for name, t in others:
        print(f"  PyTorch, {name}: {statistics.median(t) * 1e3:.1f} ms "
              f"({min(t) * 1e3:.1f} to {max(t) * 1e3:.1f}), {statistics.median(t) / m:.2f} times ours")
    sys.stdout.flush()


def forecast(args, title, size, samples, latent, first, repeats, how=""):
    device = None if args.device == "cpu" else (args.device, args.precision)
    limit = 2e-5 if device is None else {"fp32": 1e-4, "tf32": 4e-3, "bf16": 3e-2}[args.precision]
    peer = Peer(args.peer, ["forecast", size, 1, samples, 168, latent, first], args.threads, how, device)
    kind = Paper if size == "paper" else Small
    net, plain = kind(peer.w), kind(peer.w, fused=False)
    run = sample_paper if size == "paper" else sample_small
    with torch.inference_mode():
        batch = run(net, peer.d, first, samples)
        check("samples", peer.out["samples"].flatten(0, 1), batch, limit)
        ours, one, all_, way, half = [], [], [], [], []
        if device:
            for _ in range(3):
                peer.run()
                autocast(run)(net, peer.d, first, samples)
        for _ in range(repeats):
            ours.append(peer.run())
            all_.append(timed(lambda: run(net, peer.d, first, samples)))
            if device:
                half.append(timed(lambda: autocast(run)(net, peer.d, first, samples)))
            elif samples > 1:
                one.append(timed(lambda: run(net, peer.d, first, 1)))
            if size == "paper" and not device:
                way.append(timed(lambda: run(plain, peer.d, first, 1)))
    peer.close()
    rate = 2e-9 * float(peer.note[3]) / statistics.median(ours)
    others = [(f"one batch of {samples}", all_)] + ([(f"{samples} runs of batch 1", one)] if one else [])
    others += [("the reference's way: one by one, attention not fused", way)] if way else []
    others += [("bf16 autocast", half)] if half else []
    report(f"{title}, {peer.note[1]} steps, {rate:.0f} GFLOP/s executed", ours, others)


def training(args, title, size, rows, latent, horizon, repeats):
    device = None if args.device == "cpu" else (args.device, args.precision)
    limit = 1e-5 if device is None else {"fp32": 1e-4, "tf32": 1e-2, "bf16": 5e-2}[args.precision]
    case = ["step", size, rows, 1, horizon, latent, 0]
    kind, peer = (Paper if size == "paper" else Small), None
    peer = Peer(args.peer, case, args.threads, "dropout" if size != "paper" and device is None else "", device)
    t = Trainer(kind, peer.w, peer.d, 0.0)
    loss, norm = t.step()
    check("loss", peer.out["loss"], torch.tensor([loss]), limit)
    check("gradient norm", peer.out["grad_norm"], torch.tensor([norm]), limit)
    name = "model.blocks.0.self_blk.qkv.weight"
    if device is None:  # the first step of Adam moves by the sign alone
        check("moved weights", peer.after[name] - peer.w[name], t.p[name].detach() - peer.w[name], 2e-2)
    drop = 0.1 if size != "paper" and device is None else 0.0
    names = ["the same step"] if device is None else ["tf32", "bf16 autocast"]
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = device is not None
    trainers = [Trainer(kind, peer.w, peer.d, drop, half=k == 1) for k in range(len(names))]
    ours, theirs = [], [[] for _ in names]
    for t in trainers:
        for _ in range(1 if device is None else 5):
            t.step()
    for _ in range(1 if device is None else 5):
        peer.run()
    for _ in range(repeats):
        ours.append(peer.run())
        for t, times in zip(trainers, theirs):
            times.append(timed(t.step))
    peer.close()
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    rate = 2e-9 * float(peer.note[3]) / statistics.median(ours)
    report(f"{title}, {rate:.0f} GFLOP/s", ours, list(zip(names, theirs)))


# -------- bare products --------


def shape_of(kind, m, n, k):
    """One call of what bench/shapes.c times under that name, and its floating-point operations."""
    x = torch.randn
    if kind.startswith("attention"):
        q, key, v = (x(m, rows, 4, 64).transpose(1, 2) for rows in (n, k, k))
        if kind == "attention":
            return lambda: F.scaled_dot_product_attention(q, key, v), 1024 * m * n * k
        with torch.enable_grad():
            all_ = [t.requires_grad_() for t in (q, key, v)]
            y = F.scaled_dot_product_attention(*all_)
        dy = torch.randn_like(y)
        return lambda: torch.autograd.grad(y, all_, dy, retain_graph=True), 2560 * m * n * k
    if kind == "mlp":  # its second layer not folded: 256 columns
        a, w, b, w2 = x(m, k), x(n, k), x(n), x(256, n)
        return (lambda: F.linear(F.gelu(F.linear(F.layer_norm(a, (k,)), w, b)), w2)), 2 * m * n * (k + 256)
    if kind == "linear":
        a, w = x(m, k), x(n, k)
        return lambda: F.linear(a, w), 2 * m * n * k
    a, w = (x(m, k) if kind == "x w" else x(k, m).t()), x(k, n)
    return lambda: a @ w, 2 * m * n * k


def shapes(seconds):
    listed = "512,256,256 512,768,256 12800,256,256 12800,768,256 5120,1024,256 5120,256,1024"
    cases = [("linear", *map(int, c.split(","))) for c in listed.split()]
    cases += [("x w", 5120, 256, 1024), ("x w", 5120, 256, 768), ("x w", 5120, 1024, 24)]
    cases += [("x^T y", 1024, 256, 5120), ("x^T y", 768, 256, 5120), ("x^T y", 256, 256, 5120), ("x^T y", 24, 1024, 5120)]
    cases += [("mlp", 512, 1024, 256), ("mlp", 12800, 1024, 256)]
    cases += [("attention", b, 512, k) for b in (1, 25) for k in (512, 336)]
    cases += [("attention's gradient", 10, 512, k) for k in (512, 336)]
    for kind, m, n, k in cases:
        run, flop = shape_of(kind, m, n, k)
        rates = []
        for threads in (1, 2):
            torch.set_num_threads(threads)
            run()
            times, end = [], clock() + seconds
            while clock() < end or len(times) < 3:
                times.append(timed(run))
            rates.append(1e-9 * flop / statistics.median(times))
        print(f"{kind:<21} {m:5} x {n:4} x {k:4}  {rates[0]:6.1f} {rates[1]:6.1f}", flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("peer", nargs="?", help="the program bench/peer")
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--repeats", type=int, default=5)
    p.add_argument("--full", action="store_true",
                   help="all 33 steps at paper size (minutes), not the first one; on a GPU always")
    p.add_argument("--processor-time", action="store_true",
                   help="of all threads, instead of the wall's: for one thread on a machine that others use")
    p.add_argument("--shapes", type=float, metavar="SECONDS", help="instead, PyTorch's rates of what bench/shapes times")
    p.add_argument("--only", default="", help="cases whose title contains this")
    p.add_argument("--device", default="cpu", help="cpu or cuda")
    p.add_argument("--precision", default="fp32", help="ours on a GPU: fp32, tf32 or bf16")
    args = p.parse_args()
    torch.set_default_device(args.device)
    global clock
    if args.processor_time:
        clock = time.process_time
    torch.set_num_threads(args.threads)
    torch.set_grad_enabled(True)
    if args.shapes:
        with torch.no_grad():
            return shapes(args.shapes)
    cuda = args.device != "cpu"
    first = 0 if args.full or cuda else 1
    n = args.repeats
    cases = [
        ("small forecast, 25 samples", lambda t: forecast(args, t, "small", 25, 1, 0, n)),
        ("small forecast, 1 sample", lambda t: forecast(args, t, "small", 1, 1, 0, n)),
        ("small training step, 128 rows, Z=12, h=24", lambda t: training(args, t, "small", 128, 12, 24, n)),
        ("small training step, 128 rows, Z=1, h=168", lambda t: training(args, t, "small", 128, 1, 168, n)),
        ("paper forecast, 25 samples", lambda t: forecast(args, t, "paper", 25, 24, first, n)),
        ("paper forecast, 1 sample", lambda t: forecast(args, t, "paper", 1, 24, first, n)),
        ("paper training step, 10 rows", lambda t: training(args, t, "paper", 10, 24, 168, n)),
    ]
    if cuda:
        cases += [(f"paper training step, {rows} rows", lambda t, rows=rows: training(args, t, "paper", rows, 24, 168, n))
                  for rows in (64, 256)]
    else:  # a model's first forecast finds nothing kept
        title = "paper forecast, 1 sample, first window"
        cases += [(title, lambda t: forecast(args, t, "paper", 1, 24, first, n, "forget"))]
    print(f"PyTorch {torch.__version__}, {args.threads} threads, medians of {n} interleaved runs")
    for title, run in cases:
        if args.only in title:
            print(title)
            run(title)


if __name__ == "__main__":
    main()
