#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# make distcheck: the archive is complete, builds in a directory of its own from a read-only source, without the
# optional parts and with warnings as errors, installs and uninstalls. Environment: builddir (from make).
set -u
case $builddir in
    */_build/sub) # make distcheck runs the tests too: once is enough
        echo "1..0 # SKIP inside make distcheck"
        exit 0
        ;;
esac
log=$(mktemp)
trap 'rm -f "$log"' EXIT
ompi= # the same Open MPI as this build's
eval "set -- $("$builddir/config.status" --config)"
for arg; do
    case $arg in --with-ompi*) ompi="$ompi'$arg' " ;; esac
done
# a make of its own: flags of the running one would be handed down
if env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u TESTS make -C "$builddir" distcheck TESTS= \
    AM_DISTCHECK_MORE="$ompi--with-cuda=no --with-ucx=no CFLAGS='-O2 -Werror'" >"$log" 2>&1; then
    echo "ok 1 - make distcheck, without CUDA and UCX, with -Werror"
else
    echo "not ok 1 - make distcheck, without CUDA and UCX, with -Werror"
    tail -n 40 "$log" | sed 's/^/# /'
fi
if grep -q 'CUDA  *off' "$log" && grep -q 'UCX  *off' "$log"; then
    echo "ok 2 - the summary says that the parts are off"
else
    echo "not ok 2 - the summary says that the parts are off"
fi
if grep -q 'vector clones  *yes' "$log" || ! grep -q 'x86_64' <<<"$(uname -m)"; then
    echo "ok 3 - vector clones are found under -Werror too"
else
    echo "not ok 3 - vector clones are found under -Werror too"
fi
rm -f "$builddir"/gpuring-*.tar.gz
echo "1..3"
