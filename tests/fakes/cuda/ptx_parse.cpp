/* SPDX-License-Identifier: BSD-3-Clause */
/* The body of a function: declarations and statements. Operands: ptx_operand.cpp. */
#include "ptx_parse.h"

#include <algorithm>

namespace fake
{
namespace ptx
{

/* ---- declarations ---- */

void body_parser::declare_registers()
{
    declaration d = in.read_declaration();

    for (;;) {
        const bool many = d.count > 1 || ">" == in.last();
        scopes[(size_t) here].names[d.name] = registers {fn.registers, many ? d.count : 0};
        fn.registers += (int32_t) d.count;
        if (!in.skip(",")) {
            break;
        }
        d.name = in.next();
        d.count = 1;
        if (in.skip("<")) {
            d.count = (size_t) number_of(in.next(), false);
            in.expect(">");
        }
    }
    in.expect(";");
}

void body_parser::declare_variable(space where)
{
    declaration d = in.read_declaration();
    size_t *end = PARAM == where   ? &fn.pass_bytes
                  : LOCAL == where ? &fn.local_bytes
                                   : &fn.shared_end;

    if (SHARED == where && !fn.entry) {
        in.reject("shared memory of a function that is no kernel");
    }
    *end = (*end + d.align - 1) / d.align * d.align;
    scopes[(size_t) here].variables[d.name] = variable {d.name, where, *end, d.bytes, d.align};
    *end += d.bytes;
    in.expect(";");
}

/* ---- statements ---- */

int32_t body_parser::find_label(const jump &j)
{
    for (int s = j.scope; s >= 0; s = scopes[(size_t) s].parent) {
        const auto found = scopes[(size_t) s].labels.find(j.label);
        if (scopes[(size_t) s].labels.end() != found) {
            return found->second;
        }
    }
    ptx::reject(*fn.owner, j.at, "no label " + j.label);
}

/* name: .branchtargets L1, L2; */
void body_parser::read_targets(const std::string &name)
{
    fn.vectors.emplace_back();
    std::vector<int32_t> &table = fn.vectors.back();

    do {
        jumps.push_back(jump {in.began(), here, table.size(), nullptr, in.next()});
        table.push_back(-1);
    } while (in.skip(","));
    for (size_t k = 0; k < table.size(); k++) {
        jumps[jumps.size() - table.size() + k].to = &table[k];
    }
    tables[name] = &table;
    in.expect(";");
}

static std::vector<std::string> split(const std::string &opcode)
{
    std::vector<std::string> words;

    for (size_t at = 0; at < opcode.size();) {
        const size_t dot = std::min(opcode.find('.', at), opcode.size());
        words.push_back(opcode.substr(at, dot - at));
        if ("shared::cta" == words.back() || "param::entry" == words.back() ||
            "param::func" == words.back()) {
            words.back().resize(words.back().find(':'));
        }
        at = dot + 1;
    }
    return words;
}

void body_parser::read_statement()
{
    statement s {&fn, in.began(), {}, {}, "", constant_of};
    insn i {};
    int32_t guard = -1;
    size_t guard_at = 0;
    bool inverted = false;

    if ("@" == in.last()) {
        inverted = in.skip("!");
        guard = find_register(in.next());
        if (-1 == guard) {
            in.reject("no register: " + in.last());
        }
        in.next();
    }
    i.d = i.e = i.a = i.b = i.c = -1;
    s.words = split(in.last());
    const bool bra = "bra" == s.words[0];
    if (-1 != guard && !bra) {
        insn skip = i;
        statement guarded {&fn, s.at, {"skip"}, {}, "", constant_of};
        skip.a = guard;
        skip.mod[0] = !inverted; /* jumps over it when the predicate is this */
        decode_flow(guarded, skip);
        guard_at = fn.code.size();
        fn.code.push_back(skip);
    }
    const bool single = std::string::npos != in.last().find("f32");
    while (!in.skip(";")) {
        s.args.push_back(read_operand(single));
        if (!in.skip(",") && ";" != in.peek() && s.args.size() > 8) {
            in.reject("a statement does not end");
        }
    }
    s.text = fn.owner->text.substr(s.at, std::min<size_t>(in.at() - s.at, 200));
    std::replace(s.text.begin(), s.text.end(), '\n', ' ');
    i.line = (uint32_t) s.at; /* a place in the text until it is asked for */
    if (bra || "brx" == s.words[0]) {
        s.need(!s.args.empty() && operand::NAME == s.args.back().kind, "jumps to no label");
        i.a = guard;
        i.mod[0] = inverted;
        if (bra) {
            jumps.push_back(jump {s.at, here, fn.code.size(), nullptr, s.args.back().name});
        } else {
            s.need(0 != tables.count(s.args.back().name), "jumps by no table");
            const std::vector<int32_t> &table = *tables[s.args.back().name];
            i.v = table.data();
            i.off = (int64_t) table.size();
        }
    }
    const std::vector<std::string> words = s.words;
    s.need(decode_move(s, i) || decode_int(s, i) || decode_compare(s, i) || decode_float(s, i) ||
           decode_convert(s, i) || decode_memory(s, i) || decode_fence(s, i) ||
           decode_atomic(s, i) || decode_flow(s, i));
    s.need(1 == s.words.size() && nullptr != i.go);
    fn.code.push_back(i);
    if (-1 != guard && !bra) {
        fn.code[guard_at].to = (int32_t) fn.code.size();
    }
}

void body_parser::finish()
{
    const int32_t constants = fn.registers, specials = constants + (int32_t) fn.constants.size();
    const auto settle = [&](int32_t &slot) {
        if (slot <= FIRST_SPECIAL) {
            slot = specials + FIRST_SPECIAL - slot;
        } else if (slot <= -2) {
            slot = constants - 2 - slot;
        }
    };

    for (const jump &j : jumps) {
        (nullptr == j.to ? fn.code[j.insn].to : *j.to) = find_label(j);
    }
    for (insn &i : fn.code) {
        for (int32_t *slot : {&i.d, &i.e, &i.a, &i.b, &i.c}) {
            settle(*slot);
        }
    }
    for (std::vector<int32_t> &v : fn.vectors) {
        std::for_each(v.begin(), v.end(), settle);
    }
    for (special &s : fn.specials) {
        settle(s.slot);
    }
    fn.slots = specials + (int32_t) fn.specials.size();
}

void body_parser::parse()
{
    fn.registers = 1;             /* slot 0 is the carry */
    fn.pass_bytes = fn.out_bytes; /* its own results come first */
    fn.shared_end = fn.owner->shared_end;
    scopes.push_back(scope {-1, {}, {}, {}});
    here = 0;
    while (here >= 0) {
        std::string word = in.next();

        if ("{" == word) {
            scopes.push_back(scope {here, {}, {}, {}});
            here = (int) scopes.size() - 1;
        } else if ("}" == word) {
            here = scopes[(size_t) here].parent;
        } else if (".reg" == word) {
            declare_registers();
        } else if (".param" == word || ".local" == word || ".shared" == word) {
            declare_variable(".param" == word ? PARAM : ".local" == word ? LOCAL : SHARED);
        } else if (".pragma" == word) {
            in.next();
            in.expect(";");
        } else if (".loc" == word || ".file" == word) {
            in.skip_line();
        } else if (".branchtargets" == word) {
            read_targets(label);
        } else if (";" == word) {
            continue;
        } else if ('.' == word[0]) {
            in.reject("not known: " + word);
        } else if (":" == in.peek()) {
            label = word;
            in.expect(":");
            scopes[(size_t) here].labels[label] = (int32_t) fn.code.size();
        } else {
            read_statement();
        }
    }
    insn end {};
    statement ret {&fn, fn.end, {"ret"}, {}, "", constant_of};
    end.d = end.e = end.a = end.b = end.c = -1;
    decode_flow(ret, end);
    fn.code.push_back(end);
    finish();
}

void decode_function(function &f)
{
    std::call_once(f.once, [&f] { body_parser(f).parse(); });
}

} /* namespace ptx */
} /* namespace fake */
