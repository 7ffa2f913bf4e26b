"""SAITS and CSDI for gaps: the networks of PyPOTS, fed and trained here so that hidden values, readings and scores are
ours. A step is a row of an entity, so that nothing is put on a grid; features are all columns, the targets of the other
entities at the same time, and the hour. It learns as the program does, from values hidden at random and by outages; the
rate and the number of steps are chosen by hidden values of the validation part.

SAITS answers with one number; around it lie the quantiles of what it was off by on the validation part, for each
variable and distance to the nearest reading. CSDI answers with the quantiles of its samples."""
import importlib.util
import sys
import time

import numpy as np
import pandas as pd
import torch

from training import trained

spec = importlib.util.find_spec("pypots")  # its beginning imports every model and what they need: networks alone here
sys.modules.setdefault("pypots", importlib.util.module_from_spec(spec))
from pypots.nn.modules.csdi import BackboneCSDI  # noqa: E402
from pypots.nn.modules.saits import BackboneSAITS  # noqa: E402

LEVELS = [.025, .1, .25, .5, .75, .9, .975]
ROWS, COPIES, JUDGED, SAMPLES = 96, 8, 512, 64
EDGES = [2, 3, 6, 12, 24]  # rows to the nearest reading


class Rows:
    """Rows of all entities on the device. truth [N,V]; left(hidden) [N,K]: V columns, targets of the others, the hour."""

    def __init__(self, r, part, targets, device):
        self.r, self.device = r, device
        mean, sd = np.nanmean(r.x[part == 0], 0), np.nanstd(r.x[part == 0], 0)
        self.mean, self.sd = mean, np.where(sd > 0, sd, 1)
        self.z = ((r.x - self.mean) / self.sd).astype(np.float32)
        self.truth = torch.tensor(self.z, device=device)
        n = np.arange(len(r.t))
        self.others = []
        if r.joint:
            for e in range(len(r.names)):
                beside = np.concatenate([r.at(e, r.t[r.first[k]:r.first[k + 1]]) for k in range(len(r.names))])
                self.others.append(np.where(r.entity == e, -1, beside))
        self.targets = [r.columns.index(v) for v in targets] if r.joint else []
        turn = 2 * np.pi * r.t / 24
        self.hour = np.stack([np.sin(turn), np.cos(turn)], 1) if r.day else np.zeros((len(n), 0))
        since = r.t - r.t[r.first[r.entity]]
        self.time = torch.tensor((since / r.step).astype(np.float32), device=device)
        self.last = torch.tensor(r.first[r.entity + 1], device=device)

    def left(self, hidden):
        """[N,K] with the hidden values (and what is not read) missing."""
        x = np.where(hidden, np.nan, self.z)
        beside = [np.where(rows >= 0, x[np.maximum(rows, 0), v], np.nan) for v in self.targets for rows in self.others]
        return torch.tensor(np.column_stack([x, *beside, self.hour]).astype(np.float32), device=self.device)

    def starts(self, rows):
        """Where windows may begin of which all rows are among `rows` (bool [N]); short entities begin once."""
        r, out, upto = self.r, [], np.concatenate([[0], np.cumsum(rows)])
        for a, b in zip(r.first[:-1], r.first[1:]):
            k = np.arange(a, max(b - ROWS, a) + 1)
            end = np.minimum(k + ROWS, b)
            out.append(k[upto[end] - upto[k] == end - k])
        return torch.tensor(np.concatenate(out), device=self.device)

    def window(self, x, start):
        """Values and marks [B,L,K] of windows, and their rows [B,L]; beyond the entity's end nothing is read."""
        k = start[:, None] + torch.arange(ROWS, device=self.device)
        inside = k < self.last[start][:, None]
        k = torch.where(inside, k, start[:, None])
        x = x[k]
        read = ~torch.isnan(x) & inside.unsqueeze(2)
        return torch.where(read, x, 0), read.float(), k, inside

    def hidden(self, k, inside, read):
        """Truth [B,L,V] and where it is known and was hidden."""
        y = self.truth[k]
        known = ~torch.isnan(y) & inside.unsqueeze(2) & (read[..., :y.shape[2]] == 0)
        return torch.where(known, y, 0), known.float()


