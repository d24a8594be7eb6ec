/* SPDX-License-Identifier: BSD-3-Clause */
#include "ptx_text.h"

#include <cctype>
#include <cstdlib>

namespace fake
{
namespace ptx
{

/* ---- types ---- */

static const struct {
    const char *name;
    type of;
    unsigned bytes;
} types[] = {
    {"pred", PRED, 1},   {"b8", B8, 1},         {"b16", B16, 2}, {"b32", B32, 4},
    {"b64", B64, 8},     {"b128", B128, 16},    {"u8", U8, 1},   {"u16", U16, 2},
    {"u32", U32, 4},     {"u64", U64, 8},       {"s8", S8, 1},   {"s16", S16, 2},
    {"s32", S32, 4},     {"s64", S64, 8},       {"f16", F16, 2}, {"bf16", BF16, 2},
    {"f16x2", F16X2, 4}, {"bf16x2", BF16X2, 4}, {"f32", F32, 4}, {"f64", F64, 8},
};

unsigned type_bytes(type t)
{
    for (const auto &row : types) {
        if (row.of == t) {
            return row.bytes;
        }
    }
    return 0;
}

type type_named(const std::string &word)
{
    for (const auto &row : types) {
        if (word == row.name) {
            return row.of;
        }
    }
    return NONE;
}

bool type_signed(type t)
{
    return t >= S8 && t <= S64;
}

/* ---- numbers ---- */

bool is_number(const std::string &word)
{
    return isdigit((unsigned char) word[0]) || ('-' == word[0] && isdigit((unsigned char) word[1]));
}

uint64_t number_of(const std::string &word, bool single)
{
    const bool minus = '-' == word[0];
    const char *digits = word.c_str() + minus;
    uint64_t bits;

    if ('0' == digits[0] && ('f' == (digits[1] | 32) || 'd' == (digits[1] | 32))) {
        bits = strtoull(digits + 2, nullptr, 16);
        return !minus ? bits : bits ^ ('f' == (digits[1] | 32) ? 1ull << 31 : 1ull << 63);
    }
    if (std::string::npos != word.find('.')) {
        const double value = strtod(word.c_str(), nullptr);
        const float narrow = (float) value;
        bits = 0;
        if (single) {
            memcpy(&bits, &narrow, sizeof(narrow));
        } else {
            memcpy(&bits, &value, sizeof(value));
        }
        return bits;
    }
    bits = '0' == digits[0] && 'b' == (digits[1] | 32) ? strtoull(digits + 2, nullptr, 2)
                                                       : strtoull(digits, nullptr, 0);
    return minus ? 0 - bits : bits;
}

/* ---- words ---- */

void text_reader::reject(const std::string &what) const
{
    ptx::reject(all, word_at, what);
}

void text_reader::skip_space()
{
    for (;;) {
        const char *at = text + next_at;

        if (isspace((unsigned char) *at)) {
            next_at++;
        } else if ('/' == at[0] && '/' == at[1]) {
            next_at += strcspn(at, "\n");
        } else if ('/' == at[0] && '*' == at[1]) {
            const char *end = strstr(at + 2, "*/");
            if (nullptr == end) {
                reject("a comment does not end");
            }
            next_at = (size_t) (end + 2 - text);
        } else {
            return;
        }
    }
}

static bool in_word(char c)
{
    return isalnum((unsigned char) c) || '_' == c || '$' == c || '%' == c || '.' == c;
}

std::string text_reader::next()
{
    size_t n = 0;
    const char *at;

    skip_space();
    word_at = next_at;
    at = text + next_at;
    if ('"' == *at) {
        n = 1 + strcspn(at + 1, "\"\n");
        n += '"' == at[n];
    } else if (in_word(*at) || ('-' == *at && isdigit((unsigned char) at[1]))) {
        /* ld.global.L1::no_allocate is one word */
        for (n = 1; in_word(at[n]) || (':' == at[n] && ':' == at[n + 1] && ++n); n++) {
        }
    } else {
        n = 0 != *at;
    }
    next_at += n;
    word.assign(at, n);
    return word;
}

std::string text_reader::peek()
{
    const size_t next_before = next_at, word_before = word_at;
    const std::string last_before = word;
    std::string found = next();

    next_at = next_before;
    word_at = word_before;
    word = last_before;
    return found;
}

bool text_reader::skip(const char *which)
{
    if (peek() != which) {
        return false;
    }
    next();
    return true;
}

void text_reader::expect(const char *which)
{
    if (next() != which) {
        reject("\"" + word + "\" where \"" + which + "\" should be");
    }
}

void text_reader::skip_line()
{
    next_at += strcspn(text + next_at, "\n");
}

void text_reader::skip_body()
{
    for (size_t depth = 1; depth > 0;) {
        next_at += strcspn(text + next_at, "{}\"/");
        switch (text[next_at]) {
        case '{':
            depth++;
            break;
        case '}':
            depth--;
            break;
        case '"':
            next_at += 1 + strcspn(text + next_at + 1, "\"\n");
            break;
        case '/': {
            const size_t before = next_at;
            skip_space();
            if (next_at != before) {
                continue;
            }
            break;
        }
        default:
            reject("a brace does not close");
        }
        next_at++;
    }
}

declaration text_reader::read_declaration()
{
    declaration d {NONE, 0, 0, 0, 0, ""};
    std::string w = next();

    for (; '.' == w[0]; w = next()) {
        if (".align" == w) {
            d.align = (size_t) number_of(next(), false);
        } else if (".v2" == w || ".v4" == w) {
            d.count = '2' == w[2] ? 2 : 4;
        } else if (NONE != type_named(w.substr(1))) {
            d.of = type_named(w.substr(1));
        } else if (".ptr" == w || ".global" == w || ".const" == w || ".shared" == w ||
                   ".local" == w || ".attribute" == w) {
            if (".attribute" == w) {
                reject("not known: .attribute");
            }
        } else {
            reject("not known: " + w);
        }
    }
    if (NONE == d.of) {
        reject("a declaration without a type");
    }
    d.name = w;
    d.element = type_bytes(d.of);
    d.bytes = d.element * (0 == d.count ? 1 : d.count);
    d.align = 0 == d.align ? d.bytes : d.align;
    d.count = 1;
    while (skip("[")) {
        if (skip("]")) {
            d.bytes = 0;
        } else {
            d.bytes *= (size_t) number_of(next(), false);
            expect("]");
        }
    }
    if (skip("<")) {
        d.count = (size_t) number_of(next(), false);
        expect(">");
    }
    return d;
}

} /* namespace ptx */
} /* namespace fake */
