/* SPDX-License-Identifier: BSD-3-Clause */
/* Operands: registers, constants, addresses, and the names of variables. */
#include "ptx_parse.h"

#include <algorithm>

namespace fake
{
namespace ptx
{

/* ---- names ---- */

int32_t body_parser::find_register(const std::string &name)
{
    size_t digits = name.size();

    while (digits > 0 && isdigit((unsigned char) name[digits - 1])) {
        digits--;
    }
    for (int s = here; s >= 0; s = scopes[(size_t) s].parent) {
        const auto &names = scopes[(size_t) s].names;
        auto found = names.find(name);
        if (names.end() != found && 0 == found->second.count) {
            return found->second.first;
        }
        found = names.find(name.substr(0, digits));
        if (digits < name.size() && names.end() != found) {
            const size_t number = (size_t) atoll(name.c_str() + digits);
            if (number < found->second.count) {
                return found->second.first + (int32_t) number;
            }
        }
    }
    return -1;
}

const variable *body_parser::find_variable(const std::string &name, bool *incoming)
{
    *incoming = false;
    for (int s = here; s >= 0; s = scopes[(size_t) s].parent) {
        const auto found = scopes[(size_t) s].variables.find(name);
        if (scopes[(size_t) s].variables.end() != found) {
            return &found->second;
        }
    }
    for (const variable &v : fn.in) {
        if (v.name == name) {
            *incoming = true;
            return &v;
        }
    }
    for (const variable &v : fn.out) {
        if (v.name == name) {
            return &v;
        }
    }
    const auto found = fn.owner->variables.find(name);
    return fn.owner->variables.end() == found ? nullptr : &found->second;
}

/* ---- slots ---- */

int32_t constant_of(function &f, uint64_t bits)
{
    const auto found = std::find(f.constants.begin(), f.constants.end(), bits);
    const int32_t index = (int32_t) (found - f.constants.begin());

    if (f.constants.end() == found) {
        f.constants.push_back(bits);
    }
    return -2 - index;
}

int32_t body_parser::constant(uint64_t bits)
{
    return constant_of(fn, bits);
}

int32_t body_parser::special_slot(special::what kind, uint64_t add, unsigned number)
{
    for (const special &s : fn.specials) {
        if (s.kind == kind && s.add == add && s.number == number) {
            return s.slot;
        }
    }
    const int32_t slot = FIRST_SPECIAL - (int32_t) fn.specials.size();
    fn.specials.push_back(special {kind, add, number, slot});
    return slot;
}

bool body_parser::special_named(const std::string &word, operand &o)
{
    static const std::map<std::string, special::what> all = {
        {"%tid.x", special::TID_X},
        {"%tid.y", special::TID_Y},
        {"%tid.z", special::TID_Z},
        {"%ctaid.x", special::CTAID_X},
        {"%ctaid.y", special::CTAID_Y},
        {"%ctaid.z", special::CTAID_Z},
        {"%ntid.x", special::NTID_X},
        {"%ntid.y", special::NTID_Y},
        {"%ntid.z", special::NTID_Z},
        {"%nctaid.x", special::NCTAID_X},
        {"%nctaid.y", special::NCTAID_Y},
        {"%nctaid.z", special::NCTAID_Z},
        {"%laneid", special::LANE},
        {"%warpid", special::WARP},
        {"%nwarpid", special::WARPS},
        {"%smid", special::SM},
        {"%nsmid", special::SMS},
        {"%lanemask_eq", special::MASK_EQ},
        {"%lanemask_le", special::MASK_LE},
        {"%lanemask_lt", special::MASK_LT},
        {"%lanemask_ge", special::MASK_GE},
        {"%lanemask_gt", special::MASK_GT},
        {"%dynamic_smem_size", special::DYNAMIC_BYTES},
        {"%total_smem_size", special::SHARED_BYTES},
    };
    const auto found = all.find(word);

    if (all.end() != found) {
        o.slot = special_slot(found->second, 0, 0);
    } else if ("WARP_SZ" == word) {
        o.slot = constant(32);
    }
    return all.end() != found || "WARP_SZ" == word;
}

/* ---- operands ---- */

/* What a variable's name stands for: its address in its space. */
operand body_parser::address_of(const variable &v)
{
    operand o {operand::SLOT, -1, -1, 0, "", nullptr, false, {}};

    switch (v.where) {
    case SHARED:
        fn.dynamic = fn.dynamic || 0 == v.bytes;
        o.slot = 0 == v.bytes ? special_slot(special::DYNAMIC_ADDRESS, 0, 0) : constant(v.offset);
        break;
    case LOCAL:
        o.slot = special_slot(special::LOCAL_ADDRESS, v.offset, 0);
        break;
    case PARAM:
        o.slot = constant(v.offset);
        break;
    default:
        o.slot = special_slot(special::VARIABLE_ADDRESS, 0, (unsigned) v.offset);
    }
    return o;
}

/* A register, a special register, a variable, or a name that only some instructions know. */
operand body_parser::named(const std::string &word)
{
    operand o {operand::SLOT, find_register(word), -1, 0, word, nullptr, false, {}};
    bool incoming;

    if (-1 != o.slot || special_named(word, o)) {
        return o;
    }
    const variable *v = find_variable(word, &incoming);
    if (nullptr == v) {
        o.kind = operand::NAME;
        return o;
    }
    o = address_of(*v);
    o.name = word;
    o.var = v;
    o.incoming = incoming;
    return o;
}

operand body_parser::read_address()
{
    operand o {operand::ADDRESS, -1, -1, 0, "", nullptr, false, {}};
    std::string word = in.next();

    if (is_number(word)) {
        o.off = (int64_t) number_of(word, false);
    } else {
        operand base = named(word);
        if (operand::SLOT != base.kind) {
            in.reject("no address: " + word);
        }
        o.slot = base.slot;
        o.var = base.var;
        o.incoming = base.incoming;
        o.name = word;
    }
    if (in.skip("+")) {
        o.off += (int64_t) number_of(in.next(), false);
    }
    in.expect("]");
    return o;
}

operand body_parser::read_list(const char *end, bool single)
{
    operand o {operand::VECTOR, -1, -1, 0, "", nullptr, false, {}};

    while (!in.skip(end)) {
        o.list.push_back(read_operand(single));
        in.skip(",");
    }
    return o;
}

/* !p: a register of its own, which an instruction before sets. */
operand body_parser::invert(const operand &o)
{
    operand inverted = o;
    insn i {};
    statement s {&fn, in.began(), {"not", "pred"}, {}, "!", constant_of};

    inverted.slot = fn.registers++;
    s.args = {inverted, o};
    i.d = i.e = i.a = i.b = i.c = -1;
    decode_int(s, i);
    fn.code.push_back(i);
    return inverted;
}

operand body_parser::read_operand(bool single)
{
    operand o {operand::SLOT, -1, -1, 0, "", nullptr, false, {}};
    std::string word = in.next();

    if ("[" == word) {
        return read_address();
    }
    if ("{" == word || "(" == word) {
        return read_list("{" == word ? "}" : ")", single);
    }
    if ("!" == word) {
        return invert(named(in.next()));
    }
    if ("_" == word) {
        o.kind = operand::SINK;
    } else if (is_number(word)) {
        o.slot = constant(number_of(word, single));
    } else {
        o = named(word);
    }
    if (nullptr != o.var && in.skip("+")) {
        o.off = (int64_t) number_of(in.next(), false);
    }
    if (in.skip("|")) {
        word = in.next();
        o.second = "_" == word ? -1 : find_register(word);
    }
    return o;
}

} /* namespace ptx */
} /* namespace fake */
