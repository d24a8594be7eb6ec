/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Libraries and modules. A kernel comes from shared objects that were built from the same sources:
 * FAKECUDA_KERNELS, several with ":" between, by default fakecuda_kernels.so beside this library. If
 * none has it, or with FAKECUDA_PTX, it is interpreted out of the image's PTX.
 */
#include "capture.h"
#include "launch.h"
#include "memory.h"
#include "stream.h"

#include <dlfcn.h>
#include <unistd.h>
#include <map>

struct CUlib_st {
    std::vector<void *> objects;
    std::shared_ptr<fake::ptx::module> ptx; /* what the image has; NULL: nothing */
    std::map<std::string, std::unique_ptr<CUfunc_st>> kernels;
};

namespace fake
{

constexpr uint32_t FATBIN = 0xBA55ED50, FATBIN_WRAPPER = 0x466243B1;

static std::mutex &known_mutex()
{
    static std::mutex *m = new std::mutex;
    return *m;
}
static std::set<const void *> &known()
{
    static auto *all = new std::set<const void *>;
    return *all;
}
static bool is_known(const void *what)
{
    std::lock_guard<std::mutex> lock(known_mutex());
    return 0 != known().count(what);
}

bool function_known(CUfunction function)
{
    return is_known(function);
}

void function_load(CUfunction function, CUcontext context)
{
    if (!function->loaded[context->device].exchange(true) && opt().sync_alloc) {
        streams_sync(context);
    }
}

/* Magic, version and the header's size, as nvcc writes them; nvcc's wrapper points to that. */
static bool is_image(const void *image)
{
    struct {
        uint32_t magic;
        uint16_t version, header;
        uint64_t bytes;
    } h;
    struct {
        uint32_t magic, version;
        const void *data;
    } wrapper;

    if (nullptr == image) {
        return false;
    }
    if (ptx::is_text(image)) {
        return true;
    }
    memcpy(&wrapper, image, sizeof(wrapper.magic));
    if (FATBIN_WRAPPER == wrapper.magic) {
        memcpy(&wrapper, image, sizeof(wrapper));
        return is_image(wrapper.data);
    }
    memcpy(&h, image, sizeof(h));
    return FATBIN == h.magic && h.header >= sizeof(h) && 0 != h.bytes;
}

static std::string default_kernels()
{
    Dl_info info = {};
    std::string path;

    if (0 != dladdr((void *) default_kernels, &info) && nullptr != info.dli_fname) {
        path = info.dli_fname;
        path = std::string::npos == path.rfind('/') ? "./" : path.substr(0, path.rfind('/') + 1);
    }
    return path + "fakecuda_kernels.so";
}

/* The shared objects with kernels; those of an image with PTX may be missing. */
static CUresult load_objects(CUlib_st *l)
{
    std::string rest = opt().kernels.empty() ? default_kernels() : opt().kernels;

    if (opt().ptx ||
        (opt().kernels.empty() && nullptr != l->ptx && 0 != access(rest.c_str(), R_OK))) {
        return CUDA_SUCCESS;
    }
    while (!rest.empty()) {
        size_t colon = rest.find(':');
        void *object = dlopen(rest.substr(0, colon).c_str(), RTLD_NOW | RTLD_LOCAL);
        if (nullptr == object) {
            complain("no kernels: %s", dlerror());
            return CUDA_ERROR_NO_BINARY_FOR_GPU;
        }
        l->objects.push_back(object);
        rest = std::string::npos == colon ? "" : rest.substr(colon + 1);
    }
    return CUDA_SUCCESS;
}

static CUresult load(CUlib_st **library, const void *image)
{
    std::unique_ptr<CUlib_st> l(new CUlib_st);
    std::string text;
    CUresult result;

    NEED(nullptr != library, CUDA_ERROR_INVALID_VALUE);
    NEED(is_image(image), CUDA_ERROR_INVALID_IMAGE);
    text = ptx::image_text(image);
    l->ptx = text.empty() ? nullptr : ptx::load(std::move(text));
    if (opt().ptx && nullptr == l->ptx) {
        complain("FAKECUDA_PTX: an image without PTX");
        return CUDA_ERROR_NO_BINARY_FOR_GPU;
    }
    result = load_objects(l.get());
    NEED(CUDA_SUCCESS == result, result);
    std::lock_guard<std::mutex> lock(known_mutex());
    known().insert(l.get());
    *library = l.release();
    return CUDA_SUCCESS;
}

static CUresult look_up(CUfunction *function, CUlib_st *library, const char *name)
{
    NEED(is_known(library), CUDA_ERROR_INVALID_HANDLE);
    NEED(nullptr != function && nullptr != name, CUDA_ERROR_INVALID_VALUE);
    std::lock_guard<std::mutex> lock(known_mutex());
    std::unique_ptr<CUfunc_st> &f = library->kernels[name];
    for (size_t i = 0; i < library->objects.size() && nullptr == f; i++) {
        auto describe = (emu::kernel(*)()) dlsym(library->objects[i],
                                                 (std::string("emu_kernel_") + name).c_str());
        if (nullptr != describe) {
            f.reset(new CUfunc_st {});
            f->name = name;
            f->kernel = describe();
            f->library = (CUlibrary) library;
            known().insert(f.get());
        }
    }
    if (nullptr == f && nullptr != library->ptx) {
        const ptx::function *kernel = ptx::find(*library->ptx, name);
        if (nullptr != kernel) {
            f.reset(new CUfunc_st {});
            f->name = name;
            f->kernel = ptx::describe(*kernel);
            f->ptx = kernel;
            f->module = library->ptx;
            f->library = (CUlibrary) library;
            known().insert(f.get());
            note("kernel %s is interpreted", name);
        }
    }
    NEED(nullptr != f, CUDA_ERROR_NOT_FOUND);
    *function = f.get();
    return CUDA_SUCCESS;
}

/* Only what is interpreted has variables. */
static CUresult find_global(CUdeviceptr *at, size_t *bytes, CUlib_st *library, const char *name,
                            CUcontext context)
{
    CUresult placed;
    uintptr_t where;
    size_t size;

    NEED(is_known(library), CUDA_ERROR_INVALID_HANDLE);
    NEED(nullptr != name, CUDA_ERROR_INVALID_VALUE);
    NEED(nullptr != library->ptx, CUDA_ERROR_NOT_FOUND);
    placed = ptx::place_variables(*library->ptx, context);
    NEED(CUDA_SUCCESS == placed, placed);
    NEED(ptx::find_variable(*library->ptx, context, name, &where, &size), CUDA_ERROR_NOT_FOUND);
    if (nullptr != at) {
        *at = where;
    }
    if (nullptr != bytes) {
        *bytes = size;
    }
    return CUDA_SUCCESS;
}

/* The shared objects stay: work that uses them may be under way. */
static CUresult unload(CUlib_st *library)
{
    std::lock_guard<std::mutex> lock(known_mutex());
    NEED(0 != known().erase(library), CUDA_ERROR_INVALID_HANDLE);
    for (auto &k : library->kernels) {
        known().erase(k.second.get());
        (void) k.second.release();
    }
    delete library;
    return CUDA_SUCCESS;
}

static CUresult attribute(int *value, CUfunction_attribute name, CUfunction f)
{
    NEED(nullptr != value, CUDA_ERROR_INVALID_VALUE);
    switch (name) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        *value = nullptr == f->ptx || 0 == ptx::most_threads(*f->ptx)
                     ? 1024
                     : (int) ptx::most_threads(*f->ptx);
        break;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
        *value = 64;
        break;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
        *value = 90;
        break;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
        *value = nullptr == f->ptx ? 0 : (int) ptx::shared_bytes(*f->ptx);
        break;
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
        *value = 0;
        break;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

} /* namespace fake */

using namespace fake;

FAKE_API cuLibraryLoadData(CUlibrary *library, const void *image, CUjit_option *, void **, unsigned,
                           CUlibraryOption *, void **, unsigned)
{
    NEED_DRIVER();
    NEED_CAPTURE(unsafe());
    return load((CUlib_st **) library, image);
}

FAKE_API cuLibraryUnload(CUlibrary library)
{
    NEED_DRIVER();
    NEED_CAPTURE(unsafe());
    return unload((CUlib_st *) library);
}

FAKE_API cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name)
{
    NEED_DRIVER();
    return look_up((CUfunction *) kernel, (CUlib_st *) library, name);
}

