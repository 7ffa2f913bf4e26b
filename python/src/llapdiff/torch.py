"""PyTorch: the arrays of a model as tensors, and the denoiser of the reference profile as plain functions of them.

    import llapdiff.torch
    tensors = llapdiff.torch.weights(model)                 # {"anchor.0...": tensor, ...}
    net = llapdiff.torch.reference("paper.safetensors")     # a model of the profile reference
    net.tensors                                             # names of the authors' state dict: load_state_dict(net.tensors)
    net(x_t, t, dt, summary)                                # what the denoiser predicts; gradients flow

Tensors share memory with NumPy by DLPack; they are a copy of the model's, which does not change.
"""
from __future__ import annotations

import math
import os
from typing import Any

import torch
from torch.nn.functional import gelu, layer_norm, linear, silu, softplus

from ._lib import UnsupportedError
from ._model import Model, load
from ._weights import arrays_of

# What the functions below do not compute; such models load, their tensors are all there.
_EXTRAS = ("self_conditioning", "block_summary_adaln", "analysis_summary_qk", "pole_pool_use_raw_summary")


def weights(model: Model | str | os.PathLike[str]) -> dict[str, torch.Tensor]:
    """Every array of a model, by its name in the model file.

    >>> import llapdiff, llapdiff.torch
    >>> data = llapdiff.demo(entities=2, variables=1, rows=300)
    >>> model = llapdiff.train(data, context="1d", horizon="6h", size="anchor", progress=False)
    >>> sum(t.numel() for t in llapdiff.torch.weights(model).values()) > 0
    True
    """
    return _tensors(_model(model))[0]


def reference(model: Model | str | os.PathLike[str]) -> Reference:
    """The denoiser of a model of the profile `reference`, trained or imported."""
    tensors, config = _tensors(_model(model))
    network = config.get("network", {})
    if network.get("profile") != "reference":
        raise UnsupportedError(f"expected a model of the profile reference, found {network.get('profile', 'no network')}")
    prefix = "denoiser."
    return Reference({name[len(prefix):]: t for name, t in tensors.items() if name.startswith(prefix)},
                     network["denoiser"])


def _model(model: Model | str | os.PathLike[str]) -> Model:
    return model if isinstance(model, Model) else load(model)


def _tensors(model: Model) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    arrays, config = arrays_of(bytes(model))
    return {name: torch.from_dlpack(array) for name, array in arrays.items()}, config


