/* SPDX-License-Identifier: BSD-3-Clause */
/* Cases: kernels that are interpreted: those of ptx_kernels.cu, whose PTX lies beside this program. */
#include "cases.h"

static CUmodule image;

static void open_image(void)
{
    static char text[1 << 20];
    char path[4000];
    ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 100);
    FILE *f;

    CHECK(n > 0);
    path[n] = 0;
    strcpy(strrchr(path, '/') + 1, "ptx_kernels.ptx");
    f = fopen(path, "r");
    CHECK(NULL != f && 0 < fread(text, 1, sizeof(text) - 1, f) && feof(f));
    fclose(f);
    begin(0);
    OK(cuModuleLoadData(&image, text));
}

static void go(const char *name, unsigned blocks, unsigned threads, unsigned shared, void **args)
{
    CUfunction f;

    OK(cuModuleGetFunction(&f, image, name));
    OK(cuLaunchKernel(f, blocks, 1, 1, threads, 1, 1, shared, NULL, args, NULL));
    OK(cuStreamSynchronize(NULL));
}

static void ptx_atomics(void)
{
    unsigned got[4], count, threads = 4 * 96;
    CUdeviceptr counter;
    size_t bytes;

    open_image();
    OK(cuModuleGetGlobal(&counter, &bytes, image, "counter"));
    CHECK(4 == bytes);
    CUdeviceptr words = zeros(16), wide = zeros(8);
    go("atomics", 4, 96, 0, (void *[]) {&words, &wide});
    OK(cuMemcpyDtoH(got, words, sizeof(got)));
    CHECK(threads * (threads - 1) / 2 == got[0] && threads == got[1] && 1 == got[2]);
    CHECK((uint64_t) (threads * (threads - 1) / 2) << 32 == word_at(wide));
    OK(cuMemcpyDtoH(&count, counter, 4));
    CHECK(5 + threads == count);
}

/* Order between blocks. PTX_BUG: what the kernel does wrong; PTX_PINNED: in host memory. */
static void ptx_hand_word(void)
{
    unsigned n = 50, bug = NULL == getenv("PTX_BUG") ? 0 : (unsigned) atoi(getenv("PTX_BUG"));
    void *pinned;

    open_image();
    CUdeviceptr words = zeros(384), wrong = zeros(8);
    if (NULL != getenv("PTX_PINNED")) {
        OK(cuMemHostAlloc(&pinned, 384, 0));
        memset(pinned, 0, 384);
        words = (CUdeviceptr) (uintptr_t) pinned;
    }
    go("hand_word", 2, 1, 0, (void *[]) {&words, &wrong, &n, &bug});
    if (0 != word_at(wrong)) {
        fprintf(stderr, "%u words of %u are others\n", (unsigned) word_at(wrong), n);
        exit(1);
    }
}

static void ptx_hand_line(void)
{
    unsigned n = 200, got[8];

    open_image();
    CUdeviceptr line = zeros(128), ready = zeros(4), wrong = zeros(sizeof(got));
    go("hand_line", 2, 8, 0, (void *[]) {&line, &ready, &wrong, &n});
    OK(cuMemcpyDtoH(got, wrong, sizeof(got)));
    for (int i = 0; i < 8; i++) {
        CHECK(0 == got[i]);
    }
}

static void ptx_calls(void)
{
    double low[64];
    int high[64];
    uint64_t fact[64], f;

    open_image();
    CUdeviceptr dl = zeros(sizeof(low)), dh = zeros(sizeof(high)), df = zeros(sizeof(fact));
    go("calls", 1, 64, 0, (void *[]) {&dl, &dh, &df});
    OK(cuMemcpyDtoH(low, dl, sizeof(low)));
    OK(cuMemcpyDtoH(high, dh, sizeof(high)));
    OK(cuMemcpyDtoH(fact, df, sizeof(fact)));
    for (int i = 0; i < 64; i++) {
        double a = i * 1.5, b = 40.0 - i;
        CHECK(low[i] == (a < b ? a : b) && high[i] == (i > 2 ? 3 * i : -i));
        f = 1;
        for (int k = 2; k <= i % 13; k++) {
            f *= (uint64_t) k;
        }
        CHECK(f == fact[i]);
    }
}

static void ptx_warps(void)
{
    unsigned got[96];

    open_image();
    CUdeviceptr out = zeros(sizeof(got));
    go("warps", 1, 96, 0, (void *[]) {&out});
    OK(cuMemcpyDtoH(got, out, sizeof(got)));
    for (unsigned i = 0; i < 96; i++) {
        unsigned first = i / 32 * 32, sum = 32 * first + 496, up = 0 == i % 8 ? i : i - 1;
        CHECK(got[i] == sum + 3 * up + 5 * (i ^ 3) + 16 + 7 * 32 + 11);
    }
}

static void ptx_past_shared(void)
{
    unsigned n = 4;

    open_image();
    CUdeviceptr out = zeros(256);
    fprintf(stderr, "so far so good\n");
    go("past_end", 1, 4, 0, (void *[]) {&out, &n});
}
static void ptx_past_global(void)
{
    unsigned n = 1;

    open_image();
    CUdeviceptr out = zeros(8);
    fprintf(stderr, "so far so good\n");
    go("past_end", 1, 3, 0, (void *[]) {&out, &n});
}

/* A kernel whose body is the environment's PTX_BODY: the first parameter is an address. */
static void ptx_body(void)
{
    static char text[4000];
    const char *body = getenv("PTX_BODY");

    begin(0);
    CUdeviceptr at = zeros(256);
    snprintf(text, sizeof(text),
             "// a comment\n.version 8.0\n.target sm_80\n.address_size 64\n"
             ".visible .entry body(.param .u64 at)\n{\n.reg .pred %%p<4>;\n.reg .b32 %%r<9>;\n.reg "
             ".b64 %%rd<9>;\n"
             "ld.param.u64 %%rd1, [at];\nmov.u32 %%r1, 7;\n%s\nret;\n}\n",
             NULL == body ? "" : body);
    OK(cuModuleLoadData(&image, text));
    go("body", 1, 32, 0, (void *[]) {&at});
    printf("%u\n", (unsigned) word_at(at));
}

const struct test_case ptx_cases[] = {{"ptx_atomics", ptx_atomics},
                                      {"ptx_hand_word", ptx_hand_word},
                                      {"ptx_hand_line", ptx_hand_line},
                                      {"ptx_calls", ptx_calls},
                                      {"ptx_warps", ptx_warps},
                                      {"ptx_past_shared", ptx_past_shared},
                                      {"ptx_past_global", ptx_past_global},
                                      {"ptx_body", ptx_body},
                                      {NULL, NULL}};
