/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cuGetExportTable, by which NVIDIA's CUDA runtime (cudart) reaches functions of the driver that no
 * manual has, among them one by which it makes sure that the driver is NVIDIA's. This one is not:
 * it has no such tables, and every call of that runtime fails. tests/fakes/cudart takes its place.
 */
#include "context.h"

using namespace fake;

FAKE_API cuGetExportTable(const void **table, const CUuuid *id)
{
    static std::atomic<bool> said;

    NEED(nullptr != table && nullptr != id, CUDA_ERROR_INVALID_VALUE);
    *table = nullptr;
    if (!said.exchange(true)) {
        complain(
            "NVIDIA's CUDA runtime does not run on this driver: link the program to the shared "
            "one (nvcc -cudart shared), and let the loader find that of this driver");
    }
    return CUDA_ERROR_NOT_FOUND;
}
