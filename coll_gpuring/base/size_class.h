/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Size classes of collective calls, by the bytes of one rank's part. The component's report and
 * gpuring_ab, whose preloaded library includes this file, have the same.
 */
#ifndef GR_BASE_SIZE_CLASS_H
#define GR_BASE_SIZE_CLASS_H

#include <limits.h>

/* X(most bytes, name) */
#define GR_FOR_EACH_SIZE_CLASS(X) \
    X(1ULL << 10, "to 1 KiB")     \
    X(64ULL << 10, "to 64 KiB")   \
    X(1ULL << 20, "to 1 MiB")     \
    X(ULLONG_MAX, "above 1 MiB")

#define GR_COUNT_SIZE_CLASS(bytes, name) +1
enum { GR_NSIZE_CLASSES = GR_FOR_EACH_SIZE_CLASS(GR_COUNT_SIZE_CLASS) };

static inline int gr_size_class(unsigned long long bytes)
{
#define GR_IS_ABOVE(most, name) +(bytes > (most))
    return GR_FOR_EACH_SIZE_CLASS(GR_IS_ABOVE);
#undef GR_IS_ABOVE
}

static inline const char *gr_size_class_name(int size_class)
{
#define GR_NAME_OF(most, name) name,
    static const char *const names[GR_NSIZE_CLASSES] = {GR_FOR_EACH_SIZE_CLASS(GR_NAME_OF)};
#undef GR_NAME_OF

    return names[size_class];
}

#endif