class SAITS(torch.nn.Module):
    batch, most, rates, paths = 128, 4000, [1e-3, 3e-4], 1

    def __init__(self, rows, width):
        super().__init__()
        self.rows, self.V = rows, rows.truth.shape[1]
        self.net = BackboneSAITS(n_steps=ROWS, n_features=width, n_layers=2, d_model=256, n_heads=4, d_k=64, d_v=64,
                                 d_ffn=512, dropout=.1, attn_dropout=.1)
        self.register_buffer("others", 1 - torch.eye(ROWS).unsqueeze(0))  # a step does not look at itself

    def loss(self, x, start, rng=None):
        x, read, k, inside = self.rows.window(x, start)
        y, hidden = self.rows.hidden(k, inside, read)
        a, b, c = self.net(x, read, self.others)[:3]
        missed = ((c[..., :self.V] - y).abs() * hidden).sum() / hidden.sum().clamp(min=1)
        if not self.training:
            return missed, torch.ones_like(missed)
        seen = sum(((q - x).abs() * read).sum() for q in (a, b, c)) / 3 / read.sum().clamp(min=1)
        return seen + missed, torch.ones_like(missed)

    def answer(self, x, start):
        x, read, k, inside = self.rows.window(x, start)
        return self.net(x, read, self.others)[2][..., :self.V].unsqueeze(0), k, inside


class CSDI(torch.nn.Module):
    batch, most, rates, paths = 32, 4000, [1e-3], SAMPLES

    def __init__(self, rows, width):
        super().__init__()
        self.rows, self.V = rows, rows.truth.shape[1]
        self.feature = torch.nn.Embedding(width, 16)
        self.net = BackboneCSDI(n_layers=4, n_heads=8, n_channels=64, d_target=width, d_time_embedding=128,
                                d_feature_embedding=16, d_diffusion_embedding=128, is_unconditional=False,
                                n_diffusion_steps=50, schedule="quad", beta_start=1e-4, beta_end=.5)

    def side(self, k, read):
        """[B,146,K,L]: the time since the window's begin, the feature, what is read, as the paper has them."""
        t = (self.rows.time[k] - self.rows.time[k[:, :1]]).unsqueeze(2)
        rate = 1 / 10000 ** (torch.arange(0, 128, 2, device=k.device) / 128)
        wave = torch.stack([torch.sin(t * rate), torch.cos(t * rate)], 3).flatten(2)
        B, L, K = read.shape
        both = [wave.unsqueeze(2).expand(-1, -1, K, -1), self.feature.weight.expand(B, L, -1, -1), read.unsqueeze(3)]
        return torch.cat(both, 3).permute(0, 3, 2, 1)

    def loss(self, x, start, rng=None):
        x, read, k, inside = self.rows.window(x, start)
        y, hidden = self.rows.hidden(k, inside, read)
        full, asked = x.clone(), torch.zeros_like(x)
        full[..., :self.V] += y
        asked[..., :self.V] = hidden
        full, read, asked, side = full.mT, read.mT, asked.mT, self.side(k, read)
        if self.training:
            v = self.net.calc_loss(full, read, asked, side)
        else:
            v = sum(self.net.calc_loss(full, read, asked, side, set_t=t) for t in range(2, 50, 6)) / 8
        return v, torch.ones_like(v)

    def answer(self, x, start):
        x, read, k, inside = self.rows.window(x, start)
        return self.net(x.mT, read.mT, self.side(k, read), self.paths)[:, :, :self.V].permute(1, 0, 3, 2), k, inside


KINDS = {"saits": SAITS, "csdi": CSDI}


