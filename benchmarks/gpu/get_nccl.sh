#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Fetches NCCL for gpuring_gpu --nccl, out of its Python wheel; installs nothing.
#     benchmarks/gpu/get_nccl.sh DIR [PACKAGE | WHEEL]
# DIR gets libnccl.so.2 (some 400 MB), which may be carried to a machine without a network. PACKAGE is what pip is asked
# for: by default 'nvidia-nccl-cu12>=2.30.3', which runs on newer drivers, too. WHEEL: a .whl that is there already.
set -eu
dir=${1:?usage: get_nccl.sh DIR [PACKAGE | WHEEL]}
from=${2:-nvidia-nccl-cu12>=2.30.3}
mkdir -p "$dir"
work=$(mktemp -d "$dir/fetch.XXXXXX")
trap 'rm -rf "$work"' EXIT
case $from in
    *.whl) wheel=$from ;;
    *)
        python3 -m pip download --quiet --no-deps --only-binary :all: --dest "$work" "$from"
        wheel=$(echo "$work"/*.whl)
        ;;
esac
python3 - "$wheel" "$work/libnccl.so.2" <<'END'
import shutil, sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as wheel:
    found = [name for name in wheel.namelist() if name.endswith("/libnccl.so.2")]
    if not found:
        sys.exit(f"get_nccl.sh: there is no libnccl.so.2 in {sys.argv[1]}")
    with wheel.open(found[0]) as source, open(sys.argv[2], "wb") as target:
        shutil.copyfileobj(source, target, 1 << 20)
END
mv "$work/libnccl.so.2" "$dir/libnccl.so.2"
echo "$dir/libnccl.so.2, of $(basename "$wheel")"
