#!/usr/bin/env python3
"""DLinear beside the same model in PyTorch, trained by the same recipe on one hourly series.

    python3 bench/rivals_torch.py build/bin/llapdiff air.csv.gz T [--steps 1500] [--seeds 3]

Both learn from the first 70 % of the time, choose their step by the next 10 % and forecast the last 20 % from the same
origins; CRPS of 25 quantiles and MAE of the median, in deviations of the training part, by seed. The file has one entity
and a row for every hour. The model is written from docs/spec/rivals.md 2 and 3. PyTorch: Debian's python3-torch, or pip.
"""
import argparse
import csv
import gzip
import math
import os
import statistics
import subprocess
import tempfile
from datetime import datetime, timedelta

import torch
from torch import nn

Q, NUMBERS = 25, 4
LEVELS = [(k + 0.5) / Q for k in range(Q)]


def read(path, column):
    """Times, values (NaN: missing)."""
    with gzip.open(path, "rt") if path.endswith(".gz") else open(path, encoding="utf-8") as f:
        rows = list(csv.DictReader(f))
    time = [datetime.strptime(r["time"], "%Y-%m-%dT%H:%M:%SZ") for r in rows]
    if any(b - a != timedelta(hours=1) for a, b in zip(time, time[1:])):
        raise SystemExit(f"{path}: expected one entity and a row for every hour")
    return time, torch.tensor([float(r[column] or "nan") for r in rows])


def calendar(time):
    def parts(t):
        for x in (t.hour / 24, t.weekday() / 7, t.timetuple().tm_yday / 365.25):
            yield from (math.sin(2 * math.pi * x), math.cos(2 * math.pi * x))

    return torch.tensor([list(parts(t)) for t in time])


def fill(x, m):
    """The last observed value; before the first one, the first. x, m [B,K]"""
    place = torch.where(m > 0, torch.arange(x.shape[1]), -1)
    last = place.cummax(1).values
    first = torch.where(m > 0, torch.arange(x.shape[1]), x.shape[1] - 1).min(1).values
    return torch.gather(x, 1, torch.where(last < 0, first[:, None], last))


class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.calendar = nn.Linear(6, NUMBERS, bias=False)
        self.quant = nn.Linear(NUMBERS, Q)
        nn.init.zeros_(self.calendar.weight)
        nn.init.normal_(self.quant.weight, std=0.02)
        nn.init.zeros_(self.quant.bias)
        with torch.no_grad():
            self.quant.weight[:, 0] += 1
            self.quant.weight[:, 1] += torch.tensor([statistics.NormalDist().inv_cdf(u) for u in LEVELS])

    def forward(self, a, cal):
        return self.quant(a.unflatten(-1, (-1, NUMBERS)) + self.calendar(cal))


class DLinear(nn.Module):
    def __init__(self, K, H, kernel=25):
        super().__init__()
        self.kernel, self.seasonal, self.trend = kernel, nn.Linear(K, H * NUMBERS), nn.Linear(K, H * NUMBERS)

    def forward(self, x):
        half = (self.kernel - 1) // 2
        longer = torch.cat([x[:, :1].expand(-1, half), x, x[:, -1:].expand(-1, half)], 1)
        trend = longer.unfold(1, self.kernel, 1).mean(-1)
        return self.seasonal(x - trend) + self.trend(trend)


class Windows:
    """Origins are rows: context up to one, horizon behind it."""

    def __init__(self, time, y, K, H):
        self.K, self.H, self.seen, self.calendar = K, H, torch.isfinite(y), calendar(time)
        self.n_train, self.n_val, n = (int(len(y) * share) for share in (0.7, 0.8, 1))
        known = y[: self.n_train][self.seen[: self.n_train]]
        self.mean, self.sd = known.mean(), known.std()
        self.y = torch.where(self.seen, ((y - self.mean) / self.sd).clamp(-5, 5), torch.zeros(()))
        ahead = torch.tensor([bool(self.seen[i + 1 : i + 1 + H].any()) for i in range(n)])
        self.train, self.val = (
            [i for i in range(low + K - 1, high - H) if ahead[i]]
            for low, high in ((0, self.n_train), (self.n_train, self.n_val))
        )

    def batch(self, origins):
        at = torch.as_tensor(origins)[:, None]
        past, ahead = at - self.K + 1 + torch.arange(self.K), at + 1 + torch.arange(self.H)
        return self.y[past], self.seen[past].float(), self.calendar[ahead], self.y[ahead], self.seen[ahead].float()


def answer(net, head, x, m, cal):
    """Quantiles [B,H,Q], RevIN with masks around the network."""
    n = m.sum(1, keepdim=True)
    mean = (x * m).sum(1, keepdim=True) / n.clamp(min=1)
    sd = (((x - mean).square() * m).sum(1, keepdim=True) / n.clamp(min=1) + 1e-5).sqrt()
    sd = torch.where(n < 2, torch.ones(()), sd)
    return head(net((fill(x, m) - mean) / sd), cal) * sd[..., None] + mean[..., None]


