/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The index of a PTX text: where its functions stand, and the variables of the module. Bodies are
 * skipped; ptx_parse.cpp reads one when it is first needed.
 */
#include "ptx_text.h"

#include <algorithm>

namespace fake
{
namespace ptx
{

unsigned line_of(const module &m, size_t at)
{
    return 1 + (unsigned) std::count(m.text.begin(), m.text.begin() + (ptrdiff_t) at, '\n');
}

void reject(const module &m, size_t at, const std::string &what)
{
    die("PTX line %u: %s", line_of(m, at), what.c_str());
}

/* ---- variables ---- */

/* Numbers, or addresses of variables, between braces or alone. */
static void read_initial(text_reader &in, global &g, unsigned bytes)
{
    size_t at = 0;
    unsigned depth = 0;

    do {
        std::string word = in.next();
        uint64_t value;

        if ("{" == word || "}" == word || "," == word) {
            depth += "{" == word;
            depth -= "}" == word;
            continue;
        }
        if (at + bytes > g.bytes || word.empty()) {
            in.reject("more initial values than bytes");
        }
        if (is_number(word)) {
            value = number_of(word, 4 == bytes);
            memcpy(&g.initial[at], &value, bytes);
        } else {
            global::address_of a {at, word, 0};
            if ("generic" == word) {
                in.expect("(");
                a.name = in.next();
                in.expect(")");
            }
            a.add = in.skip("+") ? number_of(in.next(), false) : 0;
            g.addresses.push_back(a);
        }
        at += bytes;
    } while (depth > 0);
}

/* .global .align 4 .u32 name[4] = {1, 2}; the space has been read. */
static void read_variable(text_reader &in, module &m, space where)
{
    declaration d = in.read_declaration();
    variable v {d.name, where, 0, d.bytes, d.align};

    if (SHARED == where) {
        m.shared_end = (m.shared_end + v.align - 1) / v.align * v.align;
        v.offset = m.shared_end;
        m.shared_end += v.bytes;
    } else {
        global g {d.name, d.bytes, d.align, std::vector<unsigned char>(d.bytes), {}};
        v.offset = m.globals.size();
        if (in.skip("=")) {
            read_initial(in, g, d.element);
        }
        m.globals.push_back(g);
    }
    in.expect(";");
    m.variables[d.name] = v;
}

/* ---- functions ---- */

/* ( .param .b64 a, .param .align 8 .b8 b[16] ), after the parenthesis. */
static void read_parameters(text_reader &in, std::vector<variable> &list, size_t &end)
{
    while (!in.skip(")")) {
        declaration d;
        if (!in.skip(".param")) {
            in.reject("a parameter that is no .param");
        }
        d = in.read_declaration();
        end = (end + d.align - 1) / d.align * d.align;
        list.push_back(variable {d.name, PARAM, end, d.bytes, d.align});
        end += d.bytes;
        in.skip(",");
    }
}

static void read_function(text_reader &in, module &m, bool entry)
{
    std::unique_ptr<function> f(new function {});
    std::string word;

    f->owner = &m;
    f->entry = entry;
    if (!entry && in.skip("(")) {
        read_parameters(in, f->out, f->out_bytes);
    }
    f->name = in.next();
    if (in.skip("(")) {
        read_parameters(in, f->in, f->in_bytes);
    }
    for (const variable &v : f->in) {
        f->in_sizes.push_back(v.bytes);
    }
    f->in_sizes.push_back(0);
    for (word = in.next(); "{" != word && ";" != word; word = in.next()) {
        if (".maxntid" == word || ".reqntid" == word) {
            f->threads = (unsigned) number_of(in.next(), false);
            while (in.skip(",")) {
                f->threads *= (unsigned) number_of(in.next(), false);
            }
        } else if (word.empty()) {
            in.reject("the text ends in a function's head");
        }
    }
    if (";" == word) {
        return; /* declared, not defined */
    }
    f->body = in.at();
    in.skip_body();
    f->end = in.at();
    std::string name = f->name;
    m.functions[name] = std::move(f);
}

std::shared_ptr<module> load(std::string text)
{
    std::shared_ptr<module> m(new module {});

    m->text = std::move(text);
    text_reader in(*m, 0);
    for (std::string word = in.next(); !word.empty(); word = in.next()) {
        if (".entry" == word || ".func" == word) {
            read_function(in, *m, ".entry" == word);
        } else if (".global" == word || ".const" == word || ".shared" == word) {
            read_variable(in, *m, ".global" == word ? GLOBAL : ".const" == word ? CONST : SHARED);
        } else if (".version" == word || ".target" == word || ".address_size" == word ||
                   ".file" == word || ".pragma" == word) {
            in.skip_line();
        } else if (".section" == word) {
            while ("{" != in.next()) {
            }
            in.skip_body();
        } else if (".visible" != word && ".weak" != word && ".extern" != word &&
                   ".common" != word) {
            in.reject("not known: " + word);
        }
    }
    return m;
}

} /* namespace ptx */
} /* namespace fake */
