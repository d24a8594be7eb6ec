#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# gpuring_bench under mpirun: formats, keys, checks, exit status, error lines. Prints TAP. Environment: BENCH, the program; and
# see lib.sh.

# shellcheck disable=SC2154,SC2317 # work is from lib.sh; the tests are called through ok
. "$(dirname "$0")/lib.sh"

# bench NP ARGS...: runs it; $work/out, $work/err and the exit status tell.
bench() {
    local np=$1
    shift
    # shellcheck disable=SC2086 # MPIRUN is a command with arguments
    timeout 300 $MPIRUN -np "$np" "$BENCH" "$@" >"$work/out" 2>"$work/err" </dev/null
}

# json EXPRESSION: is it true of the output, d?
json() {
    python3 - "$work/out" "$1" <<'EOF'
import json, sys
d = json.load(open(sys.argv[1]))
KEYS = {"collective", "ranks", "nodes", "device", "type", "op", "results"}
ROW = {"bytes", "avg_us", "min_us", "max_us", "p50_us", "p99_us", "algbw_GBs", "busbw_GBs",
       "ideal_GBs", "efficiency", "errors", "algorithm", "cycle_us"}
def near(a, b):
    return abs(a - b) <= 1e-6 * abs(b)
if not eval(sys.argv[2]):
    print(sys.argv[2], "is not true of", d)
    sys.exit(1)
EOF
}

json_of_one() {
    bench 2 allreduce -m 64:1k -i 3 -x 1 -B 10 -o json &&
        json 'KEYS <= d.keys() and all(ROW <= r.keys() for r in d["results"])' &&
        json 'd["collective"] == "allreduce" and d["ranks"] == 2 and d["device"] == "host"' &&
        json '[r["bytes"] for r in d["results"]] == [64, 128, 256, 512, 1024]' &&
        json 'all(near(r["busbw_GBs"], r["bytes"] / r["avg_us"] / 1e3) for r in d["results"])' &&
        json 'all(r["ideal_GBs"] == 10 and r["errors"] is None for r in d["results"])' &&
        json 'all(near(r["efficiency"], r["busbw_GBs"] / 10) for r in d["results"])' &&
        json 'all(r["min_us"] <= r["avg_us"] <= r["max_us"] for r in d["results"])' &&
        json 'all(r["p50_us"] <= r["p99_us"] for r in d["results"])' &&
        json 'all(r["max_us"] < r["cycle_us"] for r in d["results"])'
}

json_of_several() {
    bench 3 allgather bcast -m 1k:1k -i 3 -B 10 -o json --fit &&
        json '[x["collective"] for x in d] == ["allgather", "bcast"]' &&
        json 'd[0]["results"][0]["bytes"] == 1020 and d[1]["results"][0]["bytes"] == 1024' &&
        json 'all(KEYS <= x.keys() and x["op"] == "none" and x["fit"] is None for x in d)'
}

json_of_all() {
    bench 2 all -m 16:16 -i 2 -B 10 -o json && json 'len(set(x["collective"] for x in d)) == len(d) == 23'
}

# S and busbw / algbw, on three ranks
factors() {
    bench 3 gather gatherv scatter scatterv alltoallv scan exscan -m 1k:1k -i 3 -x 1 -B 10 -o json &&
        json '[x["op"] for x in d] == 5 * ["none"] + 2 * ["sum"]' &&
        json '[x["results"][0]["bytes"] for x in d] == 5 * [1020] + 2 * [1024]' &&
        json 'all(near(r["algbw_GBs"], r["bytes"] / r["avg_us"] / 1e3) for x in d for r in x["results"])' &&
        json 'all(near(r["busbw_GBs"], r["algbw_GBs"] * 2 / 3) for x in d[:5] for r in x["results"])' &&
        json 'all(near(r["busbw_GBs"], r["algbw_GBs"]) for x in d[5:] for r in x["results"])' &&
        json 'all(r["ideal_GBs"] == 10 for x in d for r in x["results"])'
}

json_fit() {
    bench 2 bcast -m 64k:1M -i 10 -B 10 -o json --fit &&
        json 'd["fit"] is None or d["fit"]["bandwidth_GBs"] > 0'
}

one_rank() {
    bench 1 all -m 4:64 -i 2 -c -o json &&
        json 'all(r["errors"] == 0 and r["ideal_GBs"] is None for x in d for r in x["results"])'
}

# no_errors NP ARGS...: the run succeeds and every row says 0 errors.
no_errors() {
    local np=$1
    shift
    bench "$np" "$@" -i 2 -x 1 -B 10 -c -o csv &&
        awk -F, 'NR > 1 { rows++; bad += $NF != "0" } END { exit !(rows > 0 && bad == 0) }' "$work/out"
}

# all_right NP N ARGS...: the same of all collectives, N of them.
all_right() {
    local np=$1 n=$2
    shift 2
    no_errors "$np" all "$@" && [ "$(awk -F, 'NR > 1 { print $1 }' "$work/out" | sort -u | wc -l)" -eq "$n" ]
}

