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
from torch_networks import Paper, Small, cosine_schedule


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


# -------- samplers --------


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
