"""The denoiser of the reference profile in PyTorch gives the authors' numbers."""
import doctest
import json
import os
import pathlib
import struct
import subprocess

import examples
import numpy as np
import pytest

import llapdiff

torch = pytest.importorskip("torch")
import llapdiff.torch  # noqa: E402
from llapdiff._weights import arrays_of  # noqa: E402

QUICK = {"size": "anchor", "training": {"anchor": {"steps": 20}}}


def golden(case):
    folder = os.environ.get("LLAP_GOLDEN")
    if not folder:
        pytest.skip("LLAP_GOLDEN is not set")
    data = pathlib.Path(folder, case + ".safetensors").read_bytes()
    n = struct.unpack_from("<Q", data)[0]
    arrays, _ = arrays_of(data)
    return arrays, json.loads(json.loads(data[8:8 + n])["__metadata__"]["config"])


def tensors(arrays, prefix):
    return {name[len(prefix):]: torch.from_dlpack(a) for name, a in arrays.items() if name.startswith(prefix)}


def check(net, arrays):
    given, want = tensors(arrays, "in."), torch.from_dlpack(arrays["out.pred"])
    found = net(given["x_t"], given["t"], given.get("dt"), given.get("cond_summary"))
    assert (found - want).abs().max() <= 1e-4 * want.abs().max()  # the tolerance of the fixtures


@pytest.mark.parametrize("case", ["c05_llapdiff_base", "c05_llapdiff_base_uncond"])
def test_the_denoiser_of_the_fixtures(case):
    arrays, config = golden(case)
    check(llapdiff.torch.Reference(tensors(arrays, "param."), config), arrays)


def write_safetensors(path, arrays, config):
    """As tools/pt2safetensors.py writes a checkpoint."""
    header, data = {"__metadata__": {"model_config": json.dumps({"llapdiff": config})}}, b""
    for name, array in arrays.items():
        header[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": [len(data), len(data) + array.nbytes]}
        data += array.tobytes()
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


@pytest.fixture
def imported(tmp_path, monkeypatch):
    """paper.safetensors in the current folder, and its arrays as the authors have them. Through import, which wants a
    summarizer beside weights of cross attention: those stay out."""
    program = os.environ.get("LLAP_PROGRAM")
    if not program:
        pytest.skip("LLAP_PROGRAM does not name the program")
    arrays, config = golden("c05_llapdiff_base_uncond")
    mine = {name[6:]: a for name, a in arrays.items() if name.startswith("param.") and "cross_blk" not in name}
    monkeypatch.chdir(tmp_path)
    write_safetensors(tmp_path / "denoiser.safetensors", mine, config)
    subprocess.run([program, "import", tmp_path, "--horizon", str(config["h"]), "-q", "-o", "paper.safetensors"],
                   check=True, stdout=subprocess.DEVNULL)
    return arrays, mine


def test_a_model_file_of_the_authors_weights(imported):
    arrays, mine = imported
    net = llapdiff.torch.reference("paper.safetensors")
    assert set(net.tensors) == set(mine)
    assert all(np.array_equal(net.tensors[name].numpy(), mine[name]) for name in mine)
    check(net, arrays)
    assert "6 poles" in repr(net)


def test_the_examples_in_docstrings(imported):
    assert doctest.testmod(llapdiff.torch).failed == 0
    given = tensors(imported[0], "in.")
    model = llapdiff.train(llapdiff.demo(entities=1, variables=1, rows=200), context="1d", horizon="6h", **QUICK)
    assert examples.run("torch", {"model": model, "summary": None, **{name: given[name] for name in ("x_t", "t", "dt")}}) == 1


def test_gradients_flow():
    arrays, config = golden("c05_llapdiff_base")
    net = llapdiff.torch.Reference(tensors(arrays, "param."), config)
    for t in net.tensors.values():
        t.requires_grad_(t.is_floating_point())
    given = tensors(arrays, "in.")
    loss = ((net(given["x_t"], given["t"], given["dt"], given["cond_summary"]) - given["target"]) ** 2).mean()
    loss.backward()
    found = net.tensors["model.analysis._rho_raw"].grad
    assert found is not None and found.abs().max() > 0


def test_every_array_of_a_model():
    model = llapdiff.train(llapdiff.demo(entities=2, variables=1, rows=300), context="1d", horizon="6h", progress=False,
                           **QUICK)
    arrays, _ = arrays_of(bytes(model))
    found = llapdiff.torch.weights(model)
    assert set(found) == set(arrays) and len(found) > 0
    assert all(np.array_equal(found[name].numpy(), arrays[name]) for name in arrays)
    with pytest.raises(llapdiff.UnsupportedError, match="profile reference"):
        llapdiff.torch.reference(model)
