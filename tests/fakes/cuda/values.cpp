/* SPDX-License-Identifier: BSD-3-Clause */
/* A stream that waits for a value in memory, or writes one. */
#include "capture.h"
#include "cuda_emu.h"
#include "memory.h"
#include "stream.h"

#include <unistd.h>

namespace fake
{

template <class T> static bool holds(T now, T value, unsigned flags)
{
    switch (flags & 3) {
    case CU_STREAM_WAIT_VALUE_GEQ:
        return (typename std::make_signed<T>::type)(now - value) >= 0;
    case CU_STREAM_WAIT_VALUE_EQ:
        return now == value;
    case CU_STREAM_WAIT_VALUE_AND:
        return 0 != (now & value);
    default:
        return 0 != (T) ~(now | value);
    }
}

template <class T>
static CUresult wait_value(CUstream handle, CUdeviceptr at, T value, unsigned flags)
{
    NEED_STREAM(s, handle);
    NEED_CAPTURE(use(s));
    NEED(0 == at % sizeof(T) && nullptr != memory_find(at), CUDA_ERROR_INVALID_VALUE);
    stream_put(s, [=] {
        const T *word = emu::host((const T *) at);
        for (unsigned n = 0; !holds<T>(__atomic_load_n(word, __ATOMIC_ACQUIRE), value, flags);
             n++) {
            usleep(n < 100 ? 10 : 100);
        }
    });
    return CUDA_SUCCESS;
}

template <class T> static CUresult write_value(CUstream handle, CUdeviceptr at, T value)
{
    NEED_STREAM(s, handle);
    NEED_CAPTURE(use(s));
    NEED(0 == at % sizeof(T) && nullptr != memory_find(at), CUDA_ERROR_INVALID_VALUE);
    stream_put(s, [=] { __atomic_store_n(emu::host((T *) at), value, __ATOMIC_RELEASE); });
    return CUDA_SUCCESS;
}

} /* namespace fake */

using namespace fake;

#define VALUE_FUNCTIONS(bits)                                                                  \
    FAKE_API cuStreamWaitValue##bits##_v2(CUstream s, CUdeviceptr at, cuuint##bits##_t value,  \
                                          unsigned flags)                                      \
    {                                                                                          \
        return wait_value<cuuint##bits##_t>(s, at, value, flags);                              \
    }                                                                                          \
    FAKE_API cuStreamWriteValue##bits##_v2(CUstream s, CUdeviceptr at, cuuint##bits##_t value, \
                                           unsigned)                                           \
    {                                                                                          \
        return write_value<cuuint##bits##_t>(s, at, value);                                    \
    }
VALUE_FUNCTIONS(32)
VALUE_FUNCTIONS(64)