class Reference:
    """The denoiser: `tensors` by the names of the authors' state dict, `config` as in model files.

    Called with a noisy latent `x_t` [B,h,Z], diffusion steps `t` [B], query offsets `dt` [B,h] and, where it is
    conditioned, a summary [B,S,H], it predicts [B,h,Z], in the parameterisation of its training (`Model.info` says which).
    """

    def __init__(self, tensors: dict[str, torch.Tensor], config: dict[str, Any]):
        self.tensors, self.config = tensors, config

    def __repr__(self) -> str:
        c = self.config
        return (f"Reference: {sum(t.numel() for t in self.tensors.values())} numbers, {c['laplace_k']} poles, "
                f"width {c['hidden_dim']}, {c['num_layers']} blocks")

    def __call__(self, x_t: torch.Tensor, t: torch.Tensor, dt: torch.Tensor,
                 summary: torch.Tensor | None = None) -> torch.Tensor:
        c = self.config
        more = [name for name in _EXTRAS if c.get(name)] + (["attn"] if c.get("summary_pool_mode") == "attn" else [])
        if more:
            raise UnsupportedError(f"the denoiser has {', '.join(more)}, which is not computed here")
        step = silu(self._get("time_embed.weight")[t])
        pool = torch.zeros_like(step) if summary is None else summary.mean(1)
        rho, omega = self.poles(step, pool)
        angle, decay = dt[:, :, None] * omega[:, None], torch.exp(-dt[:, :, None] * rho[:, None])
        basis = torch.cat([decay * torch.cos(angle), decay * torch.sin(angle)], 2)
        theta = self._analysis(x_t, dt, rho, omega)
        for i in range(c["num_layers"]):
            theta = self._block(f"model.blocks.{i}.", theta, step, summary)
        return self._head(basis @ theta)

    def poles(self, step: torch.Tensor, pool: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Rates and angular frequencies [B,K] of embedded steps and pooled summaries [B,H]."""
        moved = 0.5 * torch.tanh(self._linear("model.analysis.to_poles.1", silu(torch.cat([step, pool], 1))))
        if self.config.get("fixed_poles"):
            moved = torch.zeros_like(moved)
        d_rho, d_omega = moved.chunk(2, 1)
        raw = self._get("model.analysis._rho_raw")
        if self.config.get("rho_conditioning_mode") == "legacy_effective":
            raw = softplus(raw) + 1e-6
        p = torch.sigmoid(self._get("model.analysis._omega_raw")).clamp(1e-4, 1 - 1e-4)
        return softplus(raw + d_rho) + 1e-6, math.pi * torch.sigmoid(torch.logit(p) + d_omega)

    # ---- the layers ----

    def _get(self, name: str) -> torch.Tensor:
        return self.tensors[name]

    def _linear(self, name: str, x: torch.Tensor) -> torch.Tensor:
        return linear(x, self._get(name + ".weight"), self._get(name + ".bias"))

    def _norm(self, name: str, x: torch.Tensor) -> torch.Tensor:
        return layer_norm(x, x.shape[-1:], self._get(name + ".weight"), self._get(name + ".bias"))

    def _two(self, name: str, x: torch.Tensor) -> torch.Tensor:
        return self._linear(name + ".2", gelu(self._linear(name + ".0", x)))

    def _attend(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        q, k, v = (x.unflatten(2, (self.config["num_heads"], -1)).transpose(1, 2) for x in (q, k, v))
        weight = torch.softmax(q @ k.transpose(2, 3) / math.sqrt(q.shape[3]), 3)
        return (weight @ v).transpose(1, 2).flatten(2)

    def _adaptive(self, name: str, x: torch.Tensor, step: torch.Tensor) -> torch.Tensor:
        scale, shift = self._linear(name + ".to_ss.1", silu(step))[:, None].chunk(2, 2)
        return (1 + scale) * layer_norm(x, x.shape[-1:]) + shift

    def _analysis(self, x: torch.Tensor, dt: torch.Tensor, rho: torch.Tensor, omega: torch.Tensor) -> torch.Tensor:
        a = "model.analysis."
        zero = torch.zeros_like(rho)
        pairs = torch.cat([torch.stack([rho, omega, zero + part], 2) for part in (0, 1)], 1)
        q = self._norm(a + "q_norm", self._two(a + "pole_embedding", pairs) + self._get(a + "comp_emb"))
        k = self._norm(a + "k_norm", self._two(a + "time_key_proj", dt[:, :, None]))
        v = self._norm(a + "v_norm", self._linear(a + "value_proj", x))
        w, b = self._get(a + "attention.in_proj_weight").chunk(3), self._get(a + "attention.in_proj_bias").chunk(3)
        mixed = self._attend(*(linear(y, w[i], b[i]) for i, y in enumerate((q, k, v))))
        return self._linear(a + "out_proj", self._linear(a + "attention.out_proj", mixed))

    def _block(self, b: str, theta: torch.Tensor, step: torch.Tensor, summary: torch.Tensor | None) -> torch.Tensor:
        x = self._linear(b + "coef2hid", theta) + self._get(b + "mode_pos") + step[:, None]
        if summary is not None and self.config.get("cross_first", True):
            x = self._cross(b + "cross_blk.", x, step, summary)
        s = b + "self_blk."
        x = x + self._linear(s + "proj", self._attend(*self._linear(s + "qkv", self._adaptive(s + "norm1", x, step))
                                                      .chunk(3, 2)))
        x = x + self._linear(s + "mlp.3", gelu(self._linear(s + "mlp.0", self._adaptive(s + "norm2", x, step))))
        if summary is not None and not self.config.get("cross_first", True):
            x = self._cross(b + "cross_blk.", x, step, summary)
        return theta + self._linear(b + "hid2coef", x)

    def _cross(self, b: str, x: torch.Tensor, step: torch.Tensor, summary: torch.Tensor) -> torch.Tensor:
        k, v = self._linear(b + "kv", self._adaptive(b + "norm_kv", summary, step)).chunk(2, 2)
        return x + self._linear(b + "proj", self._attend(self._linear(b + "q", self._adaptive(b + "norm_q", x, step)), k, v))

    def _spectral(self, name: str, x: torch.Tensor) -> torch.Tensor:
        w = self._get(name + ".weight_orig")
        norm = self._get(name + ".weight_u") @ (w @ self._get(name + ".weight_v"))
        return linear(x, w / norm, self._get(name + ".bias"))

    def _head(self, y: torch.Tensor) -> torch.Tensor:
        s = "model.synthesis."
        if self.config.get("use_mlp_residual", True):
            gate, up = self._spectral(s + "mlp_in", self._norm(s + "norm", y)).chunk(2, 2)
            y = y + self._spectral(s + "mlp_out", up * gelu(gate))
        return self._get("model.output_skip_scale") * y + self._linear("model.head_proj", self._norm("model.head_norm", y))
