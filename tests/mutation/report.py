# SPDX-License-Identifier: BSD-3-Clause
"""What the results say of the tests: which faults each catches, and whether the quick ones suffice."""
from results import BASE

LEAST = 0.95  # of what any test catches, the quick ones must catch


def caught_by_test(results, faults):
    """{test: set of the faults that it caught}."""
    names = {f.name for f in faults}
    sets = {}
    for (fault, test), (verdict, _, _) in results.rows.items():
        if fault in names and verdict == "caught":
            sets.setdefault(test, set()).add(fault)
    return sets


def seconds_of(results, known, test):
    base = results.base(test)
    return base if base is not None else known.seconds.get(test, 0.0)


def same_catch(results, sets, seconds):
    """(dearer, cheaper) pairs of tests that caught the same, of the faults that both were run on."""
    ran = {}
    for fault, test in results.rows:
        if fault != BASE:
            ran.setdefault(test, set()).add(fault)
    pairs = []
    for a in sets:
        for b in sets:
            both = ran[a] & ran[b]
            if a != b and (seconds[a], a) > (seconds[b], b) and sets[a] & both and sets[a] & both == sets[b] & both:
                pairs.append((a, b))
    return sorted(pairs)


def write_tables(known, tests, sets, seconds, quick, results, faults):
    """The committed tables. What an earlier one says of faults that were not run stays."""
    caught = {f.name: dict(known.caught.get(f.name, {})) for f in faults}
    for fault in caught:
        for test in [t for t in caught[fault] if (fault, t) in results.rows]:
            del caught[fault][test]
        caught[fault].update(results.catchers(fault))
    with open(known.folder / "caught.tsv", "w") as f:
        f.write("# fault\ttest\tseconds\trow\n")
        for fault, rows in caught.items():
            for test, (s, row) in sorted(rows.items(), key=lambda x: (x[1][0], x[0])):
                f.write(f"{fault}\t{test}\t{s:.1f}\t{row}\n")
    with open(known.folder / "table.tsv", "w") as f:
        f.write("# test\tgroup\tlist\tseconds\tfaults\n")
        for test in tests:
            n = sum(test.name in rows for rows in caught.values())
            if seconds.get(test.name):
                which = "quick" if test.name in quick else "all"
                f.write(f"{test.name}\t{test.group}\t{which}\t{seconds[test.name]:.1f}\t{n}\n")


def report(results, known, tests, faults, quick, write):
    """Print it. 0: the quick tests catch enough; 1: they do not."""
    sets = caught_by_test(results, faults)
    names = [t.name for t in tests]
    seconds = {n: seconds_of(results, known, n) for n in dict.fromkeys([*names, *sets])}
    everything = set().union(*sets.values()) if sets else set()
    by_quick = set().union(*(s for t, s in sets.items() if t in quick))
    ran = {f for f, _ in results.rows if f != BASE}

    print(f"{'seconds':>8} {'faults':>6}  list   test")
    for name in sorted(seconds, key=lambda n: -len(sets.get(n, ()))):
        if name in sets or results.base(name) is not None:
            print(f"{seconds[name]:8.1f} {len(sets.get(name, ())):6}  {'quick' if name in quick else 'all':5}  {name}")
    for title, some in (("caught by no test", ran - everything), ("caught by no quick test", everything - by_quick)):
        print(f"\n{len(some)} faults {title}:")
        for fault in (f for f in faults if f.name in some):
            print(f"    {fault.area:10} {fault.name}: {fault.what}")
    print("\nTests that catch the same, of the faults that both were run on; the dearer one first:")
    for a, b in same_catch(results, sets, seconds):
        print(f"    {a} ({seconds[a]:.1f} s)  {b} ({seconds[b]:.1f} s)")
    share = len(by_quick) / len(everything) if everything else 1
    print(f"\n{len(ran)} faults were run, {len(everything)} caught; the quick tests catch {len(by_quick)}: {100 * share:.1f}%")
    if write:
        write_tables(known, tests, sets, seconds, quick, results, faults)
    return 0 if share >= LEAST else 1
