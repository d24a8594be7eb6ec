/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Kernels as PTX, interpreted: the second way to run a kernel. An image's PTX is indexed when it is
 * loaded; a kernel is decoded when it is first asked for. What the interpreter does not know ends
 * the process with a line that names the instruction and its line in the PTX.
 *
 *      ptx_image.cpp    PTX out of an image (fatbin, text)
 *      ptx_module.cpp   the index of a PTX text: functions and variables
 *      ptx_parse.cpp, ptx_operand.cpp, ptx_statement.cpp
 *                       the body of a function: statements, registers, labels
 *      ptx_int.cpp, ptx_bits.cpp, ptx_float.cpp, ptx_convert.cpp, ptx_compare.cpp, ptx_memory.cpp,
 *      ptx_space.cpp, ptx_joint.cpp, ptx_atomic.cpp, ptx_flow.cpp
 *                       instructions, and how a statement is decoded to one
 *      ptx_run.cpp      threads: frames, calls, the loop
 */
#ifndef FAKECUDA_PTX_H
#define FAKECUDA_PTX_H

#include "cuda_emu.h"

#include <cuda.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace fake
{

struct block;

namespace ptx
{

struct module;
struct function;

/* The PTX of an image: that of FAKECUDA_PTX if it names a file. "": there is none. */
std::string image_text(const void *image);
/* Whether an image is PTX itself, ending with a 0. */
bool is_text(const void *image);

/* What a text declares. Dies with a line when it is not PTX. */
std::shared_ptr<module> load(std::string text);

/* A kernel, decoded; nullptr: there is none of that name. The module must outlive it. */
const function *find(module &m, const std::string &name);

/* How the driver runs it; parameters: their sizes. */
emu::kernel describe(const function &kernel);
/* Bytes of static shared memory, and the most threads of a block (0: not declared). */
size_t shared_bytes(const function &kernel);
unsigned most_threads(const function &kernel);

/* Variables in global memory on a device: allocated and initialized at the first use. */
CUresult place_variables(module &m, CUcontext context);
/* Such a variable's address and size; false: there is none of that name. */
bool find_variable(module &m, CUcontext context, const std::string &name, uintptr_t *at,
                   size_t *bytes);

/* What a block that runs such a kernel has besides its threads. */
struct block_state;
block_state *block_begin(const block &b);
void block_end(block_state *state);
/* The line of the PTX where a thread was last seen; whether two were seen at the same. */
unsigned thread_line(const block_state *state, unsigned flat);
bool same_place(const block_state *state, unsigned one, unsigned other);

} /* namespace ptx */
} /* namespace fake */

#endif
