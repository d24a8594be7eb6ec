#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes the wheel `gpuring` from a bundle (make bundle, or tools/bundle.sh), and prints its path.

    packaging/python/wheel.py gpuring-VERSION-ARCHITECTURE.tar.gz [FOLDER]

The version is the bundle's, which is configure.ac's. The wheel's tag has the C library that the bundle's files need.
"""
import base64
import hashlib
import os
import re
import sys
import tarfile
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
METADATA = """\
Metadata-Version: 2.1
Name: gpuring
Version: {version}
Summary: A coll component for Open MPI: collectives as rings and trees, on GPUs and hosts
License: BSD-3-Clause
Requires-Python: >=3.8
Description-Content-Type: text/markdown

"""
ENTRY_POINTS = """\
[console_scripts]
gpuring_ab = gpuring:ab
gpuring_abi = gpuring:abi
gpuring_choices = gpuring:choices
gpuring_sched = gpuring:sched
gpuring_top = gpuring:top
"""
LEFT_OUT = re.compile(r"modulefiles/|share/|SHA256SUMS$|bin/(gpuring-install|gpuring_bench|gpuring_tune|torus_sim)$")
TEXTS = "share/doc/gpuring/"
LEAST = 28  # no tag before manylinux_2_28: tools/glibc.sh builds for that, whichever functions are used today


def glibc(files):
    """the version of the C library that all but variants ask for, and at least one variant"""
    newest = {}
    for path, (data, _) in files.items():
        variant = re.search(r"gpuring-variants/([^/]*)/", path)
        key = variant[1] if variant else ""
        found = [int(minor) for minor in re.findall(rb"GLIBC_2\.(\d+)\0", data)]
        newest[key] = max([newest.get(key, LEAST), *found])
    return 2, max(newest.pop(""), min(newest.values()))


def members(bundle):
    """(version, architecture, {path: (bytes, executable)}) of a bundle, and its README's text"""
    found = re.fullmatch(r"gpuring-([0-9.]+)-(\w+)\.tar\.gz", os.path.basename(bundle))
    if not found:
        sys.exit(f"wheel: {bundle} is not named gpuring-VERSION-ARCHITECTURE.tar.gz")
    files, texts = {}, {}
    with tarfile.open(bundle) as tar:
        for member in tar:
            if not member.isfile():
                continue
            path = member.name.split("/", 1)[1]
            data = tar.extractfile(member).read()
            if LEFT_OUT.match(path):
                texts[path] = data
            else:
                files["gpuring/" + path] = (data, bool(member.mode & 0o111))
    return found[1], found[2], files, texts


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    version, machine, files, texts = members(sys.argv[1])
    tag = "py3-none-manylinux_%d_%d_%s" % (*glibc(files), machine)
    for name in sorted(os.listdir(os.path.join(HERE, "gpuring"))):
        if name.endswith(".py"):
            with open(os.path.join(HERE, "gpuring", name), "rb") as file:
                files["gpuring/" + name] = (file.read(), False)
    files["gpuring.pth"] = (b"import gpuring._attach\n", False)
    info = f"gpuring-{version}.dist-info/"
    files[info + "METADATA"] = (METADATA.format(version=version).encode() + texts[TEXTS + "README.md"], False)
    files[info + "WHEEL"] = (f"Wheel-Version: 1.0\nGenerator: gpuring\nRoot-Is-Purelib: false\nTag: {tag}\n".encode(), False)
    files[info + "entry_points.txt"] = (ENTRY_POINTS.encode(), False)
    files[info + "licenses/LICENSE"] = (texts[TEXTS + "LICENSE"], False)
    record = ""
    out = os.path.join(sys.argv[2] if len(sys.argv) == 3 else ".", f"gpuring-{version}-{tag}.whl")
    for path, (data, _) in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record += f"{path},sha256={digest},{len(data)}\n"
    files[info + "RECORD"] = ((record + info + "RECORD,,\n").encode(), False)
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, (data, executable) in files.items():
            entry = zipfile.ZipInfo(path, (2026, 1, 1, 0, 0, 0))
            entry.external_attr = (0o100755 if executable else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    print(out)


main()