# sees_corruption N ARGS...: a wrong element in each of N collectives, in the check before and in that after the timed
# calls.
sees_corruption() {
    local n=$1
    shift
    GPURING_BENCH_CORRUPT=1 bench 2 all -m 64:64 -i 2 -B 10 -c -o csv "$@"
    [ $? -eq 1 ] && [ "$(awk -F, 'NR > 1 && $NF == 2' "$work/out" | wc -l)" -eq "$n" ]
}

# A list of kinds prints as it was given; a field of CSV that has a comma is quoted.
lists_devices() {
    bench 3 bcast -d host,host -m 4:4 -i 2 -B 10 -o csv && grep -q '^bcast,3,1,"host,host",float,' "$work/out" &&
        bench 2 bcast -d host,host -m 4:4 -i 2 -B 10 -o json && json 'd["device"] == "host,host"' &&
        bench 2 bcast -d host,host -m 4:4 -i 2 && grep -q ' device host,host, ' "$work/out" &&
        grep -q 'B = .*memcpy' "$work/out"
}

csv_rows() {
    bench 2 allreduce bcast -m 4:8 -i 2 -B 10 -o csv &&
        [ "$(wc -l <"$work/out")" -eq 5 ] && [ "$(awk -F, '{ print NF }' "$work/out" | sort -u)" = 19 ]
}

table_rows() {
    bench 2 reduce -m 4:16 -i 2 -B 10 -c &&
        [ "$(grep -vc '^#' "$work/out")" -eq 3 ] && grep -q 'B = 10 GB/s (option)' "$work/out" &&
        grep -q 'I = n/a' "$work/out" && grep -q 'library: ' "$work/out"
}

measures_B() {
    bench 2 bcast -m 4:4 -i 2 -o json &&
        json 'd["B"]["source"] == "measured" and d["B"]["GBs"] > 0 and d["I"]["source"] == "n/a"'
}

# Inside a node the ideal is that of the size, from an exchange and the rate of copies of that size.
ideal_by_size() {
    bench 2 allreduce -m 4k:1M -i 2 -x 0 -o json &&
        json '[c["bytes"] for c in d["by_size"]["copies"]] == [1 << k for k in (10, 12, 14, 16, 18, 20, 22, 25)]' &&
        json 'd["by_size"]["exchange_us"] > 0 and all(c["GBs"] > 0 for c in d["by_size"]["copies"])' &&
        json 'all(near(r["ideal_GBs"], r["bytes"] / (1e3 * d["by_size"]["exchange_us"] + r["bytes"] / c["GBs"]))
            for r in d["results"] for c in d["by_size"]["copies"] if r["bytes"] == c["bytes"])' &&
        json 'all(near(r["efficiency"], r["busbw_GBs"] / r["ideal_GBs"]) for r in d["results"])' &&
        bench 2 bcast -m 4:4 -i 2 -B 10 -o json && json 'd["by_size"] is None' &&
        bench 2 bcast -m 4:4 -i 2 --ideal=published -o json && json 'd["by_size"] is None' &&
        bench 2 bcast -m 4:4 -i 2 && grep -q 'by size: an exchange .* 16 KiB [0-9.]*, .* GB/s$' "$work/out"
}

writes_file() {
    bench 2 bcast -m 4:4 -i 2 -B 10 -o json -f "$work/file" && [ ! -s "$work/out" ] &&
        mv "$work/file" "$work/out" && json 'd["collective"] == "bcast"'
}

# complains PATTERN: there is one line of ours, and it has PATTERN.
complains() {
    [ "$(grep -c '^gpuring_bench: ' "$work/err")" -eq 1 ] &&
        grep '^gpuring_bench: ' "$work/err" | grep -q -e "$1"
}

# refuses PATTERN ARGS...: exit status 2 and a complaint, on one rank: mpirun takes a second longer.
refuses() {
    local pattern=$1
    shift
    timeout 300 "$BENCH" "$@" >"$work/out" 2>"$work/err" </dev/null
    [ $? -eq 2 ] && complains "$pattern"
}

# The same on two ranks, of which only one speaks.
both_refuse() {
    local pattern=$1
    shift
    bench 2 "$@"
    [ $? -eq 2 ] && complains "$pattern"
}

# Where the launcher does not say before MPI_Init which rank it starts, a list cannot be followed.
refuses_an_unknown_rank() {
    # shellcheck disable=SC2086 # MPIRUN is a command with arguments
    timeout 300 $MPIRUN -np 2 env -u OMPI_COMM_WORLD_RANK "$BENCH" -d host,pinned bcast -m 4:4 >"$work/out" \
        2>"$work/err" </dev/null
    [ $? -eq 2 ] && complains "rank 1: -d: 'host,pinned': the launcher sets no OMPI_COMM_WORLD_RANK; allowed: one kind"
}

