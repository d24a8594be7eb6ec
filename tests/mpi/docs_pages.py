#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Reads the documentation: links, file names, messages, and the commands in its blocks.

    docs_pages.py links|files|messages|marks|folders TOP    print what is wrong, a line each
    docs_pages.py blocks TOP DIR                    write DIR/N.sh for each block, print "N MODE PAGE:LINE REASON"

A block of commands is fenced by ```sh. The line before it may be an HTML comment that says how it is run:
<!-- not run: REASON -->, or <!-- all: REASON --> where only ./check --all runs it.
"""
import pathlib
import re
import sys

MARK = re.compile(r"<!-- (not run|all): (.+) -->$")
COMMAND = re.compile(r"    (?:\$ )?(?:mpirun |make |autoreconf|\. build/env|\./(?:check|demo)\b|(?:benchmarks|tests|tools|build)/\S+ "
                     r"|gpuring_(?:bench|sched|choices|together) [-a-z]+ |torus_sim )")


def pages(top):
    return [p for p in [top / "README.md", top / "CONTRIBUTING.md", top / "NEWS.md"] if p.exists()] + \
        sorted((top / "docs").glob("*.md")) + [top / "tests/fakes/cuda/README.md"]


def lines_outside_blocks(page):
    """Pairs (number, line) of the text that is neither fenced nor indented as code."""
    fenced = False
    for number, line in enumerate(page.read_text().split("\n"), 1):
        if line.startswith("```"):
            fenced = not fenced
        elif not fenced and not line.startswith("    "):
            yield number, line


def anchors(page):
    """What GitHub makes of the page's headings."""
    found = set()
    for _, line in lines_outside_blocks(page):
        if line.startswith("#"):
            text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", line.lstrip("#").strip().lower())
            slug = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
            n = 0
            while (slug if n == 0 else f"{slug}-{n}") in found:
                n += 1
            found.add(slug if n == 0 else f"{slug}-{n}")
    return found


def wrong_links(top):
    for page in pages(top):
        for number, line in lines_outside_blocks(page):
            for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", line)):
                if re.match(r"[a-z]+:", target):
                    continue
                name, _, anchor = target.partition("#")
                file = (page.parent / name) if name else page
                if not file.exists():
                    yield f"{page.relative_to(top)}:{number}: {target}: no such file"
                elif anchor and file.suffix == ".md" and anchor not in anchors(file):
                    yield f"{page.relative_to(top)}:{number}: {target}: no such heading"
    for source in source_files(top):
        for number, line in enumerate(source.read_text(errors="replace").split("\n"), 1):
            for name, anchor in re.findall(r"\b(docs/[\w-]+\.md)(?:#([\w-]+))?", line):
                file = top / name
                if not file.exists() or (anchor and anchor not in anchors(file)):
                    yield f"{source.relative_to(top)}:{number}: {name}{'#' + anchor if anchor else ''}: no such page or heading"


def source_files(top):
    kinds = {".c", ".h", ".cu", ".cuh", ".cpp", ".py", ".sh", ".txt", ".in", ".awk", ".am"}
    for folder in ("coll_gpuring", "benchmarks", "tests", "tools"):
        for path in sorted((top / folder).rglob("*")):
            if path.is_file() and (path.suffix in kinds or "." not in path.name) and "corpus" not in path.parts \
                    and path.name != "docs_pages.py":
                yield path
    for name in ("check", "demo", "env.sh.in", "configure.ac", "Makefile.am"):
        if (top / name).exists():
            yield top / name


def missing_files(top):
    """Names in backticks that look like files of the tree: below the top, coll_gpuring, or docs."""
    name = re.compile(r"`([\w.*/-]+\.(?:[ch]|sh|py|cuh?|cpp|am|md|toml|tsv|csv|txt|png|awk)|(?:[a-z]\w*/)+)`")
    made = ("build/", "build-", "OUT/", "DIR/", "FILE")
    for page in pages(top):
        if page.name == "NEWS.md":
            continue
        for number, line in lines_outside_blocks(page):
            for found in name.findall(line):
                if found.startswith(made) or "/" not in found:
                    continue
                if not any(any(base.glob(found.rstrip("/"))) for base in (top, top / "coll_gpuring", page.parent)):
                    yield f"{page.relative_to(top)}:{number}: {found}: no such file"


