# The reference profile: options of its networks and stages, kept with the model; another model as the start.
llapdiff synth --entities 2 --variables 2 --rows 300 --seed 3 -o data.csv
train() { llapdiff train data.csv -t v0 -c 24 --horizon 6 --profile reference "$@"; }
brief='{"vae": {"steps": 1}, "summarizer": {"steps": 1}, "denoiser": {"steps": 1, "rows": 20}, "data": {"val_batches": 1}}'
train -q -o m.safetensors --training "$brief" >/dev/null
some='{"vae": {"steps": 4, "beta": 0.01}, "summarizer": {"steps": 3}, "denoiser": {"steps": 5, "ema": 0.9, "rows": 20}, "data": {"shuffle": false, "val_batches": 1}}'
narrow='{"denoiser": {"laplace_k": 3, "num_layers": 1}, "noise": {"unconditional": 0.5}}'
train -q -o o.safetensors --training "$some" --network "$narrow" --log o.log | sed -n 3p
sed -n '$p' o.log | grep -o '"step":[0-9]*'
llapdiff info o.safetensors --json | grep -E '"(beta|ema|shuffle|unconditional|size)":'
train -q -o p.safetensors --from m.safetensors --training "$brief" >/dev/null && ! cmp -s m.safetensors p.safetensors && echo "another start"
llapdiff train data.csv -q -t v1 -c 24 --horizon 6 --profile reference -o p.safetensors --from m.safetensors --training "$brief" >/dev/null
refused() {
    train -q -o p.safetensors "$@"
    echo "exit $?"
}
refused --from o.safetensors
llapdiff train data.csv -q -t v0 -c 24 --horizon 6 --size anchor -o anchor.safetensors >/dev/null
refused --from anchor.safetensors
refused --network '{"summarizer": {"context": 3}}'
refused --network '{"options": {"conditioning": false, "joint_summarizer": false}}'
refused --training '{"networks": {"lr": 0.1}}'
refused --transform none
