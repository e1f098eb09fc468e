{ for t in gemm linear sparse deepep; do gzip -dc "$SRC/validation/aic-$t.csv.gz" | sed -n '1p;/H100/{p;n;n;n;n;n;n;n;n;n}'; done; } | sed '1!{/^kind,/d}' > b.csv
"$STEPSIM" calibrate --platform h100 --microbench b.csv; echo $?
