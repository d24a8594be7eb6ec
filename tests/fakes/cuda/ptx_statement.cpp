/* SPDX-License-Identifier: BSD-3-Clause */
/* What decoders ask a statement: its words, one after the other, and its operands. */
#include "ptx_code.h"

#include <algorithm>

namespace fake
{
namespace ptx
{

bool statement::take(const char *word)
{
    const auto found = std::find(words.begin() + 1, words.end(), word);

    if (words.end() == found) {
        return false;
    }
    words.erase(found);
    return true;
}

int statement::take_of(std::initializer_list<const char *> list)
{
    int n = 0;

    for (const char *word : list) {
        if (take(word)) {
            return n;
        }
        n++;
    }
    return -1;
}

type statement::take_type()
{
    for (size_t k = 1; k < words.size(); k++) {
        const type t = type_named(words[k]);
        if (NONE != t) {
            words.erase(words.begin() + (ptrdiff_t) k);
            return t;
        }
    }
    return NONE;
}

void statement::need(bool condition, const char *what) const
{
    if (!condition) {
        ptx::reject(*f->owner, at, std::string(what) + ": " + text);
    }
}

int32_t statement::slot(size_t i) const
{
    need(i < args.size() && operand::SLOT == args[i].kind && -1 != args[i].slot,
         "operand of another kind");
    if (0 == args[i].off) {
        return args[i].slot;
    }
    need(nullptr != args[i].var && (SHARED == args[i].var->where || PARAM == args[i].var->where) &&
             0 != args[i].var->bytes,
         "not known");
    return constant(*f, args[i].var->offset + (uint64_t) args[i].off);
}

const int32_t *statement::vector(const operand &o, uint8_t *n, uint8_t most) const
{
    need(operand::VECTOR == o.kind && !o.list.empty() && o.list.size() <= most,
         "a vector of another length");
    f->vectors.emplace_back();
    for (const operand &part : o.list) {
        need(operand::SLOT == part.kind || operand::SINK == part.kind, "operand of another kind");
        f->vectors.back().push_back(operand::SINK == part.kind ? -1 : part.slot);
    }
    *n = (uint8_t) o.list.size();
    return f->vectors.back().data();
}

} /* namespace ptx */
} /* namespace fake */
