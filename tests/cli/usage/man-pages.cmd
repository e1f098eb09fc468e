# Each option of each command has an entry in the command's page, a page has roff's requests alone, and the first page names commands alone
"$STEPSIM" help --options > options
for command in $(cut -f1 options | sort -u); do
    "$STEPSIM" help --man "$command" > page
    grep -c "^\.TH STEPSIM-$(echo "$command" | tr a-z A-Z) 1 " page | grep -vx 1
    grep '^[.]' page | grep -vE '^[.](\\"|TH|SH|TP|PP|B|BR|br|nf|fi)( |$)'
    sed 's/\\-/-/g' page > plain
    awk -F'\t' -v command="$command" '$1 == command { print $4 }' options | sort -u > names
    sed -n 's/^\\fB\(--[a-z0-9-]*\).*\\fR.*/\1/p' plain | sort -u > entries
    comm -23 names entries | sed "s/^/$command: /"
done
"$STEPSIM" help --man | sed -n 's/^[.]BR stepsim\\-\([a-z]*\) (1),/\1/p' | sort > named
cut -f1 options | sort -u | comm -13 - named
"$STEPSIM" help --man run run; echo $?
"$STEPSIM" help --man runn; echo $?
