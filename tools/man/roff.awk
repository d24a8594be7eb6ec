# SPDX-License-Identifier: BSD-3-Clause
# Functions of help.awk and page.awk: text in the language of man pages (man(7)).

# A line of text, without fonts.
function escaped(s) {
    gsub(/\\/, "\\e", s)
    if (s ~ /^[.']/) s = "\\&" s
    return s
}

function bold(s) { return "\\fB" s "\\fR" }
function italic(s) { return "\\fI" s "\\fR" }

# With \- for the hyphens that a reader may copy: those of options.
function dashes(s) {
    gsub(/-/, "\\-", s)
    return s
}

function heading(s) { print ".SH " toupper(s) }
function begin_verbatim() { print ".PP\n.RS 4\n.nf" }
function end_verbatim() { print ".fi\n.RE" }
