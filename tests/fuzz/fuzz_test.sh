#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Each fuzz target on its corpus, then on what libFuzzer makes of that, for some seconds. Prints TAP. What fails is kept.
# Environment: srcdir, builddir (from make); FUZZ_SECONDS: of each target, default 5; FUZZ_TARGETS: their names, default all.
#     make check-fuzz                                     the corpus, and 5 s each
#     make check-fuzz FUZZ_SECONDS=600 FUZZ_TARGETS=net   ten minutes of one
# What it finds that the corpus has not: $builddir/tests/fuzz/new/TARGET. To take it over, in little:
#     build/tests/fuzz/fuzz_net -merge=1 -max_total_time=60 tests/fuzz/corpus/net build/tests/fuzz/new/net
set -u
. "$(dirname "$0")/../lib.sh"
make_work
seconds=${FUZZ_SECONDS:-5}
programs=$(find "$builddir/tests/fuzz" -maxdepth 1 -name 'fuzz_*' -type f -perm -u+x | sort)
if [ -z "$programs" ]; then
    tap_skip_all "no clang with libFuzzer"
fi
row() { # row NAME PROGRAM ARGUMENTS...
    local status=0
    nice "${@:2}" >"$log" 2>&1 || status=$?
    tail -n 40 "$log" >"$work/end"
    tap_result $status "$1" "$work/end"
}
for program in $programs; do
    target=${program##*/fuzz_}
    case " ${FUZZ_TARGETS:-$target} " in *" $target "*) ;; *) continue ;; esac
    corpus=$srcdir/tests/fuzz/corpus/$target new=$builddir/tests/fuzz/new/$target log=$builddir/tests/fuzz/$target.out
    mkdir -p "$new"
    row "$target: the corpus" "$program" -runs=0 "$corpus"
    row "$target: $seconds s" "$program" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=1024 \
        -artifact_prefix="$new/" "$new" "$corpus"
    echo "# $(sed -n 's/^Done /&/p' "$log")"
done
tap_done
