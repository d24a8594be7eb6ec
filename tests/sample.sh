# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Sourced by tests that plant bugs, which takes long: one in GPURING_MUTANTS of them is planted (default 5; 1: all), by
# GPURING_SEED which.
mutant=${GPURING_SEED:-$$}
echo "# GPURING_SEED=$mutant"

# Whether the next one is among them.
sampled() {
    mutant=$((mutant + 1))
    [ $((mutant % ${GPURING_MUTANTS:-5})) = 0 ]
}
