#!/usr/bin/env python3
"""Turns checkpoints of the reference implementation (.pt) into safetensors files that `llapdiff import` reads.

    tools/pt2safetensors.py --vae vae.pt --summarizer summarizer.pt --denoiser denoiser.pt --output artefacts
    llapdiff import artefacts --output model.safetensors --step 1h --horizon 168 --targets NO2

Needs PyTorch; fetches nothing. A .pt file is a pickle, and a pickle can run any program when it is read. Files are
therefore read with weights_only, which allows tensors and plain containers and nothing else. Some checkpoints hold more
(NumPy scalars, classes): --trust reads them all the same. Use it for files whose makers you trust as you would trust a program
of theirs, and for no others.
"""
import argparse
import json
import os
import struct
import sys


def load(path, trust):
    import torch

    try:
        return torch.load(path, map_location="cpu", weights_only=not trust)
    except Exception as e:  # whatever unpickling may say
        hint = "" if trust else "\nIf you trust whoever made the file, add --trust."
        sys.exit(f"pt2safetensors: {path}: {e}{hint}")


def state_of(payload, path):
    """The state dict of a payload, or the payload itself where it is one."""
    model = payload.get("model", payload) if isinstance(payload, dict) else None
    if not isinstance(model, dict) or not model:
        sys.exit(f"pt2safetensors: {path}: no state dict in it")
    return {k: v for k, v in model.items() if hasattr(v, "detach")}


def plain(x):
    """What JSON can hold of a value; None for the rest."""
    if isinstance(x, dict):
        return {str(k): plain(v) for k, v in x.items()}
    if isinstance(x, (list, tuple)):
        return [plain(v) for v in x]
    return x if isinstance(x, (str, int, float, bool)) or x is None else str(x)


def write(path, tensors, metadata):
    """Single precision, ordered by name; replaces the file as a whole."""
    header, data, at = {"__metadata__": metadata} if metadata else {}, [], 0
    for name in sorted(tensors):
        t = tensors[name].detach().cpu().float().contiguous()
        raw = t.numpy().tobytes()
        header[name] = {"dtype": "F32", "shape": list(t.shape), "data_offsets": [at, at + len(raw)]}
        data.append(raw)
        at += len(raw)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    temporary = f"{path}.{os.getpid()}"
    with open(temporary, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        f.writelines(data)
    os.replace(temporary, path)
    print(f"{path}: {len(tensors)} tensors, {at} bytes")


def denoiser(payload, path):
    """The denoiser's tensors with its averages, latent statistics and configuration."""
    tensors, metadata = state_of(payload, path), {}
    for name, t in (payload.get("ema") or {}).items():
        if hasattr(t, "detach"):
            tensors[f"ema.{name}"] = t
    for name in ("mu_mean", "mu_std"):
        if hasattr(payload.get(name), "detach"):
            tensors[name] = payload[name]
    if isinstance(payload.get("model_config"), dict):
        metadata["model_config"] = json.dumps(plain(payload["model_config"]))
    for key in ("target_cols", "target_signature"):
        if payload.get(key) is not None:
            metadata[key] = json.dumps(plain(payload[key]))
    return tensors, metadata


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--vae", help="checkpoint of the set-VAE")
    p.add_argument("--summarizer", help="checkpoint of the history summarizer")
    p.add_argument("--denoiser", help="checkpoint of the denoiser", required=True)
    p.add_argument("--output", help="folder for the files", required=True)
    p.add_argument("--trust", action="store_true", help="run what the pickles say; for trusted files only")
    o = p.parse_args()
    os.makedirs(o.output, exist_ok=True)
    for part in ("vae", "summarizer", "denoiser"):
        path = getattr(o, part)
        if path is None:
            continue
        payload = load(path, o.trust)
        tensors, metadata = denoiser(payload, path) if part == "denoiser" else (state_of(payload, path), {})
        write(os.path.join(o.output, part + ".safetensors"), tensors, metadata)


if __name__ == "__main__":
    main()
