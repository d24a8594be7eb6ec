#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# gpuring_tune, and the tuning files that the component finds: a given one, the user's, bad ones. Two ranks that have cores
# of their own, which they say they have. TUNE: the program (default: gpuring_tune on the PATH).
. "$(dirname "$0")/lib.sh"
TUNE=${TUNE:-gpuring_tune}

cat >"$work/wrapper" <<'EOF'
#!/bin/sh
OMPI_MCA_mpi_yield_when_idle=0 exec "$@"
EOF
chmod +x "$work/wrapper"
export HOME=$work/home
mkdir "$HOME"

# job OPTIONS...: one of two ranks, without a measurement
job() { WRAPPER=$work/wrapper grun 2 --mca coll_gpuring_verbose 1 --mca coll_gpuring_measure 0 "$@" -- hello_coll; }
# says WORDS: one line, once, and right results
says() { [ "$(grep -acF -- "$1" "$out")" -eq 1 ] && good_through_gpuring; }
constants() { says "constants inside a node: $1"; }

# ---- the program ----

refused() { # WORDS ARGUMENTS...: exit status 2, one line
    local words=$1 status=0
    shift
    "$TUNE" "$@" >"$work/out" 2>"$work/err" || status=$?
    [ $status -eq 2 ] && [ ! -s "$work/out" ] && [ "$(wc -l <"$work/err")" -eq 1 ] && grep -qF -- "$words" "$work/err"
}
ok "an option that it does not have" refused "-x" -x
ok "a time that is none" refused "-t" -t long
ok "an operand" refused "file" file
ok "help" grep -qF 'usage: gpuring_tune' <("$TUNE" -h)

job
tap_check "no file: built-in constants" constants "built in"
if [ "$(nproc)" -lt 2 ]; then
    status=0
    "$TUNE" -q >"$work/out" 2>"$work/err" || status=$?
    [ $status -eq 1 ] && grep -q "one processor only" "$work/err"
    tap_result $? "one processor: nothing to measure" "$work/err"
    tap_done
fi

ok "it measures" "$TUNE" -t 0
file=$(echo "$HOME"/.gpuring/*.tune)
[ -f "$file" ] && [ "$(find "$HOME" -type f | wc -l)" -eq 1 ]
tap_result $? "one file, for this kind of machine" "$work/why"
grep -q '100%' "$work/why"
tap_result $? "it shows progress" "$work/why"
for name in gpuring_tune processor processors kernel date version; do
    grep -q "^$name = ." "$file" || echo "no $name"
done >"$work/why"
[ ! -s "$work/why" ] && grep -qE '^[a-z]+\.exchange = [0-9.]+$' "$file" && grep -qE '^[a-z]+\.slots =( [0-9.]+){4}$' "$file"
tap_result $? "it says on what it was made, and the constants" "$work/why" "$file"
ok "it knows its file" "$TUNE" -c "$file"
grep -q "is used here" "$work/why"
tap_result $? "and says that it is used" "$work/why"
"$TUNE" -q -t 0 -o - >"$work/out" 2>"$work/err"
[ ! -s "$work/err" ] && grep -q '^gpuring_tune = 1$' "$work/out"
tap_result $? "standard output, without progress" "$work/err"
! "$TUNE" -q -t 0 -o "$work/no/where" 2>"$work/err" && grep -q "no/where" "$work/err"
tap_result $? "a file that cannot be written" "$work/err"
mkdir "$work/folder"
! "$TUNE" -q -t 0 -o "$work/folder" 2>"$work/err" && ! "$TUNE" -q -t 0 -o "$work/folder/" 2>>"$work/err" &&
    [ "$(ls -A "$work/folder")" = "" ] && [ ! -e "$work/folder.part" ]
tap_result $? "a folder: nothing is left behind" "$work/err"
mkfifo "$work/pipe"
timeout 60 cat "$work/pipe" >"$work/out" &
"$TUNE" -q -t 0 -o "$work/pipe" 2>"$work/err" && wait $! && [ -p "$work/pipe" ] && grep -q '^gpuring_tune = 1$' "$work/out"
tap_result $? "a pipe, or a device, is written to and not replaced" "$work/err"

# ---- the component ----

job
tap_check "the user's file" constants "file $file: exchange"
tap_check "each constant of a whole file is the file's" not_seen 'inside a node: .*(measured|built in)'
job --mca coll_gpuring_tune_file none
tap_check "none: no file" constants "built in"
grun 2 --mca coll_gpuring_verbose 1 -- hello_coll
tap_check "ranks that share cores read none" constants "built in"
mkdir -p "$work/etc/gpuring"
sed 's/\.exchange = .*/.exchange = 0.75/' "$file" >"$work/etc/gpuring/${file##*/}"
job -x OPAL_SYSCONFDIR="$work/etc"
tap_check "the user's file comes before the system's" constants "file $file: exchange"
mv "$file" "$work/given"
job -x OPAL_SYSCONFDIR="$work/etc"
tap_check "the system's file" constants "file $work/etc/gpuring/${file##*/}: exchange 0.75 us"
sed -i 's/^\([a-z]*\)\.exchange = .*/\1.exchange = 0.625/' "$work/given"
job --mca coll_gpuring_tune_file "$work/given"
tap_check "a given file" constants "file $work/given: exchange 0.625 us"
job --mca coll_gpuring_tune_file "$work/given" --mca coll_gpuring_report json:"$work/report.json"
ok "the report says where constants come from" grep -q '"constants": "file"' "$work/report.json"
job --mca coll_gpuring_tune_file "$work/given" --mca coll_gpuring_report summary
tap_check "and its summary which" seen "^# constants inside a node: file $work/given: exchange 0.625 us"

job --mca coll_gpuring_report json:/dev/full
tap_check "a report for which there is no space: one line" says 'cannot write the report to "/dev/full"'
if localedef -i de_DE -f UTF-8 "$work/de_DE.UTF-8" >"$work/why" 2>&1; then
    job -x LOCPATH="$work" -x LC_ALL=de_DE.UTF-8 --mca coll_gpuring_tune_file "$work/given" \
        --mca coll_gpuring_report json:"$work/report.json"
    tap_check "a program with a decimal comma" constants "file $work/given: exchange 0.625 us"
    ok "its report has points" python3 -m json.tool "$work/report.json"
else
    tap_skip "a program with a decimal comma" "no locale can be made here"
fi

bad() { # TEXT WORDS: one line says so, and constants are built in
    tap_check "$1: one line" says "the tuning file \"$work/given\" is not used: $2"
    tap_check "$1: built-in constants" constants "built in"
}
sed -i 's/^processor = .*/processor = another/' "$work/given"
job --mca coll_gpuring_tune_file "$work/given"
bad "a file of another machine" 'it was made on another machine (processor: "another", here'
! "$TUNE" -c "$work/given" 2>"$work/err" && grep -q "made on another machine" "$work/err"
tap_result $? "which gpuring_tune says, too" "$work/err"
echo nonsense >"$work/given"
job --mca coll_gpuring_tune_file "$work/given"
bad "a file that is none" "line 1 is not possible"
rm "$work/given"
job --mca coll_gpuring_tune_file "$work/given"
bad "no file" "No such file or directory"
mkdir "$file"
job
tap_check "the user's, unreadable: one line" says "the tuning file \"$file\" is not used: Is a directory"

tap_done
