# SIGINT to every command: exit code 3, one line, and no file that is not whole. First while it waits for its input, where
# every command can be caught, then those that work for long at their work.
OMP_WAIT_POLICY=passive
export OMP_WAIT_POLICY
SIGNAL=INT
llapdiff synth --entities 2 --variables 1 --rows 300 --seed 3 -o data.csv
llapdiff train data.csv -c 2d --horizon 6h --size anchor --training '{"anchor": {"steps": 20}}' -o m.safetensors -q >/dev/null
mkfifo input
exec 3<>input
signal() { # SECONDS, or waiting: after the program has begun to listen
    for i in $(seq 500); do
        if grep -q llapdiff /proc/$pid/comm && grep -q '^SigCgt:.*[2367abef]$' /proc/$pid/status; then break; fi 2>/dev/null
        sleep 0.02
    done
    [ "$1" = waiting ] || sleep "$1"
    kill -$SIGNAL $pid
    [ "$SIGNAL" = INT ] || kill -$SIGNAL $pid # shell and kernel both say it when a terminal is closed, timeout says it twice
    wait $pid
    code=$?
}
# Under the thread sanitizer a signal waits for the call to return that it came in; a read that waits for ever never does.
late=${LLAP_TEST_LATE_SIGNALS:-}
waiting() {
    [ -z "$late" ] || return 0
    llapdiff "$@" --config - <input >out 2>err &
    pid=$!
    signal waiting
    [ $code = 3 ] && [ ! -s out ] && [ "$(cat err)" = "llapdiff: interrupted" ] || { echo "llapdiff $*: exit $code"; cat out err; }
}
working() { # SECONDS COMMAND...
    after=$1
    shift
    llapdiff "$@" -q >out 2>err &
    pid=$!
    signal "$after"
    [ $code = 3 ] && [ ! -s out ] && grep -q 'interrupted\|stopped' err || { echo "llapdiff $*: exit $code"; cat out err; }
}
waiting demo folder
waiting inspect data.csv --plot x.svg
waiting train data.csv -c 2d --horizon 6h -o x
waiting forecast m.safetensors data.csv -o x
waiting impute m.safetensors data.csv -o x
waiting evaluate m.safetensors data.csv
waiting info m.safetensors
waiting poles m.safetensors --plot x.svg
waiting plot run.log -o x.svg
waiting import folder -o x
waiting export m.safetensors folder
waiting synth -o x
waiting bench
waiting version
waiting help

# DATA from a pipe that nobody fills.
for c in "inspect -" "train - -c 2d --horizon 6h -o x" "forecast m.safetensors - -o x" "impute m.safetensors - -o x" \
    "evaluate m.safetensors -" "poles m.safetensors -" "info -" "plot - -o x.svg"; do
    [ -z "$late" ] || continue
    llapdiff $c -q <input >out 2>err &
    pid=$!
    signal waiting
    [ $code = 3 ] || { echo "llapdiff $c <pipe: exit $code"; cat err; }
done

working 0.3 train data.csv -c 2d --horizon 6h --size tiny --steps 1000000 -o x --state none
SIGNAL=HUP working 0.3 train data.csv -c 2d --horizon 6h --size tiny --steps 1000000 -o x --state none # the terminal is closed
SIGNAL=TERM working 0.3 train data.csv -c 2d --horizon 6h --size tiny --steps 1000000 -o x --state none # asked twice
SIGNAL=TERM
# Fits of the anchor are in the state too. (Asked by TERM: after Ctrl-C a step may take no longer than a second.)
for size in anchor tiny; do
    working 0.3 train data.csv -c 2d --horizon 6h --size $size --training '{"anchor": {"steps": 1000000}}' -o x
    grep -q "anchor: stopped after step [0-9]* of [0-9]*; resume to go on, the state is in x.state$" err || { echo "$size:"; cat err; }
    grep -q "same command with --resume goes on" err || { echo "$size:"; cat err; }
    working 0.3 train data.csv -c 2d --horizon 6h --size $size --training '{"anchor": {"steps": 1000000}}' -o x --resume
    # Instructions whose sums have another order are said.
    LLAP_ISA=portable working 0.3 train data.csv -c 2d --horizon 6h --size $size --training '{"anchor": {"steps": 1000000}}' -o x --resume
    llapdiff --version | grep -q amx && other=1 || other=0
    [ "$(grep -c 'the device was cpu (amx) and is cpu now' err)" = $other ] || { echo "$size, other instructions:"; cat err; }
    rm x.state
done
SIGNAL=INT
# A step that does not end, here a pipe that nobody reads: Ctrl-C ends it all the same.
mkfifo unread
working 1 forecast m.safetensors data.csv -o unread
rm unread
# A reader of messages that went away, and a limit of files' sizes, end no training.
quick='--training {"anchor":{"steps":5}} --steps 20'
(llapdiff train data.csv -c 2d --horizon 6h --size tiny $quick -o x 2>&1; echo $? >code) | head -c 1 >out
[ "$(cat code)" = 1 ] && llapdiff info x >out || echo "no reader: exit $(cat code)"
rm -f x
(ulimit -f 20; llapdiff train data.csv -c 2d --horizon 6h --size tiny $quick --save-every 0.001 -o x >out 2>err)
[ $? = 1 ] && grep -q 'File too large' err || { echo "files may not grow:"; cat err; }
rm -f x x.state code
working 0.3 forecast m.safetensors data.csv --every 1h -n 100000 --keep-samples -o x
working 0.3 evaluate m.safetensors data.csv -n 100000
working 0.3 bench --seconds 1000 --size tiny
working 0.3 synth --entities 1000 --rows 100000 -o x
working 0.3 demo folder --rows 100000
ls folder | grep -v '^weather.csv$\|^coverage.svg$\|^train.log$'
rm -rf folder
ls
