try() {
    llapdiff "$@"
    echo "exit $?"
}
try forecst
try versoin
try version --jsn
try version -x
try version --json=yes
try version extra
try version --threads
try version --threads many
try version --threads 0
try version --threads 1.5
try help nothing
try help --completion fish
try forecast --total bogus model data.csv
try forecast --total none.model none.csv
try evaluate model data.csv --keep common
