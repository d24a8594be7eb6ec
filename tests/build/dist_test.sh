#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# make distcheck: the archive is complete, builds in a directory of its own from a read-only source, without the
# optional parts and with warnings as errors, installs and uninstalls. Environment: builddir (from make).
set -u
. "$(dirname "$0")/../lib.sh"
case $builddir in
    */_build/sub) # make distcheck runs the tests too: once is enough
        tap_skip_all "inside make distcheck"
        ;;
esac
make_work
log=$work/log
ompi= # the same Open MPI as this build's
eval "set -- $("$builddir/config.status" --config)"
for arg; do
    case $arg in --with-ompi*) ompi="$ompi'$arg' " ;; esac
done
# a make of its own: flags of the running one would be handed down
env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u TESTS make -C "$builddir" distcheck TESTS= \
    AM_DISTCHECK_MORE="$ompi--with-cuda=no --with-ucx=no CFLAGS='-O2 -Werror'" >"$log" 2>&1
status=$?
tail -n 40 "$log" >"$work/end"
tap_result $status "make distcheck, without CUDA and UCX, with -Werror" "$work/end"
grep -q 'CUDA  *off' "$log" && grep -q 'UCX  *off' "$log"
tap_result $? "the summary says that the parts are off"
grep -q 'vector clones  *yes' "$log" || ! grep -q 'x86_64' <<<"$(uname -m)"
tap_result $? "vector clones are found under -Werror too"
rm -f "$builddir"/gpuring-*.tar.gz
tap_done
