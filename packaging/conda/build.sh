#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds gpuring for conda-forge's Open MPI, whose internal headers come from its source, configured in the same way.
set -ex

(cd openmpi && ./configure --prefix="$PREFIX" --with-hwloc="$PREFIX" --with-libevent="$PREFIX" --with-zlib="$PREFIX" \
    --with-ucx="$PREFIX" --enable-ipv6 --with-sge --disable-mpi-fortran --disable-sphinx)
autoreconf -fi
mkdir build-conda
cd build-conda
../configure --prefix="$PREFIX" --with-ompi="$PREFIX" --with-ompi-src="$SRC_DIR/openmpi" --with-ucx="$PREFIX" \
    --with-hwloc="$PREFIX" --without-cuda
make -j"${CPU_COUNT:-1}"
make install
