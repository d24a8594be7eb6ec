dnl SPDX-License-Identifier: BSD-3-Clause
dnl GR_HWLOC: the tree of PCI devices, for the order of GPUs where NVML is silent, and NUMA nodes. Optional.
AC_DEFUN([GR_HWLOC], [
AC_ARG_WITH([hwloc],
    [AS_HELP_STRING([--with-hwloc@<:@=DIR@:>@], [hwloc, 2.1 or later (default: what pkg-config finds)])])
GR_PART([hwloc])
gr_hwloc_summary="not found (GPUs are ordered by NVML or PCI address)"
GR_HWLOC_CPPFLAGS=
AS_CASE(["$with_hwloc"],
    [no], [gr_hwloc_summary="off"],
    [AS_IF([test -n "$with_hwloc" && test "x$with_hwloc" != xyes],
         [export PKG_CONFIG_PATH="$with_hwloc/lib/pkgconfig:$PKG_CONFIG_PATH"])
     PKG_CHECK_MODULES([HWLOC], [hwloc >= 2.1],
         [GR_HWLOC_CPPFLAGS=-DGR_HAVE_HWLOC=1
          gr_hwloc_summary=`$PKG_CONFIG --modversion hwloc`],
         [AS_IF([test -n "$with_hwloc"],
             [AC_MSG_ERROR([--with-hwloc was given, but pkg-config finds no hwloc of 2.1 or later])])])])
AM_CONDITIONAL([HAVE_HWLOC], [test -n "$GR_HWLOC_CPPFLAGS"])
AC_SUBST([GR_HWLOC_CPPFLAGS])
])
