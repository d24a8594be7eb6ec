#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# docs/parameters.md lists the parameters and counters that the component has, with their defaults and algorithms.
. "$(dirname "$0")/lib.sh"
page=${srcdir:-$(dirname "$0")/../..}/docs/parameters.md

OMPI_MCA_mca_base_component_path=SYSTEM_DEFAULT:$GR_DIR "$OMPI_INFO" --parsable --param coll gpuring --level 9 \
    >"$work/info" 2>"$work/why"
grep -q ':param:coll_gpuring_host:' "$work/info"
tap_result $? "ompi_info shows the parameters" "$work/why"

# params FIELD: lines "NAME VALUE", names without coll_gpuring_
params() { sed -n "s/^mca:coll:gpuring:param:coll_gpuring_\([a-z0-9_]*\):$1:/\1 /p" "$work/info" | tr -d '"'; }
# The column of a parameter's row in the page, from 1 on.
column() { grep "^| \`$1\` |" "$page" | head -n 1 | cut -d'|' -f$(($2 + 1)) | sed 's/^ *//; s/ *$//'; }

wrong=$work/wrong
: >"$wrong"
params value | while read -r name value; do
    row=$(column "$name" 2)
    case "$row" in
        '') echo "no row for $name" ;;
        "${value:-empty}"*) ;;
        *) echo "$name: the default is ${value:-empty}; the page says $row" ;;
    esac
done >"$wrong"
[ ! -s "$wrong" ]
tap_result $? "each has a row with its default" "$wrong"

: >"$wrong"
sed -n 's/^| `\([a-z0-9_]*\)` | .* | .* | .* |.*/\1/p' "$page" | while read -r name; do
    grep -q ":param:coll_gpuring_$name:" "$work/info" || echo "the page has a row for $name, which is no parameter"
done >"$wrong"
[ ! -s "$wrong" ]
tap_result $? "and no row is of something else" "$wrong"

# texts_lack: of lines "NAME TEXT", those whose text is no sentence that says the default
texts_lack() { awk '{ text = substr($0, length($1) + 2) } length(text) < 60 || text !~ /default/ { print $1 ": " text }'; }
params help | texts_lack >"$wrong"
[ ! -s "$wrong" ] && [ "$(params help | wc -l)" -eq "$(params value | wc -l)" ] &&
    [ "$(printf 'a Depth (default 4)\nb %080d\n' 0 | texts_lack | wc -l)" -eq 2 ]
tap_result $? "each says in ompi_info what it does, and its default" "$wrong"

# tables PAGE: that tools/docs_tables.py makes of it the same page
tables() {
    OMPI_MCA_mca_base_component_path=SYSTEM_DEFAULT:$GR_DIR python3 "${srcdir:-$(dirname "$0")/../..}/tools/docs_tables.py" --check "$1"
}
tables "$page" >"$wrong" 2>&1
tap_result $? "tables are as tools/docs_tables.py makes them" "$wrong"

# faults FAULT...: those, each a command of sed, that it does not see in a copy of the page
faults() {
    local fault
    for fault; do
        sed "$fault" "$page" >"$work/planted"
        if cmp -s "$page" "$work/planted" || tables "$work/planted" >/dev/null 2>&1; then echo "not seen: $fault"; fi
    done
}
faults '/^| `slots` /d' 's/^\(| `slots` | \)4/\15/' 's/^\(| `timeout` | \)60/\161/' 's/^\(| `channels` | 1 | \)yes/\1/' \
    's/^\(| `algorithm_bcast` .*\) chain/\1/' 's/^\(| `coll_gpuring_algorithm_A` .*\) chain/\1/' '/^| chain /d' >"$wrong"
[ ! -s "$wrong" ]
tap_result $? "rows that are missing or wrong are found" "$wrong"

# A row is `coll_gpuring_NAME`, of one counter, or `coll_gpuring_KIND_X`, whose text lists each X. X is C in the row of
# calls, which has the list of all that end in C. Longer kinds first: one may begin as another.
kinds=$(sed -n 's/^| `coll_gpuring_\([a-z_]*\)_[A-Z]` |.*/\1/p' "$page" | awk '{ print length($0), $0 }' | sort -rn | cut -d' ' -f2)

# check_counter NAME: it has a row. NAME is without coll_gpuring_
check_counter() {
    local kind row word
    ! grep -qF "| \`coll_gpuring_$1\` |" "$page" || return 0
    for kind in $kinds; do
        [ "${1#"${kind}_"}" != "$1" ] || continue
        word=${1#"${kind}_"}
        row=$(grep "^| \`coll_gpuring_${kind}_[A-Z]\` |" "$page")
        case $row in "| \`coll_gpuring_${kind}_C\` |"*) row=$(grep '^| `coll_gpuring_calls_C` |' "$page") ;; esac
        grep -qwF -- "$word" <<<"$row" || echo "coll_gpuring_$1: $word is not in the row of ${kind}_"
        return 0
    done
    echo "no row for coll_gpuring_$1"
}

# counters INFO: the names of the counters in this output of ompi_info, without coll_gpuring_
counters() { sed -n 's/^mca:coll:gpuring:pvar:coll_gpuring_\([^:]*\):class:.*/\1/p' "$1"; }

counters "$work/info" | while read -r name; do check_counter "$name"; done >"$wrong"
[ ! -s "$wrong" ] && counters "$work/info" | grep -q '^handover_'
tap_result $? "each counter has a row" "$wrong"

{
    check_counter planted_allreduce
    check_counter handover_planted
    check_counter calls_planted
} >"$wrong"
[ "$(grep -c planted "$wrong")" -eq 3 ] && grep -qx 'no row for coll_gpuring_planted_allreduce' "$wrong"
tap_result $? "counters without a row are found" "$wrong"

for kind in $kinds; do
    counters "$work/info" | grep -q "^${kind}_" || echo "the page has a row for coll_gpuring_${kind}_, which is no counter"
done >"$wrong"
[ ! -s "$wrong" ] && [ -n "$kinds" ]
tap_result $? "and each kind in the page has counters" "$wrong"

# Tests that go by the series of Open MPI: what differs is listed.
top=${srcdir:-$(dirname "$0")/../..}
# unlisted PAGE: those scripts that its table lacks
unlisted() {
    grep -lE '[^\\]\$OMPI_SERIES|\bOMPI_SERIES [<>=!]|\bthreads_apart\b' "$top"/tests/{mpi,hosts}/t{,est}_*.{sh,py} 2>/dev/null | sed 's|.*/||' | while read -r script; do
        grep -q "^| \`$script\` |.*[456]" "$1" || echo "$script goes by the series; docs/testing.md does not say what differs"
    done
}
unlisted "$top/docs/testing.md" >"$wrong"
grep -v '^| `test_idup.py`' "$top/docs/testing.md" >"$work/planted"
[ ! -s "$wrong" ] && unlisted "$work/planted" | grep -q '^test_idup.py goes by'
tap_result $? "what differs by the series of Open MPI is listed" "$wrong"

tap_done
