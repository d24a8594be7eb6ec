/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cases: kernels that are interpreted. Those of ptx_kernels.cu come from the file PTX_IMAGE beside
 * this program; PTX_WRAPPED: by nvcc's wrapper of it.
 */
#include "cases.h"

#include <math.h>

static CUmodule image;

static void *read_file(const char *name)
{
    char path[4000], *data;
    ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 100);
    long bytes;
    FILE *f;

    CHECK(n > 0);
    path[n] = 0;
    strcpy(strrchr(path, '/') + 1, name);
    f = fopen(path, "rb");
    CHECK(NULL != f && 0 == fseek(f, 0, SEEK_END));
    bytes = ftell(f);
    rewind(f);
    data = calloc(1, (size_t) bytes + 1);
    CHECK((size_t) bytes == fread(data, 1, (size_t) bytes, f));
    fclose(f);
    return data;
}

static void open_image(void)
{
    struct {
        uint32_t magic, version;
        const void *data, *unused;
    } wrapper = {0x466243B1, 1, NULL, NULL};

    begin(0);
    wrapper.data =
        read_file(NULL == getenv("PTX_IMAGE") ? "ptx_kernels.fatbin" : getenv("PTX_IMAGE"));
    OK(cuModuleLoadData(&image, NULL == getenv("PTX_WRAPPED") ? wrapper.data : &wrapper));
}

static void go(const char *name, unsigned blocks, unsigned threads, unsigned shared, void **args)
{
    CUfunction f;

    OK(cuModuleGetFunction(&f, image, name));
    OK(cuLaunchKernel(f, blocks, 1, 1, threads, 1, 1, shared, NULL, args, NULL));
    OK(cuStreamSynchronize(NULL));
}

static CUdeviceptr given(const void *data, size_t bytes)
{
    CUdeviceptr at = zeros(bytes);

    OK(cuMemcpyHtoD(at, data, bytes));
    return at;
}

enum { N = 1000 };

static void ptx_saxpy(void)
{
    float x[N], y[N], got[N], a = 2.5f;
    int n = N - 3;

    open_image();
    for (int i = 0; i < N; i++) {
        x[i] = (float) i / 3;
        y[i] = (float) (N - i) * 1.1f;
    }
    CUdeviceptr dx = given(x, sizeof(x)), dy = given(y, sizeof(y));
    go("saxpy", 8, 128, 0, (void *[]) {&n, &a, &dx, &dy});
    OK(cuMemcpyDtoH(got, dy, sizeof(got)));
    for (int i = 0; i < N; i++) {
        CHECK(got[i] == (i < n ? fmaf(a, x[i], y[i]) : y[i]));
    }
}

static void ptx_jacobi(void)
{
    double in[N], got[N];
    int n = N;

    open_image();
    for (int i = 0; i < N; i++) {
        in[i] = sin(i);
    }
    CUdeviceptr from = given(in, sizeof(in)), to = zeros(sizeof(in));
    go("jacobi", 8, 128, 130 * 8, (void *[]) {&n, &from, &to});
    OK(cuMemcpyDtoH(got, to, sizeof(got)));
    for (int i = 0; i < N; i++) {
        CHECK(got[i] == ((i > 0 ? in[i - 1] : 0) + (i + 1 < N ? in[i + 1] : 0)) / 2);
    }
}

static void ptx_atomics(void)
{
    unsigned got[8], ones = 0, most = 0, threads = 4 * 96;
    CUdeviceptr counter;
    size_t bytes;
    float sum;

    open_image();
    OK(cuModuleGetGlobal(&counter, &bytes, image, "counter"));
    CHECK(4 == bytes);
    OK(cuMemcpyDtoH(&ones, counter, 4));
    CHECK(5 == ones);
    ones = 0;
    CUdeviceptr words = zeros(32), wide = zeros(8), f = zeros(4);
    go("atomics", 4, 96, 0, (void *[]) {&words, &wide, &f});
    OK(cuMemcpyDtoH(got, words, sizeof(got)));
    OK(cuMemcpyDtoH(&sum, f, sizeof(sum)));
    for (unsigned i = 0; i < threads; i++) {
        ones |= 1u << i % 32;
        most = i * 7 % 1000 > most ? i * 7 % 1000 : most;
    }
    CHECK(threads * (threads - 1) / 2 == got[0] && most == got[1] &&
          -(int) threads + 1 == (int) got[2]);
    OK(cuMemcpyDtoH(&most, counter, 4));
    CHECK(5 + threads == most);
    IS(ERROR_NOT_FOUND, cuModuleGetGlobal(&counter, NULL, image, "nobody"));
    CHECK(ones == got[3] && threads % 100 == got[4] && threads == got[5] && 1 == got[6]);
    CHECK((uint64_t) (threads * (threads - 1) / 2) << 32 == word_at(wide) &&
          0.25f * threads == sum);
}

