# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154
# Sourced by tests that run checks which print what they find to $work/found.
count=0

# result STATUS TITLE: one line of TAP, with $work/found on failure.
result() {
    count=$((count + 1))
    if [ "$1" -eq 0 ]; then
        echo "ok $count - $2"
    else
        echo "not ok $count - $2"
        sed 's/^/# /' "$work/found"
    fi
}
