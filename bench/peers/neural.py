"""PatchTST, DeepAR and TFT: the networks of GluonTS, fed and trained here so that windows, readings and scores are ours
and batches never leave the device.

All see the target's context on the grid of the data, missing values as the last reading with a mark, the calendar and
(but PatchTST) the entity. Whether the context is scaled by its mean and deviation, and whether logarithms stand for a
positive target, is what a small PatchTST prefers on validation. The other columns, and the mean of the other entities,
are given to TFT as what is past; to PatchTST and DeepAR, which take known covariates alone, as they were a horizon ago,
known for every time asked: PatchTST lines its covariates up so that these fall beside the readings of the same time.
Sizes, rates and whether covariates help are chosen by the CRPS on the validation part, the number of steps by early
stopping there, on a running mean of the weights. The answer is the mean of the quantiles of the network that was chosen
and of one trained again on training and validation together."""
import sys
import time

import numpy as np
import torch
from gluonts.time_feature import get_lags_for_frequency
from gluonts.torch.distributions import QuantileOutput, StudentTOutput
from gluonts.torch.model.deepar.module import DeepARModel
from gluonts.torch.model.patch_tst.module import PatchTSTModel
from gluonts.torch.model.tft.module import TemporalFusionTransformerModel
from training import ROUND, trained
from windows import quietly

LEVELS = [.025, .1, .25, .5, .75, .9, .975]
JUDGED = 1024
YEARS = 1.9 * 365 * 24  # hours of training without which nothing is learned about a season
FAR = 10.0
CHOSEN = {}  # what reading() has found, for the next peer of the same cell


def filled(values):
    """[T] with the last reading where there is none, 0 before the first; and which are read."""
    read = np.isfinite(values)
    last = np.maximum.accumulate(np.where(read, np.arange(len(values)), -1))
    return np.where(last >= 0, values[np.maximum(last, 0)], 0), read


