#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs a command (default: ./demo) in a minimal Debian with this checkout's last commit. Needs root.
#     tools/debian.sh [--here] [--dir=DIR] [bullseye|bookworm|trixie|sid] [COMMAND...]
# debootstrap installs the release (default bookworm, Debian 12; trixie is 13) in DIR (default ~/.cache/gpuring/RELEASE,
# 3 GB) from apt's mirror; later calls reuse it. Mounts in DIR, /usr/local/cuda among them, end with the command.
# --here: the command runs in this checkout itself, not in a clone. Exit status 77: the release cannot be had here.
set -euo pipefail

fail() { echo "debian: $*" >&2; exit 77; }

top=$(cd "$(dirname "$0")/.." && pwd)
dir='' release=bookworm here=''
while [[ ${1:-} = -* ]]; do
    case $1 in
        --dir=?*) dir=${1#*=} ;;
        --here) here=$1 ;;
        -h | --help) sed -n '3,7s/^# //p' "$0"; exit 0 ;;
        *) echo "debian: unknown option $1" >&2; exit 2 ;;
    esac
    shift
done
case ${1:-} in
    bullseye | bookworm | trixie | sid) release=$1; shift ;;
esac
: "${dir:=${GPURING_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/gpuring}/$release}"
[ $# -gt 0 ] || set -- ./demo

if [ "${GPURING_UNSHARED:-}" != 1 ]; then # in a mount namespace of its own
    [ "$(id -u)" = 0 ] || fail "this must be run as root"
    command -v debootstrap >/dev/null || fail "there is no debootstrap: apt-get install debootstrap"
    GPURING_UNSHARED=1 exec unshare --mount "$0" $here "--dir=$dir" "$release" "$@"
fi

mkdir -p "${dir%/*}"
exec 9>"$dir.lock"
flock 9 # a second call waits for the first one's installation
if [ ! -e "$dir/.complete" ]; then
    site=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' | grep -v security | grep debian | head -n 1)
    [ -n "$site" ] || fail "apt knows no Debian mirror: add one to /etc/apt/sources.list"
    [ ! -e "$dir" ] || rmdir "$dir" 2>/dev/null || fail "$dir is in the way: it is not a folder that this script has made"
    rm -rf "$dir.part" # of an installation that failed
    debootstrap --variant=minbase "$release" "$dir.part" "$site" >"$dir.log" || fail "debootstrap failed; see $dir.log"
    # the lists of a mirror that stands still have expired
    echo 'Acquire::Check-Valid-Until "false";' >"$dir.part/etc/apt/apt.conf.d/90gpuring"
    chroot "$dir.part" apt-get -q update >>"$dir.log" 2>&1 || fail "there are no lists of packages; see $dir.log"
    touch "$dir.part/.complete"
    mv -T "$dir.part" "$dir"
fi
exec 9>&-

mount --bind "$dir" "$dir" # a mount of its own, so that tests may have mount namespaces
mount --bind /proc "$dir/proc"
mount --bind /sys "$dir/sys"
mount --bind /dev/shm "$dir/dev/shm"
mount --bind /dev/pts "$dir/dev/pts"
if [ -d /dev/net ]; then
    mkdir -p "$dir/dev/net"
    mount --bind /dev/net "$dir/dev/net"
fi
cuda=$(readlink -f /usr/local/cuda || true)
if [ -d "$cuda" ]; then
    mkdir -p "$dir/usr/local/cuda"
    mount --bind "$cuda" "$dir/usr/local/cuda"
    mount -o remount,ro,bind "$dir/usr/local/cuda"
fi

folder=/root/gpuring
if [ -n "$here" ]; then
    folder=$top
    mkdir -p "$dir$top"
    mount --bind "$top" "$dir$top"
elif [ -d "$dir/root/gpuring" ]; then
    git -C "$dir/root/gpuring" fetch -q "$top" HEAD
    git -C "$dir/root/gpuring" reset -q --hard FETCH_HEAD
else
    git clone -q "$top" "$dir/root/gpuring"
fi
environment=(HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 ${GPURING_SEED:+"GPURING_SEED=$GPURING_SEED"})
# shellcheck disable=SC2016 # expanded by the inner shell
chroot "$dir" /usr/bin/env -i "${environment[@]}" /bin/bash -c 'cd "$1" && shift && exec "$@"' bash "$folder" "$@"
