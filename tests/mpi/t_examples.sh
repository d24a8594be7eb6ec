#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The programs of examples/, compiled and run by the commands at their heads, without a change, and run through gpuring
# by its own report. Those with device memory run on the fake driver, which interprets the kernels of jacobi.cu. A
# program is skipped where its compiler, mpi4py or the CUDA toolkit is missing.
# Environment besides lib.sh's: srcdir, builddir; FAKECUDA: the directory of the fake driver; TEST_LIMIT: seconds that one
# program may take (300).
# shellcheck disable=SC2046,SC2086,SC2154 # options are words on purpose; work is from lib.sh
. "$(dirname "$0")/lib.sh"

srcdir=$(cd "${srcdir:?the sources}" && pwd)
builddir=$(cd "${builddir:?the build directory}" && pwd)
examples=$work/examples
cp -R "$srcdir/examples" "$examples" && chmod -R u+w "$examples"
bin=$(dirname "$(command -v "$OMPI_INFO")")
export PATH=$builddir/bin:$bin:$PATH:/usr/local/cuda/bin
export OMPI_MCA_coll_gpuring_report=summary OMPI_MCA_mpi_yield_when_idle=1
export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe

# What was linked to one libmpi.so.40 runs with another of that name, where the loader finds that first.
if [ -e "${bin%/*}/lib/libmpi.so.40" ]; then
    export LD_LIBRARY_PATH=${bin%/*}/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
fi
out=$work/out # what the last command wrote
rc=0          # and its exit status; 124: it ran out of time

# limited COMMAND...: $ran says which. Messages come behind what the program printed, since the launcher may put one of them
# into the middle of a line.
limited() {
    ran=$* rc=0
    timeout -k 5 "${TEST_LIMIT:-300}" "$@" >"$out" 2>"$work/messages" || rc=$?
    cat "$work/messages" >>"$out"
}

# ranks NP COMMAND...
ranks() { limited $MPIRUN $(component_options) --mca coll_gpuring_host "${GR_HOST:-1}" -np "$@"; }

seen() { grep -qaE -- "$1" "$out"; } # a line of the output matches

# passed TEXT COMMAND...: a row; what the last command wrote says why it failed
passed() {
    local status=0
    "${@:2}" || status=$?
    printf '%s\n' "failed: ${*:2}" "exit status $rc of: $ran" >"$work/failed"
    tap_result $status "$1" "$work/failed" "$out"
}

# did MEMORY COLLECTIVE...: gpuring carried these out on buffers there (host or cuda), by its own report
did() {
    local memory=$1 collective
    shift
    for collective in "$@"; do
        seen "^# $collective +$memory +[a-z]+ +[1-9]" && continue
        echo "# gpuring did no $collective in $memory memory"
        return 1
    done
}

# commands FILE: those at its head, a line each: the first lines that are indented below the comment
commands() {
    awk '{ sub(/^( \*|!)/, "") } /^    +[^ ]/ { sub(/^ +/, ""); print; found = 1; next } found { exit }' "$examples/$1"
}

# example FILE JUDGE [ARGUMENT...]: does what its head says; ARGUMENTs are added to the last command
example() {
    local file=$1 judge=$2 arguments="${*:3}"
    commands "$file" | sed "\$s/\$/${arguments:+ $arguments}/" >"$work/commands"
    limited env -C "$examples" sh -ex "$work/commands"
    passed "$file${planted:+, $planted}: $(tail -n 1 "$work/commands")" $judge
}

# right MEMORY COLLECTIVE...: the program found its result right, and gpuring did these
right() { [ "$rc" -eq 0 ] && seen '^[0-9]+ .*: right$' && did "$@"; }

command -v mpicc >/dev/null || tap_skip_all "no mpicc"

# ---- host memory ----

example fit.c "right host allreduce"

# Open MPI 6.0 has a second library of MPI's functions, whose handles are numbers (the MPI ABI).
for folder in $(mpicc --showme:incdirs); do
    [ -e "$folder/standard_abi/mpi.h" ] || continue
    gcc -O2 -I"$folder/standard_abi" -o "$work/fit_abi" "$examples/fit.c" $(printf -- '-L%s ' $(mpicc --showme:libdirs)) \
        -lmpi_abi -lm 2>"$work/failed"
    tap_result $? "fit.c is compiled for the MPI ABI" "$work/failed"
    ranks 2 "$work/fit_abi"
    passed "... and runs" right host allreduce
    ! readelf -d "$GR_DIR/mca_coll_gpuring.so" | grep 'NEEDED.*libmpi\.' >"$work/failed"
    tap_result $? "the component brings no libmpi into such a process" "$work/failed"
    break
done

is_wrong() { [ "$rc" -ne 0 ] && seen '^[0-9]+ .*: WRONG$'; }
sed -i 's/MOST = 1000/MOST = 10/' "$examples/fit.c"
in_all && planted="too few iterations" example fit.c is_wrong

printf 'program one\n  use mpi_f08\nend program one\n' >"$work/one.f90"
if mpifort -o "$work/one" "$work/one.f90" >"$out" 2>&1; then
    example power.f90 "right host allreduce allgatherv"
else
    tap_skip power.f90 "mpifort compiles no program"
fi

# py: a python3 that has mpi4py for this Open MPI; or, in why, why there is none
py='' why="no python3 has mpi4py 3.1 or newer (package python3-mpi4py)"
version=$("$OMPI_INFO" --version | sed -n 's/^Open MPI v//p')
for python in python3 /usr/bin/python3; do
    "$python" -c 'import mpi4py, numpy, sys; sys.exit(mpi4py.__version__ < "3.1")' 2>/dev/null || continue
    ranks 1 "$python" -c 'from mpi4py import MPI; print("library", MPI.Get_library_version().rstrip("\0"))'
    ! seen "^library Open MPI v${version}[, ]" || { py=$(command -v "$python"); break; }
    why="mpi4py does not run on Open MPI $version"
done
if [ -z "$py" ]; then
    tap_skip fit.py "$why"
else
    mkdir "$work/bin"
    printf '#!/bin/sh\nexec "%s" "$@"\n' "$py" >"$work/bin/python3"
    chmod +x "$work/bin/python3"
    PATH=$work/bin:$PATH example fit.py "right host allreduce allgather"
fi

# ---- device memory ----

if [ ! -e /usr/local/cuda/include/cuda_runtime.h ] || [ ! -e "${FAKECUDA:?}/cudart.built" ]; then
    tap_skip "device.c and jacobi.cu" "no CUDA toolkit in /usr/local/cuda, or a build without it"
    tap_done
fi
export LD_LIBRARY_PATH=$FAKECUDA${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export FAKECUDA_SMS=64 FAKECUDA_DEVICES=2 FAKECUDA_MPS=1 GR_HOST=0
export OMPI_MCA_coll_gpuring_cuda=1 OMPI_MCA_coll_gpuring_device_channels=2 OMPI_MCA_coll_gpuring_device_slot_bytes=16384

example device.c "right cuda bcast allreduce allgather"
in_all || tap_done # nvcc takes long

command -v nvcc >/dev/null && command -v mpicxx >/dev/null || { tap_skip jacobi.cu "no nvcc, or no mpicxx"; tap_done; }
: >"$work/empty.cu"
nvcc -ccbin mpicxx -c -o "$work/empty.o" "$work/empty.cu" >"$out" 2>&1 ||
    { tap_skip jacobi.cu "nvcc does not work with this compiler"; tap_done; }
told() { grep -E '^[0-9]+ iterations' "$out"; }
# The residuals were reduced on the device: one for each 10 iterations, and the error.
on_the_device() {
    right cuda allreduce && seen "^# allreduce +cuda +[a-z]+ +$(($(told | grep -oE '^[0-9]+') / 10 + 1)) "
}
example jacobi.cu on_the_device 8 1e-4
alone=$(told) # must be the same on any number of ranks, to the last digit
same() { on_the_device && [ "$(told)" = "$alone" ]; }
same_on_one() { right cuda && [ "$(told)" = "$alone" ]; }
says_why() { [ "$rc" -ne 0 ] && seen 'link the program to the shared one'; }

# jacobi TEXT JUDGE PROGRAM NP [VARIABLE=VALUE...]
jacobi() {
    local text=$1 judge=$2 program=$3 np=$4
    shift 4
    ranks "$np" --mca coll gpuring env "$@" "$examples/$program" 8 1e-4
    passed "jacobi, $text" $judge
}

# compile NAME SOURCE [FLAGS]. CUDART: which runtime
compile() {
    limited nvcc -ccbin mpicxx -cudart "${CUDART:-shared}" -o "$examples/$1" "$examples/$2" "${@:3}"
    [ "$rc" -eq 0 ]
}

jacobi "4 ranks on 2 devices" same jacobi 4 FAKECUDA_DEVICES=2
jacobi "1 rank" same_on_one jacobi 1
jacobi "4 ranks on one device" same jacobi 4 FAKECUDA_DEVICES=1
jacobi "2 ranks on one device" same jacobi 2 FAKECUDA_DEVICES=1
jacobi "devices that do not reach each other" same jacobi 3 FAKECUDA_PEER=none
jacobi "slow copies" same jacobi 3 FAKECUDA_DELAY=1
passed "jacobi for per-thread default streams is built" compile jacobi_own jacobi.cu --default-stream per-thread
jacobi "per-thread default streams" same jacobi_own 3 FAKECUDA_DELAY=1
sed '/MPI_Neighbor_alltoallv/d' "$examples/jacobi.cu" >"$examples/lonely.cu"
passed "jacobi without exchange is built" compile lonely lonely.cu
jacobi "without exchange it is wrong" is_wrong lonely 2
CUDART=static passed "jacobi with the static runtime is built" compile static jacobi.cu
jacobi "with NVIDIA's runtime it ends, and the driver says why" says_why static 1
tap_done
