#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# tools/packages.sh, and the option --no-install of ./demo and ./check, with a dpkg-query and an apt-get of this test; and
# when configure runs again.
# Environment: srcdir (from make).
set -u
. "$(dirname "$0")/../lib.sh"
make_work
mkdir "$work/bin"
# shellcheck disable=SC2016 # expanded by the programs themselves
{
    printf '#!/bin/sh\nfor p; do :; done\nif grep -qx "$p" "%s/installed"; then echo "install ok installed"; fi\n' "$work" >"$work/bin/dpkg-query"
    printf '#!/bin/sh\necho "$*" >>"%s/apt"\n' "$work" >"$work/bin/apt-get"
    printf '#!/bin/sh\n[ "$2" = hpcc ] || echo "  Candidate: 1"\n' >"$work/bin/apt-cache"
    printf '#!/bin/sh\nexec "$@"\n' >"$work/bin/sudo"
}
chmod +x "$work"/bin/*
PATH=$work/bin:$PATH

# run PROGRAM...: its output in $work/out, its status in $status; apt-get's commands in $work/apt
run() {
    : >"$work/apt"
    status=0
    "$@" >"$work/out" 2>"$work/err" || status=$?
}
# holds TEXT CONDITION...
holds() { ok "$1" test "${@:2}"; }

echo build-essential >"$work/installed"
run "$srcdir/tools/packages.sh" --no-install build run
holds "--no-install fails where packages are missing" $status = 1
holds "--no-install installs nothing" ! -s "$work/apt"
ok "it says what each is for" grep -q 'to build  libopenmpi-dev .*headers' "$work/out"
ok "it says what to run" grep -q '^install them: apt-get install .*autoconf .*openmpi-bin' "$work/out"
ok "what is installed is not named" bash -c "! grep -q build-essential '$work/out'"
ok "packages of tests are not named" bash -c "! grep -q libcmocka '$work/out'"

run "$srcdir/tools/packages.sh" test
holds "without --no-install it succeeds" $status = 0
ok "it installs the kind that was asked for" grep -q 'install .*libcmocka-dev' "$work/apt"
ok "what the distribution lacks is left out, with a line" grep -q 'no hpcc: left out' "$work/out"
ok "and not installed" bash -c "! grep -q hpcc '$work/apt'"

for command in demo "check --only=core"; do
    # shellcheck disable=SC2086 # words
    run "$srcdir"/$command --no-install --builddir="$work/build"
    holds "./$command --no-install stops" $status = 1 -a ! -e "$work/build"
    holds "./$command names packages of tests: $([[ $command = demo ]] && echo no || echo yes)" \
        "$(grep -c 'to test' "$work/out")" "$([[ $command = demo ]] && echo -eq || echo -gt)" 0
done

names() { sed -n 's/^\(build\|run\|test\) *\([^ ?]*\).*/\2/p; s/^table=.build *\([^ ]*\).*/\1/p' "$srcdir/tools/packages.sh"; }
names | grep -vx -e hpcc -e libucx-dev >"$work/installed"
run "$srcdir/tools/packages.sh" --no-install build run test
holds "--no-install succeeds where only optional packages are missing" $status = 0
ok "it names them" grep -q 'to test *hpcc .*(optional)$' "$work/out"
names >"$work/installed"
run "$srcdir/tools/packages.sh" build run test
holds "nothing is printed where all are installed" $status = 0 -a ! -s "$work/out" -a ! -s "$work/apt"

# ---- a build of ./demo, which needs no cmocka, and ./check after it ----

mkdir -p "$work/tree/build"
touch "$work/tree/Makefile.in"
# shellcheck disable=SC2016 # expanded by the program itself
printf '#!/bin/sh\n! grep -qx libcmocka-dev "%s/installed" || echo 1.1.7\n' "$work" >"$work/bin/pkg-config"
printf '#!/bin/sh\necho once >>"%s/times"\ntouch config.status\n' "$work" >"$work/tree/configure"
chmod +x "$work/bin/pkg-config" "$work/tree/configure"
# configured: what ./demo and ./check do before they make
configured() {
    (. "$srcdir/tools/build.sh" && top=$work/tree builddir=$work/tree/build log=$work/log && configure_tree) >"$work/out" 2>&1
}
names | grep -vx libcmocka-dev >"$work/installed"
configured
configured
holds "a tree is configured once" "$(wc -l <"$work/times")" = 1
names >"$work/installed"
configured
configured
holds "and again, once, when cmocka has come" "$(wc -l <"$work/times")" = 2
tap_done
