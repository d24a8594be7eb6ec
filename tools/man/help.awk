# SPDX-License-Identifier: BSD-3-Clause
# The man page of a program, from what it prints with -h:
#     PROGRAM -h | awk -v name=PROGRAM -v date=YYYY-MM-DD -v version=N -f roff.awk -f help.awk
# That text is: usage lines; a sentence; then paragraphs, and lines "TERM  what it is", which lines that are indented
# further continue. A TERM is an option, or a word in capitals; a line may have several, with two blanks before each.

# Options in bold, what they take in italics.
function term(s,    words, n, i, out) {
    n = split(s, words, " ")
    for (i = 1; i <= n; i++) {
        if (words[i] ~ /^-.*=/) {
            out = out " " bold(dashes(substr(words[i], 1, index(words[i], "=")))) \
                italic(dashes(substr(words[i], index(words[i], "=") + 1)))
        } else {
            out = out " " (words[i] ~ /^-/ ? bold(dashes(words[i])) : words[i] ~ /[A-Z]/ ? italic(words[i]) : words[i])
        }
    }
    return substr(out, 2)
}

function text(s,    words, n, i, out) {
    n = split(escaped(s), words, " ")
    for (i = 1; i <= n; i++) {
        out = out " " (words[i] ~ /^\(?--?[A-Za-z]/ ? dashes(words[i]) : words[i])
    }
    return substr(out, 2)
}

function section(s) {
    if (section_now != s) heading(s)
    section_now = s
}

# Where the option ends that the field begins with: behind it and its placeholder.
function head_length(field) {
    if (match(field, /^--?[A-Za-z-]+(=[^ ]*)? [A-Z]+ /)) return RLENGTH - 1
    return length(field)
}

function item(head, rest) {
    section(head ~ /^-/ ? "options" : "description")
    print ".TP\n" term(head)
    if (rest != "") print text(rest)
}

# A line of options or terms: fields with two blanks or more between them
function items(line,    fields, n, i, cut) {
    sub(/^ +/, "", line)
    n = split(line, fields, /   */)
    if (n == 1 && (cut = index(line, ": "))) {
        item(substr(line, 1, cut - 1), substr(line, cut + 2))
        return
    }
    for (i = 1; i <= n; i++) {
        if (i == 1 || fields[i] ~ /^--?[A-Za-z]/) {
            cut = head_length(fields[i])
            item(substr(fields[i], 1, cut), substr(fields[i], cut + 2))
        } else {
            print text(fields[i])
        }
    }
}

BEGIN {
    title = toupper(name)
    print ".\\\" Made by tools/man/help.awk from " name " -h: do not edit."
    print ".TH " title " 1 " date " \"gpuring " version "\" \"gpuring\""
}

!usage && /^usage: / { usage = 1; uses[++n_uses] = substr($0, 8); next }
!usage { next }
!what && /^       / { sub(/^ +/, ""); uses[++n_uses] = $0; next }
!what {
    what = $0
    heading("name")
    sub(/\.$/, "", what)
    print name " \\- " tolower(substr(what, 1, 1)) substr(what, 2)
    heading("synopsis")
    for (i = 1; i <= n_uses; i++) {
        cut = match(uses[i], /   */)
        use = cut ? substr(uses[i], 1, cut - 1) : uses[i]
        if (cut) print ".TP"
        else if (i > 1) print ".br"
        print dashes(use)
        if (cut) print substr(uses[i], RSTART + RLENGTH)
    }
    next
}
/^$/ { paragraph = 1; next }
/^Exit status: / { section("exit status"); print text(substr($0, 14)); next }
/^[A-Z]+: / { item(substr($0, 1, index($0, ":") - 1), substr($0, index($0, ":") + 2)); next }
/^ ? ? ? ? ? ?--?[A-Za-z]/ || /^  [A-Z]+  / { items($0); next }
/^[^ ]/ {
    if (paragraph && section_now == "description") print ".PP"
    section("description")
    paragraph = 0
    print text($0)
    next
}
{ print text($0) }

END {
    if (!what) { print "help.awk: " name " -h has no usage lines and sentence" >"/dev/stderr"; exit 1 }
    heading("see also")
    print "\\fBgpuring\\fR(7), \\fBmpirun\\fR(1)"
}
