# SPDX-License-Identifier: BSD-3-Clause
"""What results and the committed tables say of the tests: which faults each catches, and whether the quick ones suffice."""
from results import BASE

LEAST = 0.95  # of what any test catches, the quick ones must catch


def merge(results, known, faults):
    """{fault: {test: (seconds, row)}} of the tests that catch it. What the tables say holds where it was not run again."""
    caught = {}
    for fault in faults:
        rows = {t: r for t, r in known.caught.get(fault.name, {}).items() if (fault.name, t) not in results.rows}
        caught[fault.name] = rows | results.catchers(fault.name)
    return caught


def seconds_of(results, known, test, caught):
    """Of a test that was run, or None."""
    base = results.base(test)
    return base if base is not None else known.seconds.get(test, 0.0 if caught else None)


def same_catch(results, seconds):
    """(dearer, cheaper) pairs of tests that caught the same, of the faults that both were run on."""
    ran, sets = {}, {}
    for (fault, test), (verdict, _, _) in results.rows.items():
        if fault != BASE:
            ran.setdefault(test, set()).add(fault)
            sets.setdefault(test, set()).update({fault} if verdict == "caught" else ())
    pairs = []
    for a in sets:
        for b in sets:
            both = ran[a] & ran[b]
            if a != b and None not in (seconds.get(a), seconds.get(b)) and (seconds[a], a) > (seconds[b], b) and sets[a] & both and sets[a] & both == sets[b] & both:
                pairs.append((a, b))
    return sorted(pairs)


def write_tables(known, tests, caught, seconds, quick):
    """The committed tables."""
    with open(known.folder / "caught.tsv", "w") as f:
        f.write("# fault\ttest\tseconds\trow\n")
        for fault, rows in caught.items():
            for test, (s, row) in sorted(rows.items(), key=lambda x: (x[1][0], x[0])):
                f.write(f"{fault}\t{test}\t{s:.1f}\t{row}\n")
    with open(known.folder / "table.tsv", "w") as f:
        f.write("# test\tgroup\tlist\tseconds\tfaults\n")
        for test in (x for t in tests for x in (t, t.with_all_rows())):
            if seconds[test.name] is not None:
                n = sum(test.name in rows for rows in caught.values())
                which = "quick" if test.name in quick else "all"
                f.write(f"{test.name}\t{test.group}\t{which}\t{seconds[test.name]:.1f}\t{n}\n")


def report(results, known, tests, faults, quick, write):
    """Print it. 0: the quick tests catch enough; 1: they do not."""
    caught = merge(results, known, faults)
    everything = {f for f, rows in caught.items() if rows}
    by_quick = {f for f, rows in caught.items() if quick & rows.keys()}
    names = [x.name for t in tests for x in (t, t.with_all_rows())] or sorted(known.lists)
    counts = {n: sum(n in rows for rows in caught.values()) for n in names}
    seconds = {n: seconds_of(results, known, n, counts[n]) for n in names}

    print(f"{'seconds':>8} {'faults':>6}  list   test")
    for name in sorted((n for n in names if seconds[n] is not None), key=lambda n: -counts[n]):
        print(f"{seconds[name]:8.1f} {counts[name]:6}  {'quick' if name in quick else 'all':5}  {name}")
    for title, some in (("caught by no test", caught.keys() - everything), ("caught by no quick test", everything - by_quick)):
        print(f"\n{len(some)} faults {title}:")
        for fault in (f for f in faults if f.name in some):
            print(f"    {fault.area:10} {fault.name}: {fault.what}")
    print("\nTests that catch the same, of the faults that both were run on; the dearer one first:")
    for a, b in same_catch(results, seconds):
        print(f"    {a} ({seconds[a]:.1f} s)  {b} ({seconds[b]:.1f} s)")
    share = len(by_quick) / len(everything) if everything else 1
    print(f"\nof {len(caught)} faults {len(everything)} are caught, by quick tests {len(by_quick)}: {100 * share:.1f}%")
    if write:
        write_tables(known, tests, caught, seconds, quick)
    return 0 if share >= LEAST else 1
