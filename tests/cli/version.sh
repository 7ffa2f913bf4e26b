llapdiff --version | sed -n 's/^llapdiff [0-9.]*$/llapdiff VERSION/p; s/^\(  cpu  *\).*/\1SETS/p'
llapdiff version --json | sed 's/"version": "[0-9.]*"/"version": V/; s/"cpu": ".*"/"cpu": SETS/; s/{"simd": [a-z]*[^}]*}/{...}/'
llapdiff --version >/dev/full
echo "exit $?"
