#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds gpuring_bench for other MPIs, and prints the options by which benchmarks/compare runs them beside Open MPI.
#     benchmarks/peers.sh [mpich] [impi] [ompi6] [DIR]      all; DIR: where they are kept (default ~/.cache/gpuring/peers)
#     mapfile -t peers < <(benchmarks/peers.sh); benchmarks/compare "${peers[@]}"
# mpich and impi (Intel MPI) come from PyPI, in virtual environments. ompi6 is Open MPI 6 of Debian's sid, with its
# collectives for shared memory (xhc, acoll), in a folder made by debootstrap; it needs root and 1 GB. /proc, /sys and
# /dev/shm stay mounted there: before you remove DIR/sid, umount DIR/sid/proc DIR/sid/sys DIR/sid/dev/shm. All with two
# ranks, bound to a core each.
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)
dir='' wanted=()
for arg in "$@"; do
    case $arg in
        mpich | impi | ompi6) wanted+=("$arg") ;;
        -*) echo "peers.sh: $arg is not valid; allowed: mpich impi ompi6 DIR" >&2; exit 2 ;;
        *) dir=$arg ;;
    esac
done
[ ${#wanted[@]} -gt 0 ] || wanted=(mpich impi ompi6)
mkdir -p "${dir:=${XDG_CACHE_HOME:-$HOME/.cache}/gpuring/peers}"
dir=$(cd "$dir" && pwd)

version=$(sed -n 's/^AC_INIT(\[gpuring\], \[\([^]]*\)\].*/\1/p' "$top/configure.ac")
sources=("$top"/benchmarks/common/*.c "$top"/benchmarks/bench/*.c)
flags=(-std=gnu11 -O2 -DGR_HAVE_CUDA=0 "-DGR_VERSION=\"$version\"" "-I$top/benchmarks" "-I$top/coll_gpuring")

say() { echo "peers.sh: $*" >&2; }

# from_pypi NAME OPTIONS PACKAGE...: a virtual environment with these, and gpuring_bench in it
from_pypi() {
    local name=$1 options=$2 prefix=$dir/$1
    shift 2
    if [ ! -x "$prefix/bin/mpiexec.hydra" ]; then
        say "installing $* in $prefix"
        python3 -m venv "$prefix"
        "$prefix/bin/pip" install --quiet "$@"
    fi
    gcc "${flags[@]}" "-I$prefix/include" "${sources[@]}" -o "$prefix/gpuring_bench" \
        "-L$prefix/lib" "-Wl,-rpath,$prefix/lib" -lmpi -lm -ldl
    echo "--peer=$name=$prefix/bin/mpiexec.hydra -n 2 $options $prefix/gpuring_bench"
}

# The address of Debian's packages, as apt here has it.
mirror() {
    apt-get indextargets --format '$(SITE)' 'Created-By: Packages' | grep -v security | head -n 1
}

ompi6() {
    local root=$dir/sid name
    if [ ! -e "$root/done" ]; then
        say "making $root"
        command -v debootstrap >/dev/null || apt-get install -qq -y --no-install-recommends debootstrap >/dev/null
        rm -rf --one-file-system "$root"
        debootstrap --variant=minbase sid "$root" "$(mirror)" >"$dir/sid.log" 2>&1
        cp /etc/apt/apt.conf.d/*proxy* "$root/etc/apt/apt.conf.d/" 2>/dev/null || true
        chroot "$root" apt-get install -y --no-install-recommends gcc libc6-dev openmpi-bin libopenmpi-dev \
            >>"$dir/sid.log" 2>&1
        touch "$root/done"
    fi
    mkdir -p "$root/gpuring" # sources and program
    cp -r "$top/benchmarks" "$top/coll_gpuring" "$root/gpuring/"
    chroot "$root" mpicc "${flags[@]/#-I$top/-I/gpuring}" "${sources[@]/#$top/\/gpuring}" -o /gpuring/gpuring_bench -lm -ldl
    for name in proc sys dev/shm; do
        mkdir -p "$root/$name"
        mountpoint -q "$root/$name" || mount --bind "/$name" "$root/$name"
    done
    for name in tuned xhc acoll; do
        echo "--peer=ompi6-$name=env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root chroot $root mpirun --allow-run-as-root -n 2" \
            "--mca coll_${name}_priority 100 --mca pml ob1 /gpuring/gpuring_bench"
    done
}

for name in "${wanted[@]}"; do
    case $name in
        mpich) from_pypi mpich '-bind-to core' mpich ;;
        impi) from_pypi impi '' 'impi-rt<2021.17' 'impi-devel<2021.17' ;; # later ones need a libfabric that is not there
        ompi6) ompi6 ;;
    esac
done