@torch.no_grad()
def fills(m, rows, x, wanted):
    """[paths,N,V]: what a network fills at `wanted` (bool [N]) from x, each row by the window that it is most central in."""
    r, V = rows.r, m.V
    out = np.full((m.paths, len(r.t), V), np.nan, np.float32)
    far = np.full(len(r.t), ROWS)
    for e, (a, b) in enumerate(zip(r.first[:-1], r.first[1:])):
        k = np.unique(np.minimum(np.arange(a, b, ROWS // 2), max(b - ROWS, a)))
        k = k[[wanted[s:min(s + ROWS, b)].any() for s in k]]
        for part in np.array_split(k, -(-len(k) // 16)) if len(k) else []:
            got, at, inside = m.answer(x, torch.tensor(part, device=rows.device))
            got, at, inside = got.cpu().numpy(), at.cpu().numpy(), inside.cpu().numpy()
            for w in range(len(part)):
                n = inside[w].sum()
                off = np.abs(np.arange(n) - (n - 1) / 2)
                mine = off < far[at[w, :n]]
                where = at[w, :n][mine]
                far[where], out[:, where] = off[mine], got[:, w, :n][:, mine]
    return out


def distance(read, first):
    """[N,V] bucket of the rows to the nearest reading of the same column and entity."""
    out = np.full(read.shape, 10 ** 6)
    for a, b in zip(first[:-1], first[1:]):
        for step in (1, -1):
            seen = read[a:b][::step]
            n = np.arange(b - a)[:, None]
            last = np.maximum.accumulate(np.where(seen, n, -10 ** 6), 0)
            out[a:b] = np.minimum(out[a:b], (n - last)[::step])
    return np.searchsorted(EDGES, out, "right")


def off_by(truth, fill, near):
    """Quantiles [V,buckets,7] of truth less fill, pooled over buckets where there are too few."""
    V, out = truth.shape[1], np.zeros((truth.shape[1], len(EDGES) + 1, len(LEVELS)))
    for v in range(V):
        off = truth[:, v] - fill[:, v]
        for g in range(len(EDGES) + 1):
            some = off[(near[:, v] == g) & np.isfinite(off)]
            for wide in range(1, len(EDGES) + 1):
                if len(some) >= 100:
                    break
                some = off[(np.abs(near[:, v] - g) <= wide) & np.isfinite(off)]
            out[v, g] = np.quantile(some, LEVELS) if len(some) else 0
    return out


def fill(r, part, tables, targets, name, seconds=1e9, steps=10 ** 9):
    """Of every table of hidden values the quantiles of those of targets."""
    begin, kind = time.monotonic(), KINDS[name]
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.backends.cuda.matmul.allow_tf32 = True
    rows, rng = Rows(r, part, targets, device), np.random.default_rng(1)
    nothing = np.zeros(rows.z.shape, bool)
    copies = [rows.left(r.random(rng) if c % 2 == 0 else r.outages(rng)) for c in range(COPIES)]
    apart = [(r.random(rng) if c == 0 else r.outages(rng)) & (part == 1)[:, None] for c in range(2)]
    judges = [rows.left(h) for h in apart]
    width = copies[0].shape[1]
    learn, known, val = (rows.starts(part == 0), rows.starts(part < 2), rows.starts(part == 1))
    val = val[torch.linspace(0, len(val) - 1, min(JUDGED, len(val)), device=device).long()]

    def loss_of(starts):
        def loss(m, g):
            start = starts[torch.randint(len(starts), (m.batch,), generator=g).to(device)]
            return m.loss(copies[int(torch.randint(COPIES, (1,), generator=g))], start)
        return loss

    @torch.no_grad()
    def judge(m):
        with torch.random.fork_rng([device] if device.type == "cuda" else []):
            torch.manual_seed(0)
            return float(sum(m.loss(x, val[k:k + m.batch])[0] for x in judges for k in range(0, len(val), m.batch)))

    make, best, most = lambda: kind(rows, width).to(device), None, min(kind.most, steps)
    for rate in kind.rates:
        if best is None or time.monotonic() < begin + .4 * seconds:
            m, n = trained(make, loss_of(learn), judge, rate, 1, most, begin + .6 * seconds)
            if best is None or judge(m) < best[0]:
                best = judge(m), m, n, rate
    _, m, n, rate = best
    print(f"  {name}: {width} columns, {len(learn)} windows, rate {rate}, {n} steps, "
          f"{time.monotonic() - begin:.0f} s on {device}", file=sys.stderr, flush=True)
    spread = None
    if m.paths == 1:
        got = [(np.where(h, rows.z, np.nan), fills(m, rows, x, part == 1)[0],
                distance(~np.isnan(np.where(h, np.nan, rows.z)), r.first)) for h, x in zip(apart, judges)]
        spread = off_by(*(np.concatenate(k) for k in zip(*got)))
    if time.monotonic() < begin + .8 * seconds:
        more = round(n * len(known) / len(learn))
        m = trained(make, loss_of(known), None, rate, 2, more, begin + .95 * seconds)[0]
    return [answers(m, rows, nothing, table, targets, spread) for table in tables]


def answers(m, rows, nothing, table, targets, spread):
    r, hidden = rows.r, nothing.copy()
    number = {k: i for i, k in enumerate(zip(r.names[r.entity], r.written))}
    row = np.array([number[k] for k in zip(table["entity"], table["time"])])
    column = table["variable"].map({c: k for k, c in enumerate(r.columns)}).to_numpy()
    hidden[row, column] = True
    mine = table["variable"].isin(targets).to_numpy()
    wanted = np.zeros(len(r.t), bool)
    wanted[row[mine]] = True
    got = fills(m, rows, rows.left(hidden), wanted)[:, row[mine], column[mine]]
    if spread is None:
        q = np.quantile(got, LEVELS, axis=0)
    else:
        near = distance(~np.isnan(np.where(hidden, np.nan, rows.z)), r.first)[row[mine], column[mine]]
        q = got[0] + spread[column[mine], near].T
    out = table.loc[mine, ["entity", "time", "variable"]].copy()
    for level, values in zip(LEVELS, q):
        out[f"q{level}"] = rows.mean[column[mine]] + rows.sd[column[mine]] * values
    return pd.DataFrame(out)
