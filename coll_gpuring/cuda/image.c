/* SPDX-License-Identifier: BSD-3-Clause */
/* The file GR_FATBIN, embedded (image.h). So the CUDA toolkit is needed for building only. */
#include "cuda/image.h"

const int gr_cuda_image_toolkit = GR_CUDA_TOOLKIT;

__asm__(".section .rodata\n"
        ".balign 16\n"
        ".globl gr_cuda_image\n"
        ".hidden gr_cuda_image\n"
        "gr_cuda_image:\n"
        ".incbin \"" GR_FATBIN "\"\n"
        ".globl gr_cuda_image_end\n"
        ".hidden gr_cuda_image_end\n"
        "gr_cuda_image_end:\n"
        ".previous\n");
