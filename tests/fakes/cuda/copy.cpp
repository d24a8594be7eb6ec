/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies and memsets. When a call returns is what the driver's manual says ("API synchronization
 * behavior"):
 *
 *      synchronous   on the legacy stream; waits for the end, but not between devices' memory or for a memset of it,
 *                    unless CU_POINTER_ATTRIBUTE_SYNC_MEMOPS is set on an allocation; from pageable host memory it
 *                    waits only until the bytes are staged (shown under FAKECUDA_DELAY)
 *      asynchronous  on its stream; from pageable memory the bytes are taken at once, to it the call waits for the end
 */
#include "capture.h"
#include "cuda_emu.h"
#include "memory.h"
#include "stream.h"

#include <cstring>

namespace fake
{

/* One side of a copy. */
struct side {
    uintptr_t at;
    region_ref r;
    bool on_device() const
    {
        return nullptr != r && lives_on_device(r->kind);
    }
    bool pageable() const
    {
        return nullptr == r;
    }
    bool sync_memops() const
    {
        return nullptr != r && r->sync_memops;
    }
};

static bool sync_memops(CUstream stream)
{
    return 0 != (stream->context->flags & CU_CTX_SYNC_MEMOPS);
}

/* Looks the bytes up, and keeps their allocation from being freed until release(). */
static bool hold(side &s, uintptr_t at, size_t bytes)
{
    bool bad = false;

    s.at = at;
    s.r = memory_range(at, bytes, &bad);
    if (bad || (nullptr != s.r && KIND_VMM == s.r->kind && 0 == s.r->access)) {
        s.r = nullptr;
        return false;
    }
    if (nullptr != s.r) {
        s.r->busy++;
    }
    return true;
}

static void release(const side &s)
{
    if (nullptr != s.r) {
        s.r->busy--;
    }
}

static void touch(const side &s)
{
    if (nullptr != s.r && 0 != s.r->exporter && nullptr != s.r->shared && 0 != s.r->shared->freed) {
        die("a copy uses memory at %p that process %d has freed", (void *) s.at, s.r->exporter);
    }
}

/* Rows of `bytes` each, so far from one another on each side. */
struct rectangle {
    size_t bytes, rows, to_pitch, from_pitch;
};

static void move_rows(const rectangle &r, char *to, const char *from, size_t from_pitch)
{
    for (size_t i = 0; i < r.rows; i++) {
        memmove(to + i * r.to_pitch, from + i * from_pitch, r.bytes);
    }
}

static CUresult copy(uintptr_t to, uintptr_t from, const rectangle &r, CUstream stream, bool async)
{
    side d, s;
    bool wait;
    std::shared_ptr<std::vector<char>> staged;
    const bool once = !is_captured(stream); /* a graph keeps nothing */

    NEED(0 != r.bytes && 0 != r.rows, CUDA_SUCCESS);
    NEED(hold(d, to, (r.rows - 1) * r.to_pitch + r.bytes), CUDA_ERROR_INVALID_VALUE);
    if (!hold(s, from, (r.rows - 1) * r.from_pitch + r.bytes)) {
        release(d);
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (!once && (s.pageable() || d.pageable())) {
        release(d);
        release(s);
        return capture_wait(stream);
    }
    if (async) {
        wait = d.pageable();
    } else {
        const bool left_alone =
            (d.on_device() && s.on_device()) || (opt().delayed && d.on_device() && s.pageable());
        wait = !left_alone || sync_memops(stream) || d.sync_memops() || s.sync_memops();
    }
    if (s.pageable() && !wait) {
        staged = std::make_shared<std::vector<char>>(
            (char *) from, (char *) from + (r.rows - 1) * r.from_pitch + r.bytes);
    }
    note("copy %zu from %s to %s", r.rows * r.bytes, s.on_device() ? "device" : "host",
         d.on_device() ? "device" : "host");
    const size_t over_bus = s.on_device() != d.on_device() ? r.rows * r.bytes : 0;
    point p = stream_put_copy(stream, over_bus, d.on_device(), [=] {
        touch(d);
        touch(s);
        move_rows(r, emu::host((char *) to), staged ? staged->data() : emu::host((char *) from),
                  r.from_pitch);
        if (once) {
            release(d);
            release(s);
        }
    });
    if (!once) {
        release(d);
        release(s);
    }
    if (wait) {
        point_wait(p);
    }
    return CUDA_SUCCESS;
}

template <class T>
static CUresult fill(uintptr_t to, T value, size_t n, CUstream handle, bool async)
{
    side d;

    NEED_STREAM(stream, handle);
    if (!async) {
        NEED_CAPTURE(wait(stream));
    }
    NEED_CAPTURE(use(stream));
    const bool once = !is_captured(stream); /* a graph keeps nothing */
    NEED(0 != n, CUDA_SUCCESS);
    NEED(0 == to % sizeof(T), CUDA_ERROR_INVALID_VALUE);
    NEED(hold(d, to, n * sizeof(T)) && !d.pageable(), CUDA_ERROR_INVALID_VALUE);
    point p = stream_put_slow(stream, [=] {
        T *at = emu::host((T *) to);
        touch(d);
        for (size_t i = 0; i < n; i++) {
            at[i] = value;
        }
        if (once) {
            release(d);
        }
    });
    if (!once) {
        release(d);
    }
    if (!async && (!d.on_device() || sync_memops(stream) || d.sync_memops())) {
        point_wait(p);
    }
    return CUDA_SUCCESS;
}

/* Both sides by what the call says they are; a host side that is a device address is refused. */
enum { ANY, HOST, DEVICE };
static CUresult call(uintptr_t to, int to_is, uintptr_t from, int from_is, const rectangle &rows,
                     CUstream handle, bool async)
{
    const size_t bytes = rows.bytes * rows.rows;

    NEED_CONTEXT(c);
    CUstream stream = stream_of(handle, c);
    NEED(nullptr != stream, CUDA_ERROR_INVALID_HANDLE);
    if (!async) {
        NEED_CAPTURE(wait(stream));
    }
    NEED_CAPTURE(use(stream));
    const struct {
        uintptr_t at;
        int is;
    } sides[] = {{to, to_is}, {from, from_is}};
    for (const auto &s : sides) {
        region_ref r = memory_find(s.at);
        NEED(ANY == s.is || 0 == bytes || nullptr != r || HOST == s.is, CUDA_ERROR_INVALID_VALUE);
        NEED(HOST != s.is || nullptr == r || !lives_on_device(r->kind), CUDA_ERROR_INVALID_VALUE);
    }
    return copy(to, from, rows, stream, async);
}

static CUresult call(uintptr_t to, int to_is, uintptr_t from, int from_is, size_t bytes,
                     CUstream handle, bool async)
{
    return call(to, to_is, from, from_is, rectangle {bytes, 1, bytes, bytes}, handle, async);
}

/*
 * One side of a copy of rows, as cuMemcpy2D's argument says it; false: not as the manual allows it.
 */
static bool side_2d(CUmemorytype type, const void *host, CUdeviceptr device, size_t x, size_t y,
                    size_t pitch, size_t width, size_t rows, uintptr_t *at, int *is)
{
    if (CU_MEMORYTYPE_HOST != type && CU_MEMORYTYPE_DEVICE != type &&
        CU_MEMORYTYPE_UNIFIED != type) {
        return false; /* arrays are not there */
    }
    *is = CU_MEMORYTYPE_HOST == type ? HOST : CU_MEMORYTYPE_DEVICE == type ? DEVICE : ANY;
    *at = (HOST == *is ? (uintptr_t) host : (uintptr_t) device) + y * pitch + x;
    return pitch <= INT32_MAX && (rows < 2 || x + width <= pitch);
}

static CUresult call_2d(const CUDA_MEMCPY2D *c, CUstream handle, bool async)
{
    uintptr_t to, from;
    int to_is, from_is;

    NEED(nullptr != c, CUDA_ERROR_INVALID_VALUE);
    NEED(side_2d(c->dstMemoryType, c->dstHost, c->dstDevice, c->dstXInBytes, c->dstY, c->dstPitch,
                 c->WidthInBytes, c->Height, &to, &to_is),
         CUDA_ERROR_INVALID_VALUE);
    NEED(side_2d(c->srcMemoryType, c->srcHost, c->srcDevice, c->srcXInBytes, c->srcY, c->srcPitch,
                 c->WidthInBytes, c->Height, &from, &from_is),
         CUDA_ERROR_INVALID_VALUE);
    return call(to, to_is, from, from_is,
                rectangle {c->WidthInBytes, c->Height, c->dstPitch, c->srcPitch}, handle, async);
}

} /* namespace fake */

using namespace fake;

/* Names that end in _ptds or _ptsz: stream.h. */
#define COPY_FUNCTIONS(name, v, to_type, to_is, from_type, from_is)                                \
    FAKE_API cuMemcpy##name##v(to_type to, from_type from, size_t n)                               \
    {                                                                                              \
        return call((uintptr_t) to, to_is, (uintptr_t) from, from_is, n, CU_STREAM_LEGACY, false); \
    }                                                                                              \
    FAKE_API cuMemcpy##name##v##_ptds(to_type to, from_type from, size_t n)                        \
    {                                                                                              \
        return call((uintptr_t) to, to_is, (uintptr_t) from, from_is, n, CU_STREAM_PER_THREAD,     \
                    false);                                                                        \
    }                                                                                              \
    FAKE_API cuMemcpy##name##Async##v(to_type to, from_type from, size_t n, CUstream s)            \
    {                                                                                              \
        return call((uintptr_t) to, to_is, (uintptr_t) from, from_is, n, s, true);                 \
    }                                                                                              \
    FAKE_API cuMemcpy##name##Async##v##_ptsz(to_type to, from_type from, size_t n, CUstream s)     \
    {                                                                                              \
        return call((uintptr_t) to, to_is, (uintptr_t) from, from_is, n, of_thread(s), true);      \
    }
COPY_FUNCTIONS(, , CUdeviceptr, ANY, CUdeviceptr, ANY)
COPY_FUNCTIONS(HtoD, _v2, CUdeviceptr, DEVICE, const void *, HOST)
COPY_FUNCTIONS(DtoH, _v2, void *, HOST, CUdeviceptr, DEVICE)
COPY_FUNCTIONS(DtoD, _v2, CUdeviceptr, DEVICE, CUdeviceptr, DEVICE)

FAKE_API cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *c, CUstream stream)
{
    return call_2d(c, stream, true);
}

#define MEMSET_FUNCTIONS(bits, type)                                                            \
    FAKE_API cuMemsetD##bits##_v2(CUdeviceptr to, type value, size_t n)                         \
    {                                                                                           \
        return fill<type>(to, value, n, CU_STREAM_LEGACY, false);                               \
    }                                                                                           \
    FAKE_API cuMemsetD##bits##_v2_ptds(CUdeviceptr to, type value, size_t n)                    \
    {                                                                                           \
        return fill<type>(to, value, n, CU_STREAM_PER_THREAD, false);                           \
    }                                                                                           \
    FAKE_API cuMemsetD##bits##Async(CUdeviceptr to, type value, size_t n, CUstream stream)      \
    {                                                                                           \
        return fill<type>(to, value, n, stream, true);                                          \
    }                                                                                           \
    FAKE_API cuMemsetD##bits##Async_ptsz(CUdeviceptr to, type value, size_t n, CUstream stream) \
    {                                                                                           \
        return fill<type>(to, value, n, of_thread(stream), true);                               \
    }
MEMSET_FUNCTIONS(8, unsigned char)
MEMSET_FUNCTIONS(32, unsigned int)
