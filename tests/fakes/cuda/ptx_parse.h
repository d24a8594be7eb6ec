/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is known while a function's body is read. Each register is a slot of 64 bits; constants and
 * special registers have slots behind those of registers, so that an instruction need not know what
 * an operand is. Until the number of registers is known, slots of constants are -2, -3, ..., those
 * of specials begin at FIRST_SPECIAL.
 */
#ifndef FAKECUDA_PTX_PARSE_H
#define FAKECUDA_PTX_PARSE_H

#include "ptx_text.h"

namespace fake
{
namespace ptx
{

constexpr int32_t FIRST_SPECIAL = -(1 << 24);

/* The slot of a constant. */
int32_t constant_of(function &f, uint64_t bits);

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

} /* namespace ptx */
} /* namespace fake */

#endif
