#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Installs the distribution's packages that are missing, after printing each with what it is for.
#     tools/packages.sh [--no-install] KIND...     kinds: build, run, test
# --no-install: prints them, and fails if one is missing that cannot be left out. Called by ./demo and ./check.
set -euo pipefail

# kind, package, what it is for. An optional package ends in "?": it can be left out, as where the distribution has none.
table='build build-essential      compilers and make
build autoconf             configure, from configure.ac
build automake             configure, from configure.ac
build libtool              configure, from configure.ac
build pkg-config           finds the libraries
build libopenmpi-dev       Open MPI with its internal headers
build libpmix-dev          included by the headers of Open MPI 5 and 6
build libhwloc-dev         NUMA nodes, order of GPUs
build libucx-dev?          links between nodes over UCX
build libevent-dev         an Open MPI of another series (--ompi=5)
build zlib1g-dev           an Open MPI of another series (--ompi=5)
run   openmpi-bin          mpirun
run   python3              benchmarks/compare, which makes the table of ./demo
run   python3-matplotlib?  its picture
test  python3              scripts of tests
test  python3-pytest       tests that run programs under mpirun
test  libcmocka-dev        unit tests
test  iproute2             hosts made of network namespaces
test  python3-mpi4py?      a client: Python programs
test  hpcc?                a client: a benchmark
test  gfortran             examples/power.f90
test  mandoc?              checks man pages
test  lua5.4?              reads the module file of a bundle'

install=yes
if [ "${1:-}" = --no-install ]; then
    install=no
    shift
fi

if ! command -v dpkg-query >/dev/null; then
    echo "no dpkg here, so no packages are looked for; Debian's names for what is needed:"
    for kind; do awk -v k="$kind" '$1 == k { sub(/\?$/, "", $2); n = n " " $2 } END { print "  to " k ":" n }' <<<"$table"; done
    exit 0
fi

missing=() optional=() text=''
while read -r kind package reason; do
    [[ " $* " = *" $kind "* ]] || continue
    name=${package%\?}
    [[ " ${missing[*]-} ${optional[*]-} " != *" $name "* ]] || continue
    [ "$(dpkg-query -W -f '${Status}' "$name" 2>/dev/null || true)" != "install ok installed" ] || continue
    if [ "$name" = "$package" ]; then missing+=("$name"); else optional+=("$name") reason+=' (optional)'; fi
    text+=$(printf '  to %-5s  %-19s %s' "$kind" "$name" "$reason")$'\n'
done <<<"$table"
[ -n "$text" ] || exit 0

if [ "$install" = no ]; then
    printf 'packages that are not installed:\n%s' "$text"
    echo "install them:" apt-get install --no-install-recommends "${missing[@]}" "${optional[@]}"
    [ ${#missing[@]} = 0 ]
    exit
fi
sudo=
if [ "$(id -u)" != 0 ]; then
    sudo=sudo
    if ! command -v sudo >/dev/null; then
        printf 'packages that are not installed:\n%s' "$text"
        echo "not root and no sudo: install these packages first" >&2
        exit 1
    fi
fi
printf 'installing from the distribution%s:\n%s' "${sudo:+, with sudo}" "$text"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
give_up() {
    tail -n 20 "$log" >&2
    echo "apt-get could not install: ${missing[*]}" >&2
    exit 1
}
$sudo apt-get -q update >"$log" 2>&1 || give_up
for name in "${optional[@]}"; do
    # no pipe into grep -q: apt-cache would fail on it
    if [[ $(apt-cache policy "$name") == *"Candidate: "[!\(]* ]]; then
        missing+=("$name")
    else
        echo "  the distribution has no $name: left out"
    fi
done
$sudo env DEBIAN_FRONTEND=noninteractive apt-get -q -y install --no-install-recommends "${missing[@]}" >"$log" 2>&1 || give_up
