#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Ranks without a driver, with an old driver, or with one that is loaded after MPI_Init. Programs without devices pay nothing.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/device_lib.sh"

export GPURING_MEMORY=device

# rank 0 has no driver, and its buffers in host memory. Open MPI 5's btl/smcuda hangs there, with or without gpuring.
wrapper no_driver_on_rank_0 "[ \$OMPI_COMM_WORLD_RANK != 0 ] || export LD_LIBRARY_PATH='$without' GPURING_MEMORY=host"
smcuda=
[ "$OMPI_SERIES" = 4 ] || smcuda='--mca btl ^smcuda'
WRAPPER=$work/no_driver_on_rank_0 on_devices "one rank without a driver: staged" \
    good_by_staging 3 $small $smcuda --mca coll_gpuring_cuda 1 -- $(any_case)
tap_check "one rank without a driver: said once" said_once 'gpuring: rank [0-9]+ of .* cannot use a GPU'

# and the same with one that is too old
wrapper old_driver_on_rank_0 '[ $OMPI_COMM_WORLD_RANK != 0 ] || export FAKECUDA_VERSION=11080 GPURING_MEMORY=host'
WRAPPER=$work/old_driver_on_rank_0 on_devices "one rank's driver is too old: staged" good_by_staging 3 $small $smcuda \
    --mca coll_gpuring_cuda 1 -- $(any_case)
tap_check "one rank's driver is too old: said once" said_once 'gpuring: rank [0-9]+ of .* cannot use a GPU .*11\.8'

# a driver that is too old for the kernels, but can copy; without an older one that will do there is nothing to show
toolkit=$(sed -n 's/^GR_CUDA_TOOLKIT = //p' "${builddir:-.}/Makefile")
older=$((toolkit / 1000 * 1000 - 10))
too_old="gpuring: rank [0-9]+ of .* cannot use a GPU \(the driver is of CUDA .*, but the kernels need $((toolkit / 1000))\.0\)"
if [ "$older" -ge 12000 ]; then
    wrapper older_driver_on_rank_0 "[ \$OMPI_COMM_WORLD_RANK != 0 ] || export FAKECUDA_VERSION=$older"
    WRAPPER=$work/older_driver_on_rank_0 on_devices \
        "one rank's driver is older than the kernels: staged" good_by_staging 3 $small -- $(any_case)
    tap_check "one rank's driver is older than the kernels: said once" said_once "$too_old"
    in_all && FAKECUDA_VERSION=$older on_devices \
        "all ranks' drivers are older than the kernels: staged" good_by_staging 3 $small -- $(any_case)
else
    tap_skip "a driver that is older than the kernels" "such drivers lack functions, too"
fi

# a program that uses no device pays with no context
log=$work/contexts
GPURING_MEMORY=host FAKECUDA_LOG=$log on_devices "host memory only" all_good 3 $small --mca coll_gpuring_cuda 1 -- hello_coll
tap_check "host memory only: no context, no allocation" test ! -s "$log"


# ---- a driver that is loaded after MPI_Init ----

late_is_told() { all_good && said_once 'gpuring: allreduce on rank 0 of .* has a buffer in device memory, but the CUDA driver'; }
late_is_right() { all_good && not_seen 'was loaded after MPI_Init'; }
if [ -e /dev/nvidiactl ] || [ -e /dev/dxg ]; then
    tap_skip "a driver that is loaded late" "there is a device"
elif "$OMPI_INFO" --parsable 2>/dev/null | grep -q '^mca:accelerator:cuda:'; then
    tap_skip "a driver that is loaded late" "this Open MPI loads it in MPI_Init"
else
    GPURING_MEMORY=host GR_HOST=1 on_devices "the driver is loaded late: staged, and said" late_is_told 3 $small -- devices late
    GPURING_MEMORY=host on_devices "the same, where gpuring does nothing in host memory" late_is_right 3 $small -- devices late
    GPURING_MEMORY=host on_devices "the same where it is expected" late_is_right 3 $small --mca coll_gpuring_cuda 1 -- \
        devices late
    wrapper expects_on_0 '[ $OMPI_COMM_WORLD_RANK != 0 ] || export OMPI_MCA_coll_gpuring_cuda=1'
    WRAPPER=$work/expects_on_0 GPURING_MEMORY=host GR_HOST=1 on_devices "the same where one rank expects it" \
        late_is_right 3 $small -- devices late
fi

tap_done
