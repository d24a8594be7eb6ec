#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs a command (default: ./demo) in a minimal Debian with this checkout's last commit. Needs root.
#     tools/debian.sh [--dir=DIR] [bookworm|trixie|sid] [COMMAND...]
# debootstrap installs the release (default bookworm, Debian 12; trixie is 13) in DIR (default ~/.cache/gpuring/RELEASE,
# 3 GB) from apt's mirror; later calls reuse it. Mounts in DIR, /usr/local/cuda among them, end with the command.
set -euo pipefail

fail() { echo "debian: $*" >&2; exit 1; }

top=$(cd "$(dirname "$0")/.." && pwd)
dir='' release=bookworm
case ${1:-} in
    --dir=?*) dir=${1#*=}; shift ;;
    -h | --help) sed -n '3,6s/^# //p' "$0"; exit 0 ;;
esac
case ${1:-} in
    bookworm | trixie | sid) release=$1; shift ;;
esac
: "${dir:=${GPURING_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/gpuring}/$release}"
[ $# -gt 0 ] || set -- ./demo

if [ "${GPURING_UNSHARED:-}" != 1 ]; then # in a mount namespace of its own
    [ "$(id -u)" = 0 ] || fail "this must be run as root"
    command -v debootstrap >/dev/null || fail "there is no debootstrap: apt-get install debootstrap"
    GPURING_UNSHARED=1 exec unshare --mount "$0" "--dir=$dir" "$release" "$@"
fi

if [ ! -e "$dir/.complete" ]; then
    site=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' | grep -v security | grep debian | head -n 1)
    [ -n "$site" ] || fail "apt knows no Debian mirror: add one to /etc/apt/sources.list"
    mkdir -p "$dir"
    debootstrap --variant=minbase "$release" "$dir" "$site" >"$dir.log" || fail "debootstrap failed; see $dir.log"
    touch "$dir/.complete"
fi

mount --bind /proc "$dir/proc"
mount --bind /sys "$dir/sys"
mount --bind /dev/shm "$dir/dev/shm"
cuda=$(readlink -f /usr/local/cuda || true)
if [ -d "$cuda" ]; then
    mkdir -p "$dir/usr/local/cuda"
    mount --bind "$cuda" "$dir/usr/local/cuda"
    mount -o remount,ro,bind "$dir/usr/local/cuda"
fi

if [ -d "$dir/root/gpuring" ]; then
    git -C "$dir/root/gpuring" fetch -q "$top" HEAD
    git -C "$dir/root/gpuring" reset -q --hard FETCH_HEAD
else
    git clone -q "$top" "$dir/root/gpuring"
fi
# shellcheck disable=SC2016 # expanded by the inner shell
chroot "$dir" /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
    /bin/bash -c 'cd /root/gpuring && exec "$@"' bash "$@"
