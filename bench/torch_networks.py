"""The networks in plain PyTorch, written from docs/spec/model.md and docs/spec/anchor.md, for compare_torch.py."""

import torch
import torch.nn.functional as F


def cosine_schedule(n=1000):
    """docs/spec/model.md 5.2."""
    x = torch.linspace(0, 1, n)
    f = torch.cos((x + 0.008) / 1.008 * torch.pi * 0.5) ** 2
    f = f / f[0]
    alpha = torch.cat([torch.ones(1), (f[1:] / f[:-1]).clamp(1e-8, 0.999999)])
    beta = (1 - alpha).clamp(1e-8, 0.999)
    beta[0] = 0
    return torch.cumprod((1 - beta).clamp(1e-12, 1).double(), 0).float()


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
