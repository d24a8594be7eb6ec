#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Prints what tells one state of the kernels' sources from another: 12 digits of the hash of coll_gpuring/exec/gpu/kernels.
# docs/results/gpu-runs.csv has it for each run of kernel_test on a GPU. What the kernels include from elsewhere is not in it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../coll_gpuring/exec/gpu/kernels"
cat ./*.cu ./*.cuh | sha256sum | cut -c 1-12
