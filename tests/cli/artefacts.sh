# A small denoiser as the authors' program would save it, through pt2safetensors.py, import and export. PyTorch is played by a
# few lines: what it reads is not a real checkpoint.
tool=$(dirname "$0")/../../tools/pt2safetensors.py
mkdir torch
cat >torch/__init__.py <<'PY'
import array

class Tensor:
    def __init__(self, *shape, fill=0.0):
        self.shape, n = shape, 1
        for d in shape: n *= d
        self.data = array.array("f", [fill + 0.001 * (i % 97) for i in range(n)])
    def __getattr__(self, name):
        if name in ("detach", "cpu", "float", "contiguous", "numpy"): return lambda: self
        raise AttributeError(name)
    def tobytes(self): return self.data.tobytes()

def load(path, map_location, weights_only):
    if path == "bad.pt": raise ValueError("it holds more than tensors")
    T, H, K, Z = 20, 8, 3, 2
    M = 2 * K
    s = {"time_embed.weight": Tensor(T, H), "model.output_skip_scale": Tensor(),
         "model.analysis._rho_raw": Tensor(K), "model.analysis._omega_raw": Tensor(K), "model.analysis.comp_emb": Tensor(1, M, H),
         "model.analysis.attention.in_proj_weight": Tensor(3 * H, H), "model.analysis.attention.in_proj_bias": Tensor(3 * H)}
    for name, out, inner in [("to_poles.1", 2 * K, 2 * H), ("pole_embedding.0", H, 3), ("pole_embedding.2", H, H),
                             ("time_key_proj.0", H, 1), ("time_key_proj.2", H, H), ("value_proj", H, Z), ("out_proj", Z, H),
                             ("attention.out_proj", H, H)]:
        s[f"model.analysis.{name}.weight"], s[f"model.analysis.{name}.bias"] = Tensor(out, inner), Tensor(out)
    for name, n in [("analysis.q_norm", H), ("analysis.k_norm", H), ("analysis.v_norm", H), ("synthesis.norm", Z), ("head_norm", Z)]:
        s[f"model.{name}.weight"], s[f"model.{name}.bias"] = Tensor(n, fill=1.0), Tensor(n)
    for name, out, inner in [("mlp_in", 2 * H, Z), ("mlp_out", Z, H)]:
        s[f"model.synthesis.{name}.weight_orig"], s[f"model.synthesis.{name}.bias"] = Tensor(out, inner), Tensor(out)
        s[f"model.synthesis.{name}.weight_u"], s[f"model.synthesis.{name}.weight_v"] = Tensor(out), Tensor(inner)
    s["model.head_proj.weight"], s["model.head_proj.bias"] = Tensor(Z, Z), Tensor(Z)
    aliases = {k.replace("model.analysis.", "model.synthesis.encoder."): v for k, v in s.items() if k.startswith("model.analysis.")}
    ema = {k: v for k, v in s.items() if not k.endswith(("weight_u", "weight_v"))}
    return {"model": {**s, **aliases}, "ema": ema, "epoch": 3,
            "model_config": {"llapdiff": {"num_heads": 2, "predict_type": "x0", "rho_conditioning_mode": "raw"}}}
PY
export PYTHONPATH=.
python3 "$tool" --denoiser denoiser.pt --output in
python3 "$tool" --denoiser bad.pt --output in; echo "exit $?"
llapdiff import in -o one.safetensors --horizon 24 --step 1h --targets NO2,PM10 --quiet
llapdiff export one.safetensors out
ls out
llapdiff import out -o two.safetensors --quiet >/dev/null
cmp one.safetensors two.safetensors && echo same
cmp in/denoiser.safetensors out/denoiser.safetensors >/dev/null || echo "no aliases in it, but the tables of the noise process"
# mistakes
llapdiff import in --quiet; echo "exit $?"
llapdiff import in -o x --step 1h; echo "exit $?"
llapdiff import nowhere -o x --horizon 1; echo "exit $?"
llapdiff import in -o x --horizon 24 --targets NO2; echo "exit $?"
printf 'x,time,y\n' >data.csv
llapdiff export data.csv out; echo "exit $?"
# a model of our own, there and back; without its statistics the tensors say the rest
llapdiff synth --entities 2 --variables 2 --rows 300 --seed 3 -o data.csv
llapdiff train data.csv --grid 1h -t v0 -c 24 --horizon 6 --profile reference --size tiny --steps 4 -o r.safetensors -q | sed 1d
llapdiff export r.safetensors r && llapdiff import r -o s.safetensors -q >/dev/null && cmp r.safetensors s.safetensors && echo "the same model"
rm r/statistics.safetensors
llapdiff import r -o t.safetensors -q --horizon 6 --step 1h --targets v0 --inputs v0,v1 --entities s000,s001 2>/dev/null | sed 1d
llapdiff forecast t.safetensors data.csv --grid 1h -q | wc -l
llapdiff poles r.safetensors data.csv --grid 1h -q --at 2000-01-10T00:00:00Z | sed -n 's/ poles.*//p'
