/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The body of a function. Each register is a slot of 64 bits; constants and special registers have
 * slots behind those of registers, so that an instruction need not know what an operand is. Until
 * the number of registers is known, slots of constants are -2, -3, ..., those of specials begin at
 * FIRST_SPECIAL.
 */
#include "ptx_text.h"

#include <algorithm>

namespace fake
{
namespace ptx
{

constexpr int32_t FIRST_SPECIAL = -(1 << 24);

struct registers {
    int32_t first;
    size_t count; /* 0: one register, without a number */
};

/* What a pair of braces declares. */
struct scope {
    int parent;
    std::map<std::string, registers> names;
    std::map<std::string, variable> variables;
    std::map<std::string, int32_t> labels;
};

struct jump {
    size_t at;   /* in the text */
    int scope;   /* where it stands */
    size_t insn; /* its number, */
    int32_t *to; /* or NULL and where the target's number goes */
    std::string label;
};

class body_parser
{
  public:
    explicit body_parser(function &f) : in(*f.owner, f.body), fn(f)
    {
    }
    void parse();

  private:
    void declare_registers();
    void declare_variable(space where);
    void read_statement();
    void read_targets(const std::string &name);
    operand read_operand(bool single);
    operand read_address();
    operand read_list(const char *end, bool single);
    operand named(const std::string &word);
    operand invert(const operand &o);
    int32_t find_register(const std::string &name);
    const variable *find_variable(const std::string &name, bool *incoming);
    int32_t find_label(const jump &j);
    int32_t constant(uint64_t bits);
    int32_t special_slot(special::what kind, uint64_t add, unsigned number);
    bool special_named(const std::string &word, operand &o);
    operand address_of(const variable &v);
    void finish();

    text_reader in;
    function &fn;
    std::vector<scope> scopes;
    int here = -1;
    std::vector<jump> jumps;
    std::map<std::string, std::vector<int32_t> *> tables;
    std::deque<variable> passed_on;
    std::string label; /* the last one */
};

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

/* ---- slots ---- */

static int32_t constant_of(function &f, uint64_t bits)
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

/* ---- statements ---- */

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
           decode_convert(s, i) || decode_memory(s, i) || decode_atomic(s, i) || decode_flow(s, i));
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
