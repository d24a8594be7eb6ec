/* SPDX-License-Identifier: BSD-3-Clause */
/* Formats of floats in half precision; rounded to nearest. */
#ifndef FAKECUDA_PTX_FLOAT_H
#define FAKECUDA_PTX_FLOAT_H

#include "ptx_code.h"

namespace fake
{
namespace ptx
{

uint16_t to_half(double v);
uint16_t to_bfloat(double v);
double from_half(uint16_t bits);
double from_bfloat(uint16_t bits);

} /* namespace ptx */
} /* namespace fake */

#endif
