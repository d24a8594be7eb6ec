#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# ompi_layout.sh HEADERS DIR FROM TO: copies of those two headers of Open MPI 5.0 in HEADERS (include/openmpi) that differ
# between the layouts FROM and TO, with TO's structures, in DIR. configure calls it, and puts DIR first on the include path.
#     A: 5.0.0 to 5.0.6
#     B: 5.0.7 to 5.0.9: as A, and the communicator has c_index_vec
#     C: 5.0.10 and later: as B, and the module of a coll component has coll_revoke_local before base_data
# Headers of layout B give all three.
set -euo pipefail
headers=$1 dir=$2 from=$3 to=$4
communicator=ompi/communicator/communicator.h coll=ompi/mca/coll/coll.h

fail() { echo "$*"; exit 1; }

# edited FILE LINES COMMAND...: FILE as COMMAND (a filter) changes it, by so many lines, which a header of another release
# need not have
edited() {
    local file=$1 lines=$2 changed
    shift 2
    mkdir -p "$dir/$(dirname "$file")"
    "$@" <"$headers/$file" >"$dir/$file"
    changed=$(diff "$headers/$file" "$dir/$file" | grep -c '^[<>]' || true)
    [ "$changed" = "$lines" ] || fail "$headers/$file is not as expected: $changed lines changed, not $lines"
}

rm -rf "$dir"
case $from-$to in
    B-A)
        # the member, and the function that reads it, which no component calls
        edited $communicator 17 sed -e '/^    uint32_t  *\*c_index_vec;$/d' \
            -e '/^static inline int ompi_comm_get_remote_cid (/,/^}/d'
        ;;
    B-C)
        edited $coll 2 sed -e '/^struct mca_coll_base_module_2_4_0_t {$/,/^};$/ {
                /^    struct mca_coll_base_comm_t\* base_data;$/i\
    int (*coll_revoke_local)(struct ompi_communicator_t *comm, struct mca_coll_base_module_2_4_0_t *module);
            }' -e '/^struct mca_coll_base_comm_coll_t {$/,/^};$/ {
                /^    opal_list_t \*module_list;$/i\
    int (*coll_revoke_local)(struct ompi_communicator_t *comm);
            }'
        ;;
    *) fail "no way is known from layout '$from' of the headers to '$to'" ;;
esac
