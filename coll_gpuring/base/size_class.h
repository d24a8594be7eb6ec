/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Size classes of collective calls, by the bytes of one rank's part. The component's report and
 * gpuring_ab, whose preloaded library includes this file, have the same.
 */
#ifndef GR_BASE_SIZE_CLASS_H
#define GR_BASE_SIZE_CLASS_H

enum { GR_NSIZE_CLASSES = 4 };

static inline int gr_size_class(unsigned long long bytes)
{
    return (bytes > 1 << 10) + (bytes > 64 << 10) + (bytes > 1 << 20);
}

static inline const char *gr_size_class_name(int size_class)
{
    static const char *const names[GR_NSIZE_CLASSES] = {"to 1 KiB", "to 64 KiB", "to 1 MiB",
                                                        "above 1 MiB"};

    return names[size_class];
}

#endif
