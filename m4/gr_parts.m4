dnl SPDX-License-Identifier: BSD-3-Clause
dnl Optional parts: each is detected, absent without harm, and named in the summary.

dnl GR_PART(NAME): --disable-NAME is --without-NAME, as some other packages call it.
AC_DEFUN([GR_PART], [
AC_ARG_ENABLE([$1],
    [AS_HELP_STRING([--disable-$1], [the same as --without-$1])])
AS_IF([test "x$enable_$1" = xno],
    [AS_CASE(["$with_$1"],
        [no|""], [with_$1=no],
        [AC_MSG_ERROR([--disable-$1 and --with-$1=$with_$1 exclude each other])])])
])

dnl GR_CUDA: the toolkit that compiles kernels.
AC_DEFUN([GR_CUDA], [
AC_ARG_WITH([cuda],
    [AS_HELP_STRING([--with-cuda@<:@=DIR@:>@], [CUDA toolkit (default: /usr/local/cuda, or nvcc on PATH, if there)])])
GR_PART([cuda])
AS_CASE(["$with_cuda"],
    [no], [NVCC=],
    [yes|""], [AC_PATH_PROG([NVCC], [nvcc], [], [/usr/local/cuda/bin:$PATH])],
    [AC_PATH_PROG([NVCC], [nvcc], [], [$with_cuda/bin])])
AS_IF([test -z "$NVCC" && test -n "$with_cuda" && test "x$with_cuda" != xno],
    [AC_MSG_ERROR([no nvcc below $with_cuda: --with-cuda=DIR wants the toolkit's prefix])])
AC_ARG_WITH([cuda-arch],
    [AS_HELP_STRING([--with-cuda-arch=LIST],
        [what kernels are compiled for, in the words of CMake's CUDA_ARCHITECTURES: 90-real is machine code, 90-virtual PTX, 90 both. all: 80-real,90,100-real,120-real, as far as nvcc has them (default: 80-real,90)])])
gr_cuda_summary="not found"
AS_IF([test "x$with_cuda" = xno], [gr_cuda_summary="off"])
CUDA_CPPFLAGS=
gr_cuda=no
AS_IF([test -n "$NVCC"],
    [gr_cuda_include="`dirname "$NVCC"`/../include"
     gr_cuda_version="`"$NVCC" --version | sed -n 's/.*release \([[0-9.]]*\).*/\1/p'`"
     AS_IF([test -f "$gr_cuda_include/cuda.h"], [CUDA_CPPFLAGS="-I$gr_cuda_include"])
     gr_save_CPPFLAGS=$CPPFLAGS
     CPPFLAGS="$CPPFLAGS $CUDA_CPPFLAGS"
     AC_CHECK_HEADER([cuda.h], [gr_cuda=yes; gr_cuda_summary="toolkit $gr_cuda_version, $NVCC"],
         [gr_cuda_summary="$NVCC, but no cuda.h"])
     CPPFLAGS=$gr_save_CPPFLAGS])
AS_IF([test "x$gr_cuda" = xyes], [GR_NVCC_WORKS])
AS_IF([test "x$gr_cuda" = xyes], [GR_CUDA_ARCHITECTURES])
NVCC=$NVCC`echo "$gr_cv_nvcc_works" | sed 's/^@<:@a-z@:>@*//'`
GR_CUDA_TOOLKIT=`echo "$gr_cuda_version" | awk -F. '{ print @S|@1 * 1000 + @S|@2 * 10 }'`
AC_SUBST([CUDA_CPPFLAGS])
AC_SUBST([GR_CUDA_TOOLKIT])
AM_CONDITIONAL([HAVE_CUDA], [test "x$gr_cuda" = xyes])
])

dnl GR_NVCC_WORKS: whether nvcc compiles with g++, with an older g++ if that one is too new for it, or with the flag for
dnl versions that it does not know. Without _GNU_SOURCE glibc 2.42 does not declare rsqrt(), which CUDA 13.0 declares
dnl otherwise.
AC_DEFUN([GR_NVCC_WORKS], [
AC_CACHE_CHECK([how $NVCC compiles], [gr_cv_nvcc_works],
    [echo '__global__ void gr_kernel(int *a) { *a = 1; }' >conftest.cu
     gr_cv_nvcc_works=no
     for gr_flag in "" " -ccbin g++-15" " -ccbin g++-14" " -ccbin g++-13" " -ccbin g++-12" " -allow-unsupported-compiler" \
        " -allow-unsupported-compiler -U_GNU_SOURCE"; do
        AS_IF([test "$gr_cv_nvcc_works" = no && "$NVCC"$gr_flag -std=c++17 -fatbin -o conftest.fatbin conftest.cu >&AS_MESSAGE_LOG_FD 2>&1],
            [gr_cv_nvcc_works=yes$gr_flag])
     done
     rm -f conftest*])
AS_CASE([$gr_cv_nvcc_works],
    [no], [AS_IF([test -n "$with_cuda"], [AC_MSG_ERROR([$NVCC compiles no kernel with this g++ (config.log says why)])])
        gr_cuda=no
        gr_cuda_summary="off: $NVCC does not work with this g++"])
])

dnl GR_CUDA_ARCHITECTURES: options of nvcc for --with-cuda-arch, in GR_GENCODE. A build that has kernels for another list
dnl compiles them again.
AC_DEFUN([GR_CUDA_ARCHITECTURES], [
gr_known=" `"$NVCC" --list-gpu-arch | sed -n 's/^compute_//p' | tr '\n' ' '`"
AS_CASE(["$with_cuda_arch"],
    [no], [AC_MSG_ERROR([--with-cuda-arch wants a list, as 80-real,90])],
    [yes|""], [gr_list=80-real,90],
    [all], [gr_list=
        for gr_arch in 80-real 90 100-real 120-real; do
            AS_CASE(["$gr_known"], [*" ${gr_arch%-*} "*], [gr_list=${gr_list:+$gr_list,}$gr_arch])
        done],
    [gr_list=$with_cuda_arch])
GR_GENCODE=
for gr_arch in `echo "$gr_list" | tr ',;' '  '`; do
    gr_number=${gr_arch%-*}
    AS_CASE(["$gr_known"], [*" ${gr_number%@<:@af@:>@} "*], [],
        [AC_MSG_ERROR([--with-cuda-arch: $NVCC knows no $gr_number, but$gr_known])])
    AS_CASE(["$gr_arch"],
        [*-real], [gr_code=sm_$gr_number],
        [*-virtual], [gr_code=compute_$gr_number],
        [*-*], [AC_MSG_ERROR([--with-cuda-arch: $gr_arch is not one of N, N-real, N-virtual])],
        [gr_code="@<:@sm_$gr_number,compute_$gr_number@:>@"])
    GR_GENCODE="$GR_GENCODE -gencode 'arch=compute_$gr_number,code=$gr_code'"
done
gr_cuda_summary="$gr_cuda_summary, kernels for $gr_list"
AC_SUBST([GR_GENCODE])
AC_CONFIG_COMMANDS([kernels.arch],
    [gr_old=80-real,90
     AS_IF([test -f kernels.arch], [gr_old=`cat kernels.arch`])
     AS_IF([test "x$gr_old" != "x$gr_list"], [rm -f kernels.fatbin])
     echo "$gr_list" >kernels.arch],
    [gr_list='$gr_list'])
])

dnl GR_UCX: links between nodes over UCX, in a module of their own (net/net.c says why).
AC_DEFUN([GR_UCX], [
AC_ARG_WITH([ucx],
    [AS_HELP_STRING([--with-ucx@<:@=DIR@:>@], [UCX, 1.11 or later (default: what pkg-config finds)])])
GR_PART([ucx])
gr_ucx_summary="not found (links between nodes over Open MPI's messages)"
gr_ucx=no
AS_CASE(["$with_ucx"],
    [no], [gr_ucx_summary="off"],
    [AS_IF([test -n "$with_ucx" && test "x$with_ucx" != xyes],
         [export PKG_CONFIG_PATH="$with_ucx/lib/pkgconfig:$PKG_CONFIG_PATH"])
     PKG_CHECK_MODULES([UCX], [ucx >= 1.11],
         [gr_ucx=yes
          dnl no warnings about its headers
          UCX_CFLAGS=`AS_ECHO(["$UCX_CFLAGS"]) | sed 's/^-I/-isystem /; s/ -I/ -isystem /g'`
          gr_ucx_summary=`$PKG_CONFIG --modversion ucx`],
         [AS_IF([test -n "$with_ucx" && test "x$with_ucx" != xno],
             [AC_MSG_ERROR([--with-ucx was given, but pkg-config finds no ucx of 1.11 or later])])])])
AM_CONDITIONAL([HAVE_UCX], [test "x$gr_ucx" = xyes])
])

dnl GR_COMPILER: warnings, hidden symbols, and clones of loops for wider vectors. Functions begin at
dnl cache lines: else a change anywhere in the component moves those that a small call goes through,
dnl which was seen to cost it up to a sixth of its time.
AC_DEFUN([GR_COMPILER], [
GR_CFLAGS="-std=gnu11 -Wall -Wextra -fvisibility=hidden -falign-functions=64"
AC_CACHE_CHECK([for function clones by instruction set], [gr_cv_target_clones],
    [gr_save_CFLAGS=$CFLAGS
     CFLAGS="$CFLAGS -fPIC -shared"
     AC_LINK_IFELSE([AC_LANG_SOURCE([[
__attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
void add(float *d, const float *a, int n);
void add(float *d, const float *a, int n) { for (int i = 0; i < n; i++) d[i] += a[i]; }
]])], [gr_cv_target_clones=yes], [gr_cv_target_clones=no])
     CFLAGS=$gr_save_CFLAGS])
GR_CLONES=
gr_clones_summary=$gr_cv_target_clones
AS_IF([test "x$gr_cv_target_clones" = xyes], [GR_CLONES=-DGR_TARGET_CLONES=1])
dnl the component is closed and opened again by some MPI features; its code must stay
GR_NODELETE="-Wl,-z,nodelete"
AC_SUBST([GR_CFLAGS])
AC_SUBST([GR_CLONES])
AC_SUBST([GR_NODELETE])
])

dnl GR_FUZZER: clang with libFuzzer, for make check-fuzz.
AC_DEFUN([GR_FUZZER], [
AC_CHECK_PROGS([FUZZ_CC], [clang])
gr_fuzzer=no
AS_IF([test -n "$FUZZ_CC"],
    [AC_CACHE_CHECK([whether $FUZZ_CC has libFuzzer], [gr_cv_fuzzer],
        [echo 'int LLVMFuzzerTestOneInput(const unsigned char *data, unsigned long size) { (void) data; return 0 * (int) size; }' >conftest.c
         AS_IF([$FUZZ_CC -fsanitize=fuzzer,address,undefined -o conftest$ac_exeext conftest.c >&AS_MESSAGE_LOG_FD 2>&1],
             [gr_cv_fuzzer=yes], [gr_cv_fuzzer=no])
         rm -f conftest*])
     gr_fuzzer=$gr_cv_fuzzer])
AM_CONDITIONAL([HAVE_FUZZER], [test "x$gr_fuzzer" = xyes])
])

dnl GR_CMOCKA: the core tests.
AC_DEFUN([GR_CMOCKA], [
PKG_CHECK_MODULES([CMOCKA], [cmocka], [gr_cmocka=yes; gr_cmocka_summary="with cmocka"],
    [gr_cmocka=no; gr_cmocka_summary="off: cmocka not found"])
AM_CONDITIONAL([HAVE_CMOCKA], [test "x$gr_cmocka" = xyes])
])

dnl GR_MAN: man pages, which are made from what the built programs print.
AC_DEFUN([GR_MAN], [
AC_ARG_ENABLE([man], [AS_HELP_STRING([--disable-man], [make no man pages])])
AS_CASE([$enable_man,$cross_compiling],
    [no,*], [gr_man=no; gr_man_summary="off"],
    [*,yes], [gr_man=no; gr_man_summary="none: cross compiled programs do not run here"],
    [gr_man=yes; gr_man_summary="of programs and of the component"])
AM_CONDITIONAL([HAVE_MAN], [test "x$gr_man" = xyes])
])