def pinball(q, y, m):
    e = y[..., None] - q
    u = torch.tensor(LEVELS)
    return ((2 * torch.maximum(u * e, (u - 1) * e)).mean(-1) * m).sum() / m.sum().clamp(min=1)


def rate(at, base):
    return base * (0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * at)))


def learn(o, w, seed):
    torch.manual_seed(seed)
    net = DLinear(w.K, w.H)
    head, order, best = Head(), [], (math.inf, None)
    both = nn.ModuleList([net, head])
    optim = torch.optim.Adam(both.parameters(), lr=o.lr)
    for step in range(o.steps):
        if len(order) < o.batch:
            order += [w.train[i] for i in torch.randperm(len(w.train)).tolist()]
        x, m, cal, y, seen = w.batch(order[: o.batch])
        order = order[o.batch :]
        for group in optim.param_groups:
            group["lr"] = rate((step + 0.5) / o.steps, o.lr)
        optim.zero_grad()
        pinball(answer(net, head, x, m, cal), y, seen).backward()
        nn.utils.clip_grad_norm_(both.parameters(), 1.0)
        optim.step()
        if (step + 1) % max(o.steps // 20, 1) == 0:
            both.eval()
            with torch.no_grad():
                x, m, cal, y, seen = w.batch(w.val)
                score = float(pinball(answer(net, head, x, m, cal), y, seen))
            both.train()
            if score < best[0]:
                best = (score, {k: v.clone() for k, v in both.state_dict().items()})
    both.load_state_dict(best[1])
    both.eval()
    return net, head


def ours(o, w, time, seed, folder):
    """Quantiles of the program, by origin."""
    model, out = os.path.join(folder, "model"), os.path.join(folder, "answer.csv")
    spans = ["-t", o.target, "-c", str(w.K), "--horizon", str(w.H)]
    run = [o.program, "train", o.data, "-q", *spans, "--rival", "dlinear"]
    run += ["--training", '{"rival": {"patience": 0}}', "--steps", str(o.steps)]
    run += ["--batch", str(o.batch), "--lr", str(o.lr)]
    subprocess.run([*run, "--seed", str(seed), "--state", "none", "-o", model], check=True)
    levels = ",".join(f"{u:g}" for u in LEVELS)
    run = [o.program, "forecast", model, o.data, "-q", "--every", "23", "--quantiles", levels, "-n", "1000"]
    subprocess.run([*run, "-o", out], check=True)
    place, answers = {t.strftime("%Y-%m-%dT%H:%M:%SZ"): i for i, t in enumerate(time)}, {}
    with open(out, encoding="ascii") as f:
        for r in csv.DictReader(f):
            q = [(float(r[f"q{u:g}"]) - float(w.mean)) / float(w.sd) for u in LEVELS]
            answers.setdefault(place[r["origin"]], []).append(q)
    return {i: torch.tensor(q) for i, q in answers.items() if len(q) == w.H and i + w.H < len(time)}


def scores(q, w, origins):
    _, _, _, y, seen = w.batch(origins)
    mae = ((q[..., Q // 2] - y).abs() * seen).sum() / seen.sum()
    return float(pinball(q, y, seen)), float(mae)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("program")
    p.add_argument("data")
    p.add_argument("target")
    p.add_argument("--context", type=int, default=168)
    p.add_argument("--horizon", type=int, default=24)
    p.add_argument("--steps", type=int, default=1500)
    p.add_argument("--batch", type=int, default=32)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--seeds", type=int, default=3)
    p.add_argument("--threads", type=int, default=1)
    o = p.parse_args()
    torch.set_num_threads(o.threads)
    time, y = read(o.data, o.target)
    w, all_scores = Windows(time, y, o.context, o.horizon), []
    for seed in range(1, o.seeds + 1):
        with tempfile.TemporaryDirectory() as folder:
            asked = ours(o, w, time, seed, folder)
        net, head = learn(o, w, seed)
        origins = sorted(asked)
        x, m, cal, _, _ = w.batch(origins)
        with torch.no_grad():
            theirs = answer(net, head, x, m, cal).sort(-1).values
        mine = torch.stack([asked[i] for i in origins])
        all_scores.append(scores(mine, w, origins) + scores(theirs, w, origins))
        print(f"seed {seed}: CRPS %.4f, PyTorch's %.4f; MAE %.4f, %.4f"
              % tuple(all_scores[-1][i] for i in (0, 2, 1, 3)), flush=True)
    mine, theirs = (statistics.mean(s[i] for s in all_scores) for i in (0, 2))
    print(f"mean CRPS {mine:.4f}, PyTorch's {theirs:.4f}: {100 * (mine / theirs - 1):+.1f} %; "
          f"{len(origins)} origins")


if __name__ == "__main__":
    main()
