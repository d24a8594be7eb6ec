#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The files below packaging/: each names the version of configure.ac, each is in packaging/README.md, and those that are
# Python or YAML parse. Environment: srcdir (from make).
set -u
. "$(dirname "$0")/../lib.sh"
make_work
packaging=$srcdir/packaging
version=$(sed -n 's/^AC_INIT(\[gpuring\], \[\(.*\)\])$/\1/p' "$srcdir/configure.ac")
ok "configure.ac has a version" grep -qE '^[0-9]+\.[0-9]+\.[0-9]+$' <<<"$version"

# has FILE COMMAND...: the version that COMMAND prints of FILE is configure.ac's
has() {
    local file=$1 found
    shift
    found=$("$@" "$packaging/$file" | sort -u)
    printf '%s: %s; configure.ac: %s\n' "$file" "$found" "$version" >"$work/why"
    [ "$found" = "$version" ]
    tap_result $? "version in packaging/$file" "$work/why"
}
has debian/changelog sed -n '1s/^gpuring (\(.*\)-[0-9.]*) .*/\1/p'
has spack/gpuring/package.py sed -n 's/^    version("\([^"]*\)".*/\1/p; s/.*gpuring-\([0-9.]*\)\.tar\.gz.*/\1/p'
has conda/recipe.yaml sed -n 's/^  version: "\(.*\)"$/\1/p'
easyconfig=$(cd "$packaging" && echo easybuild/gpuring-*.eb)
has "$easyconfig" sed -n "s/^version = '\(.*\)'$/\1/p"
ok "the easyconfig's name has the version" grep -q "/gpuring-$version-gompi-" <<<"$easyconfig"
has ../docs/using.md sed -n 's/.*gpuring-\([0-9.]*\)-\(x86_64\|py3\).*/\1/p'
# the version of a bundle is that of the build, and a wheel's is the bundle's (bundle_test)
ok "packaging/bundle and packaging/python have no version of their own" \
    [ -z "$(grep -rnE '(version|VERSION)[^%{]*["= ][0-9]+\.[0-9]+\.[0-9]+|gpuring-[0-9]' "$packaging/bundle" "$packaging/python")" ]

parses='import ast, sys; ast.parse(open(sys.argv[1]).read())'
for file in spack/gpuring/package.py "$easyconfig"; do
    ok "packaging/$file is Python" python3 -c "$parses" "$packaging/$file"
done
if python3 -c 'import yaml' 2>/dev/null; then
    ok "packaging/conda/recipe.yaml is YAML" python3 -c 'import sys, yaml; yaml.safe_load(open(sys.argv[1]))' \
        "$packaging/conda/recipe.yaml"
else
    tap_skip "packaging/conda/recipe.yaml is YAML" "no Python module yaml"
fi
for folder in "$packaging"/*/; do
    ok "packaging/README.md has $(basename "$folder")/" grep -q "$(basename "$folder")/" "$packaging/README.md"
done

ok "debian/tests/control names a test that is there" \
    test -x "$packaging/debian/tests/$(sed -n 's/^Tests: //p' "$packaging/debian/tests/control")"
tap_done
