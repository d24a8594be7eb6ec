/* SPDX-License-Identifier: BSD-3-Clause */
/* Formats of floats and their roundings. */
#ifndef FAKECUDA_PTX_FLOAT_H
#define FAKECUDA_PTX_FLOAT_H

#include "ptx_code.h"

namespace fake
{
namespace ptx
{

enum { ROUND_NEAREST, ROUND_ZERO, ROUND_DOWN, ROUND_UP };
enum { FTZ = 1, SAT = 2 };

/* A number of units rounded to a whole one; negative: it is the absolute value of one below 0. */
double round_as(double v, int rounding, bool negative);

uint16_t to_half(double v, int rounding);
uint16_t to_bfloat(double v, int rounding);
double from_half(uint16_t bits);
double from_bfloat(uint16_t bits);

/* Take .rn, .rz, .rm or .rp; ROUND_NEAREST if there is none. */
int take_rounding(statement &s);

} /* namespace ptx */
} /* namespace fake */

#endif
