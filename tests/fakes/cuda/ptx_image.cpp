/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * PTX out of an image. A fatbin is a header and entries, each with a header of its own: code for a
 * device, or PTX. Entries may be compressed: zstd frames by nvcc 13, LZ4 blocks by nvcc before.
 * zstd comes from libzstd.so.1, which is opened here and has no headers to be built against.
 */
#include "options.h"
#include "ptx.h"

#include <cctype>
#include <cstring>
#include <dlfcn.h>
#include <fstream>
#include <sstream>

namespace fake
{
namespace ptx
{

constexpr uint32_t FATBIN = 0xBA55ED50, FATBIN_WRAPPER = 0x466243B1;

struct fatbin_header {
    uint32_t magic;
    uint16_t version, header;
    uint64_t bytes; /* of all entries */
};
struct fatbin_wrapper {
    uint32_t magic, version;
    const void *data;
};
struct fatbin_entry {
    uint16_t kind, version;
    uint32_t header;
    uint64_t bytes;  /* that follow the header */
    uint32_t packed; /* of them, if they are compressed */
    uint32_t reserved[2];
    uint32_t device; /* 90: sm_90 */
    uint32_t more[2];
    uint64_t flags, zero;
    uint64_t unpacked; /* 0: not compressed */
};
static_assert(64 == sizeof(fatbin_entry), "as nvcc writes it");
enum { ENTRY_PTX = 1 };
constexpr uint64_t FLAG_LZ4 = 0x2000, FLAG_ZSTD = 0x8000;

static bool unpack_zstd(const char *from, size_t bytes, std::string &to)
{
    static void *library = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
    auto decompress =
        nullptr == library
            ? nullptr
            : (size_t(*)(void *, size_t, const void *, size_t)) dlsym(library, "ZSTD_decompress");

    if (nullptr == decompress) {
        complain("the PTX of an image is compressed, and there is no libzstd.so.1");
        return false;
    }
    return to.size() == decompress(&to[0], to.size(), from, bytes);
}

/* A length whose 4 bits were 15 goes on in bytes, of which one below 255 is the last. */
static bool lz4_length(const unsigned char *&at, const unsigned char *end, size_t &length)
{
    unsigned char more = 255;

    if (15 != length) {
        return true;
    }
    while (255 == more && at < end) {
        more = *at++;
        length += more;
    }
    return 255 != more;
}

/* Sequences of literals and a copy of earlier bytes; the last one has literals only. */
static bool unpack_lz4(const char *from, size_t bytes, std::string &to)
{
    const unsigned char *at = (const unsigned char *) from, *end = at + bytes;
    size_t out = 0;

    while (at < end) {
        const unsigned token = *at++;
        size_t literals = token >> 4, copied = token & 15, back;

        if (!lz4_length(at, end, literals) || (size_t) (end - at) < literals ||
            to.size() - out < literals) {
            return false;
        }
        memcpy(&to[out], at, literals);
        at += literals;
        out += literals;
        if (at == end) {
            break;
        }
        if (end - at < 2) {
            return false;
        }
        back = at[0] | (size_t) at[1] << 8;
        at += 2;
        if (!lz4_length(at, end, copied) || 0 == back || back > out ||
            to.size() - out < copied + 4) {
            return false;
        }
        for (copied += 4; copied > 0; copied--, out++) {
            to[out] = to[out - back];
        }
    }
    return out == to.size();
}

static std::string entry_text(const fatbin_entry &e, const char *data)
{
    std::string text;

    if (0 == e.unpacked) {
        text.assign(data, e.bytes);
    } else {
        text.resize(e.unpacked);
        if (e.packed > e.bytes || (0 != (e.flags & FLAG_ZSTD)  ? !unpack_zstd(data, e.packed, text)
                                   : 0 != (e.flags & FLAG_LZ4) ? !unpack_lz4(data, e.packed, text)
                                                               : true)) {
            complain("the PTX of an image cannot be unpacked (flags %#llx)",
                     (unsigned long long) e.flags);
            return "";
        }
    }
    text.resize(strlen(text.c_str()));
    return text;
}

/* The PTX for the newest device. */
static std::string fatbin_text(const char *image)
{
    fatbin_header h;
    const char *best = nullptr;
    fatbin_entry e, newest {};

    memcpy(&h, image, sizeof(h));
    for (uint64_t at = h.header; at + sizeof(e) <= h.header + h.bytes; at += e.header + e.bytes) {
        memcpy(&e, image + at, sizeof(e));
        if (e.header < sizeof(e) || e.header + e.bytes > h.header + h.bytes - at) {
            break;
        }
        if (ENTRY_PTX == e.kind && (nullptr == best || e.device > newest.device)) {
            best = image + at + e.header;
            newest = e;
        }
    }
    return nullptr == best ? "" : entry_text(newest, best);
}

/* Text that begins as PTX does: comments, and then .version. */
bool is_text(const void *image)
{
    const char *at = (const char *) image;

    for (;;) {
        at += strspn(at, " \t\r\n");
        if (0 == strncmp(at, "//", 2)) {
            at += strcspn(at, "\n");
        } else if (0 == strncmp(at, "/*", 2)) {
            const char *end = strstr(at + 2, "*/");
            if (nullptr == end) {
                return false;
            }
            at = end + 2;
        } else {
            return 0 == strncmp(at, ".version", 8);
        }
    }
}

std::string image_text(const void *image)
{
    uint32_t magic;

    if (!opt().ptx_file.empty()) {
        std::ifstream file(opt().ptx_file);
        std::stringstream all;
        all << file.rdbuf();
        if (!file) {
            die("FAKECUDA_PTX=%s cannot be read", opt().ptx_file.c_str());
        }
        return all.str();
    }
    memcpy(&magic, image, sizeof(magic));
    if (FATBIN_WRAPPER == magic) {
        fatbin_wrapper wrapper;
        memcpy(&wrapper, image, sizeof(wrapper));
        return image_text(wrapper.data);
    }
    return FATBIN == magic  ? fatbin_text((const char *) image)
           : is_text(image) ? std::string((const char *) image)
                            : "";
}

} /* namespace ptx */
} /* namespace fake */