class Grid:
    """A panel on a grid, on the device: y, read [E,T] of the target, beside [E,T,2V] of the rest, calendar [T,K]."""

    def __init__(self, panel, val_start, log, device):
        self.panel, self.device = panel, device
        self.step = h = np.diff(np.unique(panel.t)).min()
        self.C, self.H = (int(round(x / h)) for x in (panel.context, panel.horizon))
        self.start = panel.t.min() - (self.C + self.H) * h  # room for what lies before the first context
        self.T = self.index(panel.t.max()) + self.H + 1
        self.log, self.middle, self.width = log, 0, 1
        laid = np.stack([self.laid(e, panel.target) for e in panel.names])
        train = slice(0, self.index(val_start))
        own = quietly(np.nanstd, laid[:, train], 1)  # prices of 0.01 and 60000 count alike when candidates are judged
        usual = np.nanmedian(own)
        self.own = self.put(np.maximum(np.nan_to_num(own, nan=usual), 1e-6 * usual))
        if log:
            raw = panel.mean + panel.sd * laid
            raw = np.log(np.maximum(raw, np.nanmin(raw[:, train]) / 2))
            self.middle, self.width = np.nanmean(raw[:, train]), np.nanstd(raw[:, train])
            laid = (raw - self.middle) / self.width
        y, read = zip(*map(filled, laid))
        self.first = np.array([np.argmax(r) for r in read])
        self.y, self.read = self.put(np.stack(y)), self.put(np.stack(read))
        self.known = np.concatenate([np.zeros((len(read), 1), int), np.cumsum(read, 1)], 1)
        self.beside = self.put(np.stack(self.columns(laid), 2))
        self.calendar = self.put(self.clock(panel, val_start))

    def index(self, t):
        return np.floor((t - self.start) / self.step + 1e-6).astype(int)

    def put(self, x):
        return torch.tensor(np.asarray(x, np.float32), device=self.device)

    def laid(self, entity, name):
        out, s = np.full(self.T, np.nan), self.panel.series[entity, name]
        out[self.index(s.t)] = s.x
        return out

    def columns(self, laid):
        """Values and marks [E,T] of every other column, and of the mean of the other entities."""
        out = []
        for name in self.panel.variables:
            if name != self.panel.target:
                y, read = zip(*[filled(self.laid(e, name)) for e in self.panel.names])
                out += [np.clip(np.stack(y), -6, 6), np.stack(read)]
        if len(laid) > 1:
            n, total = np.isfinite(laid).sum(0) - np.isfinite(laid), np.nansum(laid, 0) - np.nan_to_num(laid)
            y, read = zip(*map(filled, np.where(n > 0, total / np.maximum(n, 1), np.nan)))
            out += [np.stack(y), np.stack(read)]
        return out or [np.zeros_like(laid)]

    def clock(self, panel, val_start):
        t = self.start + self.step * np.arange(self.T)
        waves = [(7 * 24, k) for k in (1, 2, 3)]
        if panel.cycle == "day" and self.step <= 6:
            waves += [(24, k) for k in (1, 2, 3)]
        spans = [min(panel.t[s][-1], val_start) - panel.t[s][0] for s in panel.span.values()]
        if np.median(spans) > YEARS:
            waves += [(365.25 * 24, k) for k in (1, 2)]
        turn = np.stack([2 * np.pi * k * t / period for period, k in waves], 1)
        return np.concatenate([np.sin(turn), np.cos(turn)], 1)

    def rows(self, after, before):
        """[N,2] entity, origin of all windows that have readings on both sides, origins from `after`, targets before."""
        out = []
        for e in range(len(self.y)):
            o = np.arange(max(self.first[e] + self.C // 2, after), before - self.H)
            past = self.known[e, o + 1] - self.known[e, o + 1 - self.C]
            later = self.known[e, o + 1 + self.H] - self.known[e, o + 1]
            o = o[(past > 0) & (later > 0)]
            out.append(np.stack([np.full(len(o), e), o], 1))
        return torch.tensor(np.concatenate(out), device=self.device)

    def back(self, y):
        """In deviations of training, of the target as it is."""
        if not self.log:
            return y
        raw = torch.exp(y.clamp(-FAR, FAR) * self.width + self.middle)
        return (raw - self.panel.mean) / self.panel.sd


class Batch:
    """Windows of a grid. y, read [B,C+H]; loc, scale [B,1]; time [B,C+H,K]; static [B,2]; now, ago: what is beside."""

    def __init__(self, g, rows, usual):
        e, o = rows[:, :1], rows[:, 1:]
        k = o + torch.arange(1 - g.C, g.H + 1, device=g.device)
        self.H, self.entity, y, self.read = g.H, e, g.y[e, k], g.read[e, k]
        past, seen = y[:, :g.C], self.read[:, :g.C]
        n = seen.sum(1, True)
        if usual is None:
            self.loc, self.scale = torch.zeros_like(n), torch.ones_like(n)
        else:
            self.loc = (past * seen).sum(1, True) / n.clamp(min=1)
            self.scale = (((past - self.loc) ** 2 * seen).sum(1, True) + 2 * usual).div(n + 2).sqrt()
        self.y = ((y - self.loc) / self.scale).clamp(-FAR, FAR)
        self.past, self.seen = self.y[:, :g.C], seen
        self.future, self.asked = self.y[:, g.C:], self.read[:, g.C:]
        self.static = torch.cat([self.loc, self.scale.log()], 1)
        self.time = g.calendar[k]
        self.now, self.ago = (lambda: g.beside[e, k[:, :g.C]]), (lambda: g.beside[e, k - g.H])

    def quantiles(self, q):
        return q * self.scale.unsqueeze(2) + self.loc.unsqueeze(2)


class Quantiles(torch.nn.Module):
    """A network with seven quantiles, trained by the pinball loss in the units before scaling."""

    def loss(self, b):
        v = self.net.distr_output.loss(b.future, self.args(b), torch.zeros_like(b.loc), torch.ones_like(b.scale))
        w = b.asked * b.scale
        return (v * w).sum(), b.asked.sum()

    judge = loss

    def quantiles(self, b):
        return b.quantiles(self.args(b)[0])


class PatchTST(Quantiles):
    batch, most = 256, 2000
    tries = [{"d": 64, "dropout": .2, "rate": 5e-4, "beside": True}, {"beside": False},
             {"d": 32, "dropout": .3, "rate": 1e-3}, {"d": 128, "dropout": .3, "rate": 2e-4}]

    def __init__(self, g, c):
        super().__init__()
        self.beside = c["beside"]
        n = g.calendar.shape[1] + 3 + (g.beside.shape[2] if c["beside"] else 0)
        self.net = PatchTSTModel(prediction_length=g.H, context_length=g.C, patch_len=16, stride=8, padding_patch="end",
                                 d_model=c["d"], nhead=4, dim_feedforward=2 * c["d"], num_feat_dynamic_real=n,
                                 dropout=c["dropout"], activation="gelu", norm_first=True, num_encoder_layers=3,
                                 scaling=None, distr_output=QuantileOutput(LEVELS))

    def args(self, b):
        C = b.past.shape[1]
        inside = [b.static.unsqueeze(1).expand(-1, C, -1), b.seen.unsqueeze(2)] + ([b.now()] if self.beside else [])
        inside = torch.nn.functional.pad(torch.cat(inside, 2), (0, 0, b.H, 0))  # a horizon late: it is lined up inside
        f = torch.cat([b.time, inside], 2)
        return self.net(b.past, b.seen, f[:, :C], f[:, C:])[0]


class TFT(Quantiles):
    batch, most = 128, 1200
    tries = [{"d": 32, "dropout": .1, "rate": 2e-3}, {"d": 64, "dropout": .2, "rate": 1e-3}, {"dropout": .3}]

    def __init__(self, g, c):
        super().__init__()
        self.net = TemporalFusionTransformerModel(
            context_length=g.C, prediction_length=g.H, d_feat_static_real=[2], c_feat_static_cat=[len(g.y)],
            d_feat_dynamic_real=[g.calendar.shape[1], 1], d_past_feat_dynamic_real=[1] + [2] * (g.beside.shape[2] // 2),
            num_heads=4, d_hidden=c["d"], d_var=c["d"], dropout_rate=c["dropout"], distr_output=QuantileOutput(LEVELS))
        self.net.scaler = lambda data, weights: (data, torch.zeros_like(data[:, :1]), torch.ones_like(data[:, :1]))
        self.register_buffer("lead", torch.linspace(-g.C / g.H, 1, g.C + g.H)[None, :, None])

    def args(self, b):
        known = torch.cat([b.time, self.lead.expand(len(b.y), -1, -1)], 2)
        now = b.now()
        past = torch.cat([b.seen.unsqueeze(2), now[..., :now.shape[2] // 2 * 2]], 2)
        return self.net(b.past, b.seen, b.static, b.entity, known, past_feat_dynamic_real=past)[0]


class DeepAR(torch.nn.Module):
    batch, most, samples = 512, 1000, 200
    tries = [{"d": 64, "dropout": .1, "rate": 2e-3, "beside": False}, {"beside": True},
             {"d": 128, "dropout": .2, "rate": 1e-3}]

    def __init__(self, g, c):
        super().__init__()
        self.beside = c["beside"]
        unrolled = min(g.C // 2, max(g.H, 48 if g.step <= 1 else 30))  # before the origin; lags reach over the rest
        lags = [k for k in get_lags_for_frequency("1h" if g.step <= 1 else "1D") if k <= g.C + 1 - unrolled]
        n = g.calendar.shape[1] + (g.beside.shape[2] if c["beside"] else 0)
        self.net = DeepARModel(freq="1h", context_length=unrolled, prediction_length=g.H,
                               num_feat_dynamic_real=n, num_feat_static_real=2, num_feat_static_cat=1,
                               cardinality=[len(g.y)], num_layers=2, hidden_size=c["d"], dropout_rate=c["dropout"],
                               distr_output=StudentTOutput(), lags_seq=lags, scaling=False)

    def inputs(self, b):
        C, f = b.past.shape[1], torch.cat([b.time] + ([b.ago()] if self.beside else []), 2)
        return {"feat_static_cat": b.entity, "feat_static_real": b.static, "past_time_feat": f[:, :C],
                "past_target": b.past, "past_observed_values": b.seen, "future_time_feat": f[:, C:]}

    def loss(self, b, future_only=False):
        v = self.net.loss(**self.inputs(b), future_target=b.future, future_observed_values=b.asked,
                          future_only=future_only)
        return v.sum(), b.read.new_tensor(float(len(v)))

    def judge(self, b):
        return self.loss(b, True)

    def quantiles(self, b):
        paths = self.net(**self.inputs(b), num_parallel_samples=self.samples)
        levels = torch.tensor(LEVELS, device=paths.device)
        return b.quantiles(torch.quantile(paths.clamp(-2 * FAR, 2 * FAR), levels, dim=1).permute(1, 2, 0))


KINDS = {"patchtst": PatchTST, "deepar": DeepAR, "tft": TFT}


class Windows:
    def __init__(self, grid, scaled, val_start, test_start):
        self.g, self.usual = grid, None
        self.learn = grid.rows(0, grid.index(val_start))
        late = grid.rows(grid.index(val_start), grid.index(test_start))
        self.judged = late[torch.linspace(0, len(late) - 1, min(JUDGED, len(late)), device=grid.device).long()]
        self.all = grid.rows(0, grid.index(test_start))
        if scaled:
            few = self.some(self.learn, 4096, torch.Generator().manual_seed(0))
            some = Batch(grid, few, torch.ones((), device=grid.device))
            n = some.seen.sum(1, True)
            self.usual = ((some.past * some.seen * some.scale) ** 2).sum() / n.sum()

    def some(self, rows, n, rng):
        return rows[torch.randint(len(rows), (n,), generator=rng).to(rows.device)]

    def batches(self, rows, n):
        return (Batch(self.g, rows[k:k + n], self.usual) for k in range(0, len(rows), n))

    @torch.no_grad()
    def judge(self, m):
        total = [torch.stack(m.judge(b)) for b in self.batches(self.judged, m.batch)]
        a, b = torch.stack(total).sum(0)
        return float(a / b)

    @torch.no_grad()
    def answers(self, m, rows):
        """[N,H,7] in deviations of training."""
        return torch.cat([self.g.back(m.quantiles(b)) for b in self.batches(rows, 128)])

    def crps(self, m):
        """On the validation part, in deviations of the entity."""
        q = self.answers(m, self.judged).sort(2)[0]
        y = torch.cat([self.g.back(b.future * b.scale + b.loc) for b in self.batches(self.judged, m.batch)])
        w = torch.cat([b.asked for b in self.batches(self.judged, m.batch)]) / self.g.own[self.judged[:, :1]]
        p = torch.tensor(LEVELS, device=q.device)
        off = y.unsqueeze(2) - q
        return float((torch.maximum(p * off, (p - 1) * off).mean(2) * 2 * w).sum() / (w > 0).sum())


def fit(kind, w, c, rows, seed, most, until, early):
    """A network and its number of steps; early: that of the best validation."""
    loss = lambda m, rng: m.loss(Batch(w.g, w.some(rows, m.batch, rng), w.usual))
    return trained(lambda: kind(w.g, c).to(w.g.device), loss, w.judge if early else None, c["rate"], seed, most, until)


def reading(panel, val_start, test_start, device, most, until):
    """Windows of the target as it is or its logarithm, scaled each by itself or not: what a small PatchTST prefers."""
    key = panel.target, panel.context, panel.horizon, len(panel.t), val_start
    if key in CHOSEN:
        return CHOSEN[key]
    known = [panel.series[e, panel.target] for e in panel.names]
    raw = np.concatenate([s.x[s.t < val_start] for s in known]) * panel.sd + panel.mean
    best, c = None, {"d": 32, "dropout": .2, "rate": 1e-3, "beside": True}
    for log in [False, True] if raw.min() > 0 else [False]:
        grid = Grid(panel, val_start, log, device)
        for scaled in (True, False):
            w = Windows(grid, scaled, val_start, test_start)
            score = w.crps(fit(PatchTST, w, c, w.learn, 1, min(most, 6 * ROUND), until, True)[0])
            if best is None or score < best[0]:
                best = score, w, f"{'logarithm' if log else 'as it is'}, {'scaled' if scaled else 'not scaled'}"
    CHOSEN[key] = best[1:]
    return best[1:]


def forecast(panel, name, val_start, test_start, queries, seconds=1e9, steps=10 ** 9):
    """Quantiles [queries,7] in the units of the data; queries: entity number, origin, time. The search ends after
    `seconds`, if it has not before; no network is trained for more than `steps`."""
    torch.backends.cuda.matmul.allow_tf32 = True
    begin, kind = time.monotonic(), KINDS[name]
    part = lambda share: begin + share * seconds
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.cuda.empty_cache()
    w, how = reading(panel, val_start, test_start, device, steps, part(.2))
    most, best, c = min(kind.most, steps), None, {}
    for k, change in enumerate(kind.tries):
        if best and time.monotonic() > part(.5):
            break
        trial = {**c, **change}
        m, n = fit(kind, w, trial, w.learn, 1, most, part(.7), True)
        score = w.crps(m)
        print(f"  {name}: {trial}, {n} steps: validation CRPS {score:.4f}, {time.monotonic() - begin:.0f} s",
              file=sys.stderr, flush=True)
        if best is None or score < best[0]:
            best, c = (score, m, n), trial
    _, m, n = best
    networks = [m]
    if time.monotonic() < part(.8):
        networks.append(fit(kind, w, c, w.all, 2, round(n * len(w.all) / len(w.learn)), part(.95), False)[0])
    asked = np.stack([queries[:, 0].astype(int), w.g.index(queries[:, 1])], 1)
    rows, at = np.unique(asked, axis=0, return_inverse=True)
    lead = np.clip(np.rint((queries[:, 2] - queries[:, 1]) / w.g.step).astype(int), 1, w.g.H) - 1
    rows = torch.tensor(rows, device=device)
    q = torch.stack([w.answers(m, rows).sort(2)[0] for m in networks]).mean(0).cpu().numpy()[at.ravel(), lead]
    print(f"  {name}: {how}; {c}, {n} steps, {len(networks)} networks, {w.learn.shape[0]} windows, "
          f"{time.monotonic() - begin:.0f} s on {device}", file=sys.stderr, flush=True)
    return panel.mean + panel.sd * np.sort(q, 1)