FAKE_API cuKernelGetFunction(CUfunction *function, CUkernel kernel)
{
    NEED_CONTEXT(c);
    (void) c;
    NEED(is_known(kernel), CUDA_ERROR_INVALID_HANDLE);
    *function = (CUfunction) kernel;
    return CUDA_SUCCESS;
}

/* As in the driver: asking for what only the code itself knows loads it. */
FAKE_API cuFuncGetAttribute(int *value, CUfunction_attribute name, CUfunction function)
{
    NEED_CONTEXT(c);
    NEED(function_known(function), CUDA_ERROR_INVALID_HANDLE);
    function_load(function, c);
    return attribute(value, name, function);
}

FAKE_API cuFuncLoad(CUfunction function)
{
    NEED_CONTEXT(c);
    NEED_CAPTURE(unsafe());
    NEED(function_known(function), CUDA_ERROR_INVALID_HANDLE);
    function_load(function, c);
    return CUDA_SUCCESS;
}

FAKE_API cuModuleLoadData(CUmodule *module, const void *image)
{
    NEED_CONTEXT(c);
    NEED_CAPTURE(unsafe());
    memory_wait(c);
    return load((CUlib_st **) module, image);
}
FAKE_API cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
    NEED_CONTEXT(c);
    (void) c;
    return look_up(function, (CUlib_st *) module, name);
}

FAKE_API cuModuleGetGlobal_v2(CUdeviceptr *at, size_t *bytes, CUmodule module, const char *name)
{
    NEED_CONTEXT(c);
    return find_global(at, bytes, (CUlib_st *) module, name, c);
}
FAKE_API cuLibraryGetGlobal(CUdeviceptr *at, size_t *bytes, CUlibrary library, const char *name)
{
    NEED_CONTEXT(c);
    return find_global(at, bytes, (CUlib_st *) library, name, c);
}
