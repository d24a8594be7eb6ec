#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Many ranks: links that would need much memory are not made for small calls. Few ranks, with a bound of 0, stand for many.
. "$(dirname "$0")/lib.sh"

left() { good_through_gpuring && seen '^count coll_gpuring_handover_memory [1-9]'; }

grun 4 --mca coll_gpuring_setup_mib 0 --mca coll_gpuring_mailbox_bytes 0 -- many 1
tap_check "4 ranks, links of one rank each: right, and what needs more falls back" left
grun 3 --mca coll_gpuring_setup_mib 0 --mca coll_gpuring_mailbox_bytes 0 --mca coll_gpuring_algorithm_allreduce flat \
    -- many 1
tap_check "3 ranks, flat is asked for" left
tap_check "    and a line names the parameter, once" [ 1 = "$(lines_seen \
    'gpuring: flat for allreduce on MPI_COMM_WORLD needs 512 KiB .* coll_gpuring_setup_mib = 0 MiB')" ]
grun 4 --mca coll_gpuring_mailbox_bytes 0 --mca coll_gpuring_verbose 2 -- many 4
tap_check "4 ranks, default bound: nothing falls back" \
    eval 'good_through_gpuring && ! seen "^count coll_gpuring_handover_memory [1-9]"'
tap_check "    and each set-up says what it needs" \
    seen 'gpuring: set-up of pairwise on MPI_COMM_WORLD: up to 3 links and 5 messages of a rank, 769 KiB per rank'
grun 3 -- limits alive "$(depth 1500 6000)"
tap_check "3 ranks, many communicators at a time: no call falls back" \
    eval 'good_through_gpuring && seen "^# gpuring calls [0-9]* handovers 0"'

only_in_all
grun 64 -- many 4
tap_check "64 ranks" good_through_gpuring

tap_done
