#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: sh docs/refresh.sh [PROGRAM]
# Makes everything again that is output of the program, the table of predictions and the parts of documents: run it when predictions change.
# Minutes; `stepsim validate --update` and `python3 docs/figures.py` alone take seconds and are what tests of every change ask for.
set -eu
program=$(realpath "${1:-$(dirname "$0")/../build/stepsim}")
cd "$(dirname "$0")/.."
new=$(mktemp)
trap 'rm -f "$new" "$new.part"' EXIT

# page FILE COMMAND...: what the command prints becomes the file
page() {
    file=$1
    shift
    "$@" > "$new"
    cp "$new" "$file"
}
# part MARK DOCUMENT COMMAND...: what the command prints goes between the document's lines "MARK begin" and "MARK end"
part() {
    mark=$1 document=$2
    shift 2
    "$@" > "$new.part"
    awk -v file="$new.part" -v mark="<!-- $mark " '
        index($0, mark "end") { skip = 0 }
        !skip { print }
        index($0, mark "begin") { while ((getline line < file) > 0) print line; skip = 1 }' "$document" > "$new"
    cp "$new" "$document"
}
"$program" validate --update > /dev/null 2>&1
UPDATE=figures python3 tests/cli/run.py "$program" . || echo "refresh.sh: words of tests/cli moved, too" >&2
sh docs/guide/pictures.sh "$program"
python3 tests/structure.py "$(dirname "$program")" . --svg docs/design/rooms.svg
page docs/guide/study-search.md python3 docs/guide/study-search.py "$program"
page docs/guide/study-layouts.md python3 docs/guide/study-layouts.py "$program"
page docs/guide/study-long-context.md python3 docs/guide/study-long-context.py "$program"
page docs/guide/study-ranking.md python3 docs/guide/study-ranking.py "$program"
for study in 70b-8-vs-16:study-70b-8-vs-16-nodes oversubscription:study-oversubscription expert-load:study-expert-load \
    qwen3-moe:study-qwen3-moe fabrics:study-fabrics; do
    page "docs/guide/${study#*:}.md" sh "docs/guide/study-${study%%:*}.sh" "$program"
done
page docs/guide/decide.md sh docs/guide/decide.sh "$program"
page docs/guide/deepseek-v3.md sh docs/guide/deepseek-v3.sh "$program"
part threads docs/guide/check.md python3 tests/check/threads.py "$program" . --table
page docs/guide/capacity.md sh docs/guide/capacity.sh "$program"
page docs/reference/models.md python3 docs/models.py "$program"
page docs/reference/bad-inputs.md python3 docs/bad-inputs.py "$program"
sh tests/consumer/examples.sh "$(dirname "$program")" . --update # docs/reference/api.md
part cluster docs/guide/schedules.md sh docs/guide/schedules.sh "$program"
STEPSIM_DATA=$PWD STEPSIM_LIBRARY=$(dirname "$program")/libstepsim.so python3 docs/guide/notebook.py

python3 tests/documents.py "$program" . --update # what commands print in README and guide
part tables docs/design/validation.md sh docs/design/validation-tables.sh "$program"
part layouts docs/design/validation.md python3 docs/design/layouts.py "$program"
part growth docs/design/validation.md python3 docs/design/growth.py "$program"
part fitted docs/reference/model.md python3 docs/reference/fits.py "$program" fitted
part removed docs/reference/model.md python3 docs/reference/fits.py "$program" removed
python3 docs/figures.py