helps() {
    bench 2 -h && [ "$(grep -c '^usage: ' "$work/out")" -eq 1 ] && grep -q 'sendrecv, or all$' "$work/out" &&
        [ "$(awk 'length > 95' "$work/out" | wc -l)" -eq 0 ]
}

ok "JSON of one collective" json_of_one
ok "JSON of several is a list" json_of_several
ok "all is every collective" json_of_all
ok "S and factors" factors
ok "JSON fit" json_fit
ok "one rank" one_rank
ok "CSV" csv_rows
ok "table" table_rows
ok "B is measured" measures_B
ok "the ideal of a size" ideal_by_size
ok "-f" writes_file
ok "-h" helps

for np in $(depth '3' '1 2 3 4'); do
    ok "all, float sum, $np ranks" all_right $np 23 -m 4:40k -r $((np - 1))
    ok "all, in place, $np ranks" all_right $np 16 --in-place -m 1k:40k -r $((np - 1))
done
barrier_has_one_row() {
    bench 2 barrier -m 4:1k -i 3 -B 10 -c -o json && json '[r["bytes"] for r in d["results"]] == [0]' &&
        json 'all(r["avg_us"] > 0 and r["busbw_GBs"] is None and r["errors"] == 0 for r in d["results"])'
}
ok "barrier: one row, a latency" barrier_has_one_row
for form in --nonblocking --persistent; do
    in_all && ok "all, $form" all_right 3 23 $form -m 1k:40k -r 1
    ok "all, $form --in-place" all_right 3 16 $form --in-place -m 1k:40k -r 1
done
ok "large enough to segment" no_errors 3 all -m 1M:1M
while read -r type op; do
    ok "reductions, $type $op" no_errors 4 allreduce reduce_scatter scan exscan -T "$type" -O "$op" -m 64:8k
done < <(rows_of_depth '^(int8|int32|double max)' <<END
int8 sum
uint8 prod
int16 min
uint16 max
int32 bxor
uint32 band
int64 bor
uint64 sum
double prod
double max
float min
byte bor
char max
END
)

in_all && ok "a wrong element is found" sees_corruption 23
ok "a wrong element is found, in place" sees_corruption 16 --in-place -r 1

ok "refuses a collective, on two ranks" both_refuse "'nosuch'.*allreduce .* all" nosuch
ok "refuses no collective, and names all" refuses \
    'no COLLECTIVE named; allowed: allreduce .* neighbor_alltoallw sendrecv all$'
ok "refuses an unknown collective, and names all" refuses \
    "COLLECTIVE: 'x\{200\}' is not valid; allowed: allreduce .* neighbor_alltoallw sendrecv all$" "$(printf 'x%.0s' {1..300})"
ok "refuses a size" refuses "-m: '8:4'" -m 8:4 bcast
ok "refuses a size without limit" refuses "-m: '8'" -m 8 bcast
ok "refuses a type" refuses "-T: 'complex'.*double" -T complex bcast
ok "refuses an operation" refuses "-O: 'avg'.*sum prod" -O avg allreduce
ok "refuses bits of floats" refuses "-O: 'band'.*float" -O band allreduce
ok "refuses a root" refuses "-r: '1'.*0 to 0" -r 1 bcast
ok "refuses no iterations" refuses "-i: '0'" -i 0 bcast
ok "refuses a bandwidth" refuses "-B: 'fast'" -B fast bcast
ok "refuses a format" refuses "-o: 'xml'.*table csv json" -o xml bcast
ok "refuses an ideal" refuses "--ideal: 'best'.*published" --ideal=best bcast
refuses_kind() { CUDA_VISIBLE_DEVICES='' refuses "-d: '$1'.*allowed: host" -d "$1" bcast; }
for kind in cuda managed pinned; do
    ok "refuses $kind where there is no device" refuses_kind $kind
done
ok "prints a list of kinds of memory" lists_devices
for list in fpga '' ',' 'cuda,' ',host' cuda,,host cuda,fpga host:cuda; do
    ok "refuses the kinds '$list'" refuses \
        "-d: '$list' is not valid; allowed: host cuda managed pinned, or up to 64 of them with commas" -d "$list" bcast
done
ok "refuses a list where ranks are not known" refuses_an_unknown_rank
ok "refuses an option" refuses "--bogus: is not an option" --bogus bcast
ok "refuses a missing value" refuses "-m: needs a value" bcast -m
ok "refuses sendrecv in place" refuses "--in-place: 'sendrecv'" --in-place sendrecv
ok "refuses neighbors in place" refuses "--in-place: 'neighbor_alltoall'" --in-place neighbor_alltoall
ok "refuses what an int of bytes cannot say" \
    refuses "-m: '4294967296' is too large for alltoallw of type float; allowed: up to 536870911" -m 4G:4G alltoallw
ok "refuses two forms" refuses "only one" --persistent --nonblocking bcast
ok "refuses a file" refuses "-f: '$work/no/file'" -f "$work/no/file" bcast

tap_done