def fragments(text):
    """The fixed parts of the first clause of a message."""
    clause = re.split(r"; |\. |\(", re.sub(r"^gpuring: ", "", text))[0]
    parts = re.split(r"%[-+.\d*]*(?:l|ll|z)?[a-z]|\\?\"", clause)
    return [p.strip(" ,:") for p in parts if len(p.strip(" ,:")) >= 6]


def messages(top):
    for line in (top / "coll_gpuring/help-coll-gpuring.txt").read_text().split("\n"):
        if line and line[0] not in "#[":
            yield line
    string = r"\"(?:[^\"\\]|\\.)*\""
    call = re.compile(rf"(\"gpuring: (?:[^\"\\]|\\.)*\"(?:\s*{string})*)")
    for source in sorted((top / "coll_gpuring").rglob("*.c")):
        for literals in call.findall(source.read_text()):
            yield "".join(re.findall(r"\"((?:[^\"\\]|\\.)*)\"", literals))


def waits(top):
    """What executors say that a rank waits for: the strings of their functions `explain`."""
    for source in sorted((top / "coll_gpuring").rglob("*.c")):
        function = r"^(?:static )?void \w+_explain\([^;{]*\)\n{.*?^}"
        for body in re.findall(function, source.read_text(), re.M | re.S):
            yield from re.findall(r"\"((?:[^\"\\]|\\.)*)\"", body)


def missing_messages(top):
    page = " ".join((top / "docs/troubleshooting.md").read_text().split())
    for text in [*messages(top), *waits(top)]:
        for part in fragments(text):
            if part not in page:
                yield f"docs/troubleshooting.md lacks \"{part}\", of: {text}"


def wrong_folders(top):
    """architecture.md's table of folders says what layering_test.sh enforces."""
    test = (top / "tests/build/layering_test.sh").read_text()
    rules = dict(row.split(": ") for row in re.search(r"^folders='(.*?)'", test, re.M | re.S)[1].split("\n"))
    page = (top / "docs/architecture.md").read_text()
    for folder, allowed in rules.items():
        row = re.search(rf"^\| `{folder}/` \| .* \| (.*) \|$|^\| `{folder}/` \| .* \| \|$", page, re.M)
        said = set(re.findall(r"`([^`]+)`", row[1] or "")) if row else None
        wanted = set(allowed.split()) - {"base/", f"{folder}/"}
        if row and (row[1] or "").startswith("all"): # all, or all but some
            said = {f"{name}/" for name in rules} - {"base/", f"{folder}/"} - said
        if said != wanted:
            yield f"docs/architecture.md: {folder}/ may include {' '.join(sorted(wanted))}"


def blocks(page):
    """Triples (line number, mode, reason, text) of the blocks of commands."""
    lines = page.read_text().split("\n")
    at = 0
    while at < len(lines):
        if lines[at].startswith("```"):
            end = next((k for k in range(at + 1, len(lines)) if lines[k] == "```"), len(lines))
            if lines[at] == "```sh":
                mark = MARK.match(lines[at - 1]) if at > 0 else None
                yield at + 1, mark[1] if mark else "quick", mark[2] if mark else "", "\n".join(lines[at + 1:end]) + "\n"
            at = end
        at += 1


def wrong_marks(top):
    for page in pages(top):
        fenced = False
        lines = page.read_text().split("\n")
        for number, line in enumerate(lines, 1):
            if line.startswith("```"):
                fenced = not fenced
            elif not fenced and COMMAND.match(line) and "$ " not in line[:6]:
                yield f"{page.relative_to(top)}:{number}: a command outside of a ```sh block: {line.strip()[:60]}"
            elif line.startswith("<!-- ") and MARK.match(line) and (number >= len(lines) or lines[number] != "```sh"):
                yield f"{page.relative_to(top)}:{number}: a mark with no ```sh behind it"
        if fenced:
            yield f"{page.relative_to(top)}: a block does not end"


def write_blocks(top, folder):
    n = 0
    for page in pages(top):
        for number, mode, reason, text in blocks(page):
            n += 1
            (folder / f"{n}.sh").write_text(text)
            print(n, mode.replace(" ", "-"), f"{page.relative_to(top)}:{number}", reason)


def main():
    what, top = sys.argv[1], pathlib.Path(sys.argv[2])
    if what == "blocks":
        write_blocks(top, pathlib.Path(sys.argv[3]))
        return
    checks = {"links": wrong_links, "files": missing_files, "messages": missing_messages, "marks": wrong_marks,
              "folders": wrong_folders}
    for problem in checks[what](top):
        print(problem)


if __name__ == "__main__":
    main()
