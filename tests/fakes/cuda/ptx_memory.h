/* SPDX-License-Identifier: BSD-3-Clause */
/* How instructions reach memory. */
#ifndef FAKECUDA_PTX_MEMORY_H
#define FAKECUDA_PTX_MEMORY_H

#include "ptx_code.h"

namespace fake
{
namespace ptx
{

/* insn::mod[0], mod[1] of what accesses memory; mod[2]: the scope is written out */
enum { ORDER_WEAK, ORDER_RELAXED, ORDER_ACQUIRE, ORDER_RELEASE, ORDER_BOTH };
enum { SCOPE_SYS, SCOPE_GPU, SCOPE_CTA };

/* Take the words for order and scope, or for a space. */
void take_order(statement &s, insn &i);
space take_space(statement &s);

/* Where an instruction reaches: its register and displacement. */
uint64_t address(const frame &f, const insn *i);
bool in_global(space where, uint64_t at);
/* On the host: not of global memory. Traps where it is outside of it. */
unsigned char *spot(const frame &f, const insn *i, space where, uint64_t at, size_t bytes);

/* Before an access to a flag at `at`, which lies at host; after that. */
void strong_begin(frame &f, const insn *i, uint64_t at, void *host, size_t bytes);
void release(frame &f, const insn *i);
void acquire(frame &f, const insn *i);
/* Whoever finds what it found before waits for others. */
void look(frame &f, const insn *i, uint64_t at, uint64_t x, uint64_t y);

/* Flags of up to 8 bytes in global memory. */
uint64_t load_word(frame &f, const insn *i, uint64_t at, size_t bytes);
void store_word(frame &f, const insn *i, uint64_t at, size_t bytes, uint64_t v);

/* Flags of 16 bytes (ptx_joint.cpp). */
handler joint_access(type t, space where, bool loads);

} /* namespace ptx */
} /* namespace fake */

#endif