/* What waits for others lets them run: threads of its block, and other blocks. */
static void ptx_waits(void)
{
    unsigned got[64];

    open_image();
    CUdeviceptr lock = zeros(4), count = zeros(8), flag = zeros(4), data = zeros(4),
                out = zeros(256);
    go("locked", 3, 64, 0, (void *[]) {&lock, &count});
    CHECK(192 == word_at(count));
    go("flagged", 2, 64, 0, (void *[]) {&flag, &data, &out});
    OK(cuMemcpyDtoH(got, out, sizeof(got)));
    for (int i = 0; i < 64; i++) {
        CHECK(4711 == got[i]);
    }
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

static int switched(int which, int i)
{
    int a[16], sum = 0;

    for (int k = 0; k < 16; k++) {
        a[k] = k * k + i;
    }
    a[which & 15] = -1;
    for (int k = 0; k < 16; k++) {
        sum += a[(k * which) & 15];
    }
    switch (which % 7) {
    case 0:
        return sum * 3;
    case 1:
        return sum - 100;
    case 2:
        return ~sum;
    case 3:
        return (int) ((unsigned) sum << 2);
    case 4:
        return sum >> 1;
    case 5:
        return sum ^ 0x5555;
    default:
        return -sum;
    }
}

static void ptx_calls(void)
{
    double low[64];
    int high[64], which[64], got[64];
    uint64_t fact[64], f;

    open_image();
    CUdeviceptr dl = zeros(sizeof(low)), dh = zeros(sizeof(high)), df = zeros(sizeof(fact));
    go("calls", 1, 64, 0, (void *[]) {&dl, &dh, &df});
    OK(cuMemcpyDtoH(low, dl, sizeof(low)));
    OK(cuMemcpyDtoH(high, dh, sizeof(high)));
    OK(cuMemcpyDtoH(fact, df, sizeof(fact)));
    for (int i = 0; i < 64; i++) {
        double a = i * 1.5, b = 40.0 - i;
        CHECK(low[i] == (a < b ? a : b) && high[i] == (i > 2 ? (int) (a > b ? a : b) : -i));
        f = 1;
        for (int k = 2; k <= i % 13; k++) {
            f *= (uint64_t) k;
        }
        CHECK(f == fact[i]);
        which[i] = i * 5;
    }
    CUdeviceptr dw = given(which, sizeof(which)), out = zeros(sizeof(got));
    go("locals", 1, 64, 0, (void *[]) {&dw, &out});
    OK(cuMemcpyDtoH(got, out, sizeof(got)));
    for (int i = 0; i < 64; i++) {
        CHECK(got[i] == switched(which[i], i));
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

static long long reversed(uint32_t u)
{
    uint32_t r = 0;

    for (int k = 0; k < 32; k++) {
        r = r << 1 | (u >> k & 1);
    }
    return r;
}

static void integers_of(long long x, long long y, long long *o)
{
    int m = (int) x, n = (int) y;
    unsigned u = (unsigned) x, v = (unsigned) y;
    unsigned __int128 wide = (unsigned __int128) (uint64_t) x * (uint64_t) y;
    uint64_t both = (uint64_t) v << 32 | u;

    o[0] = (long long) ((uint64_t) x + (uint64_t) y);
    o[1] = (long long) ((uint64_t) x * (uint64_t) y);
    o[2] = 0 == y ? 0 : x / y;
    o[3] = 0 == y ? 0 : x % y;
    o[4] = 0 == n ? 0 : m / n;
    o[5] = 0 == v ? 0 : u % v;
    o[6] = (int) ((long long) m * n >> 32);
    o[7] = (long long) (wide >> 64);
    o[8] = (long long) m * n;
    o[9] = (short) m * (short) n;
    o[10] = m >> (n & 31);
    o[11] = u >> (v & 31);
    o[12] = (long long) ((uint64_t) x << (y & 63));
    o[13] =
        (0 == u ? 32 : __builtin_clz(u)) + 100 * __builtin_popcount(u) + 10000 * __builtin_ffs(m);
    o[14] =
        (0 == x ? 64 : __builtin_clzll((uint64_t) x)) + 100 * __builtin_popcountll((uint64_t) x);
    o[15] = reversed(u);
    o[16] = (long long) ((both >> 48 & 255) | (both >> 8 & 255) << 8 | (both >> 16 & 255) << 16 |
                         (both >> 32 & 255) << 24);
    o[17] = (uint32_t) (both << (n & 31) >> 32);
    o[18] = (m < n ? m : n) + (long long) (u > v ? u : v);
    o[19] = (int) (m < 0 ? 0u - (unsigned) m : (unsigned) m) - (long long) (x < y) + 4 * (u < v);
    o[20] = (signed char) x + (unsigned short) y;
    o[21] = (u & v) ^ (~u | v) ^ (u & ~v);
    o[22] = (u < v ? v - u : u - v) + 7;
    o[23] = (long long) (wide >> 64) + (x > y);
}

static void ptx_integers(void)
{
    static const long long some[] = {0,
                                     1,
                                     -1,
                                     7,
                                     -13,
                                     255,
                                     65537,
                                     0x80000001u,
                                     0xffffffffu,
                                     -(1ll << 40) + 3,
                                     100007,
                                     INT64_MAX,
                                     0x123456789abcdef};
    enum { SOME = sizeof(some) / sizeof(some[0]), ALL = SOME * SOME };
    long long a[ALL], b[ALL], got[24 * ALL], want[24];

    open_image();
    for (int i = 0; i < ALL; i++) {
        a[i] = some[i / SOME];
        b[i] = some[i % SOME];
    }
    CUdeviceptr da = given(a, sizeof(a)), db = given(b, sizeof(b)), out = zeros(sizeof(got));
    go("integers", 1, ALL, 0, (void *[]) {&da, &db, &out});
    OK(cuMemcpyDtoH(got, out, sizeof(got)));
    for (int i = 0; i < ALL; i++) {
        integers_of(a[i], b[i], want);
        for (int k = 0; k < 24; k++) {
            if (want[k] != got[24 * i + k]) {
                fprintf(stderr, "operation %d of %lld and %lld: %lld, not %lld\n", k, a[i], b[i],
                        got[24 * i + k], want[k]);
                exit(1);
            }
        }
    }
}

/* x rounded to so many bits of fraction, as normal numbers are. */
static float shorter(float x, int bits)
{
    int e;
    double m = frexp(x, &e);

    return 0 == x || isinf(x) ? x : (float) ldexp(nearbyint(ldexp(m, bits + 1)), e - bits - 1);
}

static void floats_of(float x, float y, float weight, float *o)
{
    double sum = (double) x + y;

    o[0] = x + y;
    o[1] = x * y;
    o[2] = x / y;
    o[3] = fmaf(x, y, x);
    o[4] = sqrtf(fabsf(x));
    o[5] = fminf(x, y);
    o[6] = fmaxf(x, y);
    o[7] = (float) (int) x;
    o[8] = y < 0 ? 0 : (float) (unsigned) y;
    o[9] = rintf(x);
    o[10] = floorf(x) + ceilf(y);
    o[11] = shorter(x, 10);
    o[12] = shorter(y, 7);
    o[13] = (float) ((double) x * (double) y);
    o[14] = copysignf(x, y);
    o[15] = (float) sum;
    if (fabs((double) o[15]) > fabs(sum)) {
        o[15] = nextafterf(o[15], 0);
    }
    o[16] = weight * x;
    o[17] = x < y ? 1 : 3;
    o[18] = shorter(shorter(x, 10) + shorter(y, 10), 10);
    o[19] = (float) (long long) (x * 1000);
}

static void ptx_floats(void)
{
    static const float some[] = {0,       1,       -1,         0.1f, 3.14159f, -2.5f,
                                 1000.7f, -77.77f, 0.3333333f, 1.5f, 2048.5f};
    static const float weights[] = {0.5f, 0.25f, 0.125f, 0.0625f};
    enum { SOME = sizeof(some) / sizeof(some[0]), ALL = SOME * SOME };
    float a[ALL], b[ALL], got[20 * ALL], want[20], near[8 * ALL];

    open_image();
    for (int i = 0; i < ALL; i++) {
        a[i] = some[i / SOME];
        b[i] = some[i % SOME];
    }
    CUdeviceptr da = given(a, sizeof(a)), db = given(b, sizeof(b)), out = zeros(sizeof(got));
    go("floats", 1, ALL, 0, (void *[]) {&da, &db, &out});
    OK(cuMemcpyDtoH(got, out, sizeof(got)));
    for (int i = 0; i < ALL; i++) {
        floats_of(a[i], b[i], weights[i & 3], want);
        for (int k = 0; k < 20; k++) {
            const float g = got[20 * i + k];
            if (!(want[k] == g || (isnan(want[k]) && isnan(g)))) {
                fprintf(stderr, "operation %d of %g and %g: %.9g, not %.9g\n", k, a[i], b[i], g,
                        want[k]);
                exit(1);
            }
        }
    }
    go("approximate", 1, 11, 0, (void *[]) {&db, &out});
    OK(cuMemcpyDtoH(near, out, sizeof(float) * 88));
    for (int i = 0; i < 11; i++) {
        const double x = b[i], y = fabs(x) + 1;
        const double exact[] = {exp(x),      log(y), sin(x), cos(x),
                                1 / sqrt(y), exp(x), sin(x), pow(y, 0.3f)};
        for (int k = 0; k < 8; k++) {
            const double off = fabs(near[8 * i + k] - exact[k]);
            CHECK(off <= 2e-4 * fabs(exact[k]) + 2e-4 ||
                  (isinf(near[8 * i + k]) && exact[k] > 1e38));
        }
    }
}

static void ptx_driver(void)
{
    unsigned n = 3;
    CUfunction f;
    int value;

    open_image();
    CUdeviceptr out = zeros(256);
    IS(ERROR_NOT_FOUND, cuModuleGetFunction(&f, image, "nobody"));
    IS(ERROR_NOT_FOUND, cuModuleGetFunction(&f, image, "factorial"));
    OK(cuModuleGetFunction(&f, image, "small_blocks"));
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, f));
    CHECK(64 == value);
    IS(ERROR_INVALID_VALUE, cuLaunchKernel(f, 1, 1, 1, 65, 1, 1, 0, NULL, (void *[]) {&out}, NULL));
    go("small_blocks", 1, 64, 0, (void *[]) {&out});
    CHECK(0x100000001 == word_at(out));
    OK(cuModuleGetFunction(&f, image, "past_end"));
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, f));
    CHECK(16 == value);
    go("past_end", 1, 4, 0, (void *[]) {&out, &n});
    CHECK(0x300000003 == word_at(out));
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

const struct test_case ptx_cases[] = {{"ptx_saxpy", ptx_saxpy},
                                      {"ptx_jacobi", ptx_jacobi},
                                      {"ptx_atomics", ptx_atomics},
                                      {"ptx_waits", ptx_waits},
                                      {"ptx_hand_word", ptx_hand_word},
                                      {"ptx_hand_line", ptx_hand_line},
                                      {"ptx_calls", ptx_calls},
                                      {"ptx_warps", ptx_warps},
                                      {"ptx_integers", ptx_integers},
                                      {"ptx_floats", ptx_floats},
                                      {"ptx_driver", ptx_driver},
                                      {"ptx_past_shared", ptx_past_shared},
                                      {"ptx_past_global", ptx_past_global},
                                      {"ptx_body", ptx_body},
                                      {NULL, NULL}};
