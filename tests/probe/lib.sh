# SPDX-License-Identifier: Apache-2.0
# What the tests of the probe's scripts share. usage: . lib.sh, in a test that has the arguments PYTHON STEPSIM SOURCE_ROOT
set -eu
python=$1
stepsim=$2
src=$3
path=$src/tests/probe/stand-in
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
mkdir models
echo '{"num_attention_heads": 16, "num_key_value_heads": 2, "hidden_size": 2048, "vocab_size": 32000}' > models/a.json
echo '{"num_attention_heads": 4, "hidden_size": 256, "vocab_size": 50257}' > models/b.json

probe() { # probe SCRIPT WORDS...
    name=$1
    shift
    PYTHONPATH=$path PYTHONDONTWRITEBYTECODE=1 "$python" -S "$src/validation/probe/$name.py" "$@"
}
expect() { # expect WHAT EXPECTED ACTUAL
    [ "$2" = "$3" ] || { printf '%s: expected "%s", got "%s"\n' "$1" "$2" "$3"; exit 1; }
}
refused() { # refused WHAT STATUS TEXT SCRIPT WORDS...: it ends so, with one line of error that has the text
    what=$1 wanted=$2 text=$3
    shift 3
    status=0
    probe "$@" > out 2> err || status=$?
    expect "$what" "$wanted 1 1" "$status $(grep -c "$text" err) $(grep -c 'error: ' err)"
    expect "$what: no traceback" 0 "$(grep -c Traceback err || true)"
}
field() { # field N PATTERN FILE: of the only row with the pattern
    expect "rows with $2" 1 "$(grep -c -- "$2" "$3")"
    grep -- "$2" "$3" | cut -d, -f"$1"
}

# What every script does where there is no PyTorch or GPU, and with tables that it cannot take
refuses() { # refuses SCRIPT WORDS...
    path=
    refused "without PyTorch" 3 'PyTorch is not installed' "$@"
    path=$src/tests/probe/stand-in
    STAND_IN=no-gpu refused "without a GPU" 3 'no GPU that PyTorch can use' "$@"
    refused "nothing of that name" 3 'is chosen by --only and --without' "$@" --only 'no such thing'
    refused "no number" 2 'argument --seconds: invalid' "$@" --seconds much
    echo id > columns.csv
    refused "other columns" 3 'its columns are not those of' "$@" -o columns.csv
    printf 'a\377\n' > binary.csv
    refused "no text" 3 'it cannot be read' "$@" -o binary.csv
    refused "no folder" 3 'it cannot be written' "$@" -o none/t.csv
}
