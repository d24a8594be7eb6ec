/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests under a sanitizer (configure --enable-sanitizer) take many times as long as without. They
 * draw fewer or smaller cases there, and wait longer: GR_SANITIZER(none, address, thread) is the
 * value for the build at hand, a constant.
 */
#ifndef GR_TESTS_SANITIZER_H
#define GR_TESTS_SANITIZER_H

#if defined(__SANITIZE_THREAD__)
#define GR_SANITIZER(none, address, thread) (thread)
#elif defined(__SANITIZE_ADDRESS__)
#define GR_SANITIZER(none, address, thread) (address)
#else
#define GR_SANITIZER(none, address, thread) (none)
#endif

#endif
