#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Installs the distribution's packages that building and testing gpuring needs, and prints their names.
# Called by ./demo and ./check. Does nothing if all are installed.
set -euo pipefail

packages=(build-essential autoconf automake libtool pkg-config openmpi-bin libopenmpi-dev
          libhwloc-dev libevent-dev zlib1g-dev libucx-dev libcmocka-dev python3 python3-matplotlib procps util-linux iproute2
          python3-mpi4py hpcc gfortran # programs that tests run with gpuring
          libsimgrid-dev)     # torus_simgrid_test, which is skipped without it

missing=()
for p in "${packages[@]}"; do
    state=$(dpkg-query -W -f '${Status}' "$p" 2>/dev/null || true)
    [ "$state" = "install ok installed" ] || missing+=("$p")
done
[ ${#missing[@]} -gt 0 ] || exit 0

echo "installing from the distribution: ${missing[*]}"
sudo=
if [ "$(id -u)" != 0 ]; then
    sudo=sudo
    command -v sudo >/dev/null || { echo "not root and no sudo: install these packages first" >&2; exit 1; }
fi
log=$(mktemp)
if ! { $sudo apt-get -q update && $sudo env DEBIAN_FRONTEND=noninteractive apt-get -q -y install --no-install-recommends "${missing[@]}"; } \
     >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    echo "apt-get could not install: ${missing[*]}" >&2
    exit 1
fi
rm -f "$log"
