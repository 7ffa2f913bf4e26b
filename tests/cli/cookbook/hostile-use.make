# Good readings, and what strangers send.
awk 'BEGIN { srand(5); print "entity,time,level"; for (e = 0; e < 2; e++) for (i = 0; i < 300; i++) { x = .9 * x + rand() - .5
        printf "e%d,%d,%.2f\n", e, 1704067200 + 3600 * i, 50 + 5 * x } }' >good.csv
sed 's/^e0,/a\/b,/; s/^e1,/..;<b>,/' good.csv >names.csv
sed '500,$s/,[0-9.]*$/,1e9/' good.csv >huge.csv
head -c 3000 /dev/zero >binary.csv
head -c 500 good.csv >not_a_model.safetensors
