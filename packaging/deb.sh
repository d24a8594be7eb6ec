#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Makes the Debian source package (.dsc, .orig.tar.gz, .debian.tar.xz) in DIR, and unpacks it there. Needs dpkg-dev.
#     packaging/deb.sh BUILDDIR DIR        BUILDDIR: a configured build directory
# Then, on the Debian that it is for: cd DIR/gpuring-VERSION && apt-get build-dep ./ && dpkg-buildpackage
set -euo pipefail
[ $# = 2 ] || { sed -n '3,5s/^# //p' "$0"; exit 1; }
top=$(cd "$(dirname "$0")/.." && pwd)
version=$(sed -n 's/^AC_INIT(\[gpuring\], \[\(.*\)\])$/\1/p' "$top/configure.ac")
mkdir -p "$2"
dir=$(cd "$2" && pwd)
rm -rf "$dir/gpuring-$version"
env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s -C "$1" dist
mv "$1/gpuring-$version.tar.gz" "$dir/gpuring_$version.orig.tar.gz"
tar -C "$dir" -xf "$dir/gpuring_$version.orig.tar.gz"
cp -R "$top/packaging/debian" "$dir/gpuring-$version/debian"
(cd "$dir" && dpkg-source -b "gpuring-$version")
