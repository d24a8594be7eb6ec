#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The functions of the driver, from the toolkit's cudaTypedefs.h (standard input), a line for each version of one:
#     NAME(cuCtxCreate, 11040, , cuCtxCreate_v3)
#     NAME(cuMemcpyHtoD, 7000, _ptds, cuMemcpyHtoD_v2_ptds)
# the name that cuGetProcAddress takes, the version of CUDA from which on it means this one, _ptds or _ptsz where it uses the
# default stream of the thread, and the exported symbol. The second version of a function is exported with _v2 behind its
# name, the third with _v3, and so on.
set -eu
sed -nE 's/.*\*PFN_(cu[A-Za-z0-9]+)_v([0-9]+)(_pt[ds][sz])?\).*/\1 \2 \3/p' | sort -u -k1,1 -k3,3 -k2,2n | awk '
    { if ("" == $3) { count[$1]++; since[$1, count[$1]] = $2 } line[NR] = $0 }
    END {
        for (i = 1; i <= NR; i++) {
            n = split(line[i], f)
            for (v = count[f[1]]; v > 1 && since[f[1], v] + 0 > f[2] + 0; v--) {}
            printf "NAME(%s, %d, %s, %s%s%s)\n", f[1], f[2], f[3], f[1], (v > 1 ? "_v" v : ""), f[3]
        }
    }'
