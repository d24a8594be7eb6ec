#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The man pages: one for each installed program, with all its options, and gpuring(7), with all parameters and counters.
# mandoc and man find nothing wrong with them. What judges is also shown pages with a planted fault.
# Environment: srcdir, builddir.
set -u
. "$(dirname "$0")/../lib.sh"
make_work
cd "${builddir:?the build directory}" || exit 99
pages=$(in_make print-man-pages)
[ -n "${pages// /}" ] || tap_skip_all "configured without man pages"

# words_of PAGE: its text without the language's marks, a line each
words_of() { sed 's/\\-/-/g; s/\\f[BRI]//g; s/\\&//g' "$1"; }
# options PROGRAM: those that its -h shows at the beginning of a line, or behind two blanks, a line each
options() { "./$1" -h | grep -oE '(^ +|  |, )--?[A-Za-z][A-Za-z-]*' | tr -d ' ,' | sort -u; }

# lacking PAGE NAME...: those that are no words of the page
lacking() {
    local page=$1 name
    for name in "${@:2}"; do
        words_of "$page" | grep -qE -- "(^|[ (])$name([ ,.=()]|\$)" || echo "$page lacks $name"
    done
}

for program in bin/*; do
    name=$(basename "$program")
    case $name in mpirun | ompi_info) continue ;; esac
    # shellcheck disable=SC2046 # a word each
    { lacking "man/$name.1" $(options "$name"); lacking man/gpuring.7 "$name"; } >"$work/why"
    [ -f "man/$name.1" ] && [ ! -s "$work/why" ] && [ -n "$(options "$name")" ]
    tap_result $? "$name(1) has all options, and gpuring(7) names it" "$work/why"
done

# shellcheck disable=SC2016 # marks of Markdown
mapfile -t names < <(sed -n 's/^| `\([a-zA-Z_0-9]*\)` |.*/\1/p' "$srcdir/docs/parameters.md")
lacking man/gpuring.7 "${names[@]}" >"$work/why"
[ ! -s "$work/why" ] && [ ${#names[@]} -gt 0 ] && [ "$(grep -c '^\.TP' man/gpuring.7)" -ge ${#names[@]} ]
tap_result $? "gpuring(7) has all parameters and counters" "$work/why"
lacking man/gpuring.7 planted_parameter >"$work/why"
[ -s "$work/why" ]
tap_result $? "one that is missing is found"

# marks_left PAGE...: lines with what is left of Markdown
# shellcheck disable=SC2016
marks_left() { grep -nE '`|\]\(|^\||\*\*|^##' "$@" /dev/null; }
# shellcheck disable=SC2086 # a word each
! marks_left $pages >"$work/why"
tap_result $? "nothing of Markdown is left" "$work/why"

# awk -f page.awk on a frame and a page of this test's
mkdir "$work/pages"
cat >"$work/pages/page.md" <<'END'
# A page

## One

Text with `code` and a
[broken link](other.md#part).

| name | unit | effect |
|---|---|---|
| `first` | s | what it is |

    $ one -x \
        more
- an item
END
printf '.SH HEAD\n@pages/page.md: One\n' >"$work/frame"
made() { ${AWK:-awk} -v top="$work" -f "$srcdir/tools/man/roff.awk" -f "$srcdir/tools/man/page.awk" "$work/frame"; }
made | grep -v '^\.\\"' >"$work/got"
cat >"$work/expected" <<'END'
.SH HEAD
Text with \fBcode\fR and a broken link (other.md).
.TP
\fBfirst\fR
s. Effect: what it is
.PP
.RS 4
.nf
$ one \-x \e
    more
.fi
.RE
.IP * 2
an item
END
diff "$work/expected" "$work/got" >"$work/why"
tap_result $? "headings, links, tables, blocks and lists" "$work/why"
printf '@pages/page.md: Two\n' >"$work/frame"
! made >"$work/got" 2>&1
tap_result $? "a section that is not there is an error" "$work/got"

mandoc_finds() { mandoc -T lint -W warning "$1"; }
man_finds() { { man --warnings -E UTF-8 -l -Tutf8 -Z "$1" >/dev/null; } 2>&1; }
lexgrog_finds() { lexgrog "$1" >/dev/null 2>&1 || echo "$1: what is its name, and what is it?"; }

sed 's/^\.SH NAME/.XX/' man/gpuring.7 >"$work/wrong.7"
for tool in mandoc man lexgrog; do
    if ! command -v $tool >/dev/null; then
        tap_skip "$tool finds nothing" "no $tool"
        continue
    fi
    for page in $pages; do ${tool}_finds "$page"; done >"$work/why"
    [ ! -s "$work/why" ] && [ -n "$(${tool}_finds "$work/wrong.7")" ]
    tap_result $? "$tool finds nothing, but a planted fault" "$work/why"
done
tap_done
