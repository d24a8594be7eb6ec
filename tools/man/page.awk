# SPDX-License-Identifier: BSD-3-Clause
# A man page from a frame and sections of pages in Markdown:
#     awk -v top=SOURCES -v date=YYYY-MM-DD -v version=N -f roff.awk -f page.awk FRAME
# Lines of the frame are copied, but these: "@PAGE: SECTION" is that section of the page, without its heading; "@PAGE" is
# all its sections, with theirs. @DATE@ and @VERSION@ are replaced. Of Markdown it knows what docs/ uses: headings,
# paragraphs, lists, tables, blocks of commands and of output, `code`, **bold**, links.

function span(s, mark, font,    n, parts, i, out) {
    n = split(s, parts, mark)
    out = parts[1]
    for (i = 2; i <= n; i++) out = out (i % 2 == 0 ? font parts[i] "\\fR" : parts[i])
    return out
}

function text(s) {
    s = escaped(s)
    s = span(s, "`", "\\fB")
    return span(s, "[*][*]", "\\fB")
}

# "[text](page.md#anchor)" is "text (page.md)", or the page alone where the text names it. A link may be broken over two
# lines, so this takes a whole paragraph.
function unlinked(s,    out, link, label, target) {
    while (match(s, /\[[^][]*\]\([^()]*\)/)) {
        link = substr(s, RSTART + 1, RLENGTH - 2)
        label = target = link
        sub(/\]\(.*/, "", label)
        sub(/.*\]\(/, "", target)
        sub(/#.*/, "", target)
        out = out substr(s, 1, RSTART - 1) label (target != "" && label !~ /\.md$/ ? " (" target ")" : "")
        s = substr(s, RSTART + RLENGTH)
    }
    return out s
}

# The paragraph or item of a list that has been read, in lines of words that fit
function flush_paragraph(    words, n, i, line) {
    if (paragraph == "") return
    print begin
    n = split(unlinked(paragraph), words, " ")
    line = words[1]
    for (i = 2; i <= n; i++) {
        # marks may span words, so a line ends only where none is open
        if (length(line) > 70 && gsub(/`/, "`", line) % 2 == 0) {
            print text(line)
            line = words[i]
        } else {
            line = line " " words[i]
        }
    }
    print text(line)
    paragraph = ""
}

# A row: the first cell is the term. Of three, the second one says what it is, and the third follows with its column's
# name; otherwise the last one says what it is, after those between with the names of their columns.
function table_row(line,    cells, n, i, between) {
    sub(/^\| */, "", line)
    sub(/ *\|$/, "", line)
    n = split(line, cells, / *\| */)
    if (!in_table) {
        in_table = 1
        for (i = 1; i <= n; i++) names[i] = cells[i]
        return
    }
    if (cells[1] ~ /^---/) return
    begin = ".TP"
    paragraph = cells[1]
    flush_paragraph()
    if (n == 3) {
        cells[2] = cells[2] ". " toupper(substr(names[3], 1, 1)) substr(names[3], 2) ": " cells[3]
        n = 2
    }
    for (i = 2; i < n; i++) {
        if (cells[i] != "") between = between (between == "" ? "" : "; ") names[i] ": " cells[i]
    }
    if (between != "") {
        print text(unlinked(between)) "."
        print ".br"
    }
    begin = ".\\\""
    paragraph = cells[n]
    flush_paragraph()
    first = 0
}

function convert(line, headings) {
    if (fenced) {
        if (line ~ /^```/) { fenced = 0; end_verbatim() }
        else if (line !~ /^\. build\/env\.sh/) print dashes(escaped(line)) # what is installed is on the paths
        return
    }
    if (indented && line !~ /^    /) { indented = 0; end_verbatim() }
    if (line !~ /^\|/) in_table = 0
    if (line ~ /^<!--/) return
    if (line ~ /^```/) { flush_paragraph(); fenced = 1; first = 0; begin_verbatim(); return }
    if (line ~ /^    / && paragraph == "") {
        if (!indented) begin_verbatim()
        indented = 1
        first = 0
        print dashes(escaped(substr(line, 5)))
        return
    }
    if (line ~ /^#/) {
        flush_paragraph()
        if (headings && line ~ /^## /) heading(substr(line, 4))
        first = 1
        return
    }
    if (line ~ /^\|/) { flush_paragraph(); table_row(line); return }
    if (line == "") { flush_paragraph(); return }
    if (line ~ /^(-|[0-9]+\.) /) {
        flush_paragraph()
        begin = line ~ /^-/ ? ".IP * 2" : ".IP " substr(line, 1, index(line, " ") - 1) " 4"
        sub(/^[^ ]* /, "", line)
        paragraph = line
        first = 0
        return
    }
    if (paragraph == "") begin = first ? ".\\\"" : ".PP"
    first = 0
    paragraph = paragraph " " line
}

# One section of a page, or all
function insert(page, section,    line, wanted, found, status) {
    wanted = section == ""
    first = 1
    while ((status = (getline line < (top "/" page))) > 0) {
        if (line ~ /^## /) {
            if (section != "") wanted = line == "## " section
        } else if (line ~ /^# /) {
            continue
        }
        if (wanted) { convert(line, section == ""); found = 1 }
    }
    convert("", 0)
    flush_paragraph()
    close(top "/" page)
    if (status < 0 || !found) {
        print "page.awk: no " page ": " section >"/dev/stderr"
        exit 1
    }
}

/^@/ {
    line = substr($0, 2)
    if (cut = index(line, ": ")) insert(substr(line, 1, cut - 1), substr(line, cut + 2))
    else insert(line, "")
    next
}
{
    gsub(/@DATE@/, date)
    gsub(/@VERSION@/, version)
    print
}
