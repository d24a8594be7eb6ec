# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Sourced by the scripts that run more rows in ./check --all, which sets GPURING_ALL, than in ./check, which a person waits
# for. (A script that uses any of these belongs to deeper_tests in tests.am.)

# in_all && ROW: a row of ./check --all only
in_all() { [ -n "${GPURING_ALL:-}" ]; }
# rows_of_depth PATTERN <ROWS: all, or those that match
rows_of_depth() { if in_all; then cat; else grep -E "$1"; fi; }
# depth QUICK ALL: a number, or words for a loop
depth() { if in_all; then echo "$2"; else echo "$1"; fi; }
