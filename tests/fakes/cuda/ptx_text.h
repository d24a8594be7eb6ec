/* SPDX-License-Identifier: BSD-3-Clause */
/* The words of a PTX text. */
#ifndef FAKECUDA_PTX_TEXT_H
#define FAKECUDA_PTX_TEXT_H

#include "ptx_code.h"

namespace fake
{
namespace ptx
{

/* .align 8 .b8 name[16], or name<16> of registers */
struct declaration {
    type of;
    unsigned element; /* bytes of an element */
    size_t bytes, align;
    size_t count; /* registers */
    std::string name;
};

bool is_number(const std::string &word);
/* Its 64 bits; single: a decimal fraction is a float and not a double. */
uint64_t number_of(const std::string &word, bool single);

class text_reader
{
  public:
    text_reader(const module &m, size_t at) : all(m), text(m.text.c_str()), next_at(at), word_at(at)
    {
    }
    /* A name, a number, a directive, a string, or one character. "": the end. */
    std::string next();
    const std::string &last() const
    {
        return word;
    }
    /* What next() would return. */
    std::string peek();
    /* Take the next word if it is this one. */
    bool skip(const char *which);
    void expect(const char *which);
    void skip_line();
    /* Behind the brace that closes the one just read. */
    void skip_body();
    declaration read_declaration();
    size_t at() const
    {
        return next_at;
    }
    /* Where the last word begins. */
    size_t began() const
    {
        return word_at;
    }
    [[noreturn]] void reject(const std::string &what) const;

  private:
    void skip_space();

    const module &all;
    const char *text;
    size_t next_at, word_at;
    std::string word;
};

} /* namespace ptx */
} /* namespace fake */

#endif
