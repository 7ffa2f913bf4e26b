# A training that has come to its end is not made again by --resume: that says so, and the model stays as it is.
OMP_WAIT_POLICY=passive
export OMP_WAIT_POLICY
llapdiff synth --entities 1 --variables 1 --rows 300 --seed 3 -o data.csv
train() {
    llapdiff train data.csv -c 1d --horizon 6h $how -o m.st --log m.log "$@" 2>err >about || cat err
    grep 'finished\|another\|no state' err
}
for how in '--size anchor --training {"anchor":{"steps":10}}' '--size tiny --steps 3 --training {"anchor":{"steps":10}}' \
    '--profile reference --size tiny --steps 3'; do
    train --resume
    cp m.st once.st
    cp m.log once.log
    train --resume -j 1
    cmp m.st once.st && cmp m.log once.log && grep -c 'a model of' about
    train --resume --seed 2
    cmp -s m.st once.st || echo another model
    rm m.*
done
ls
