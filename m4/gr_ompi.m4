dnl SPDX-License-Identifier: BSD-3-Clause
dnl GR_OMPI: the internal headers of the Open MPI that GR_OMPI_FIND found, and which series it is.
dnl GR_OMPI_TRY(MACRO, HEADER): take the compat header if coll.h defines the interface's macro.
AC_DEFUN([GR_OMPI_TRY], [
AS_IF([test -z "$gr_compat"],
    [AC_PREPROC_IFELSE([AC_LANG_SOURCE([
#include "ompi_config.h"
#include "ompi/mca/coll/coll.h"
#if !defined($1)
#error another series
#endif
    ])], [gr_compat=compat/$2])])
])

dnl GR_OMPI_COMPLETE: whether what the component includes of the internal headers is there.
AC_DEFUN([GR_OMPI_COMPLETE], [
AC_PREPROC_IFELSE([AC_LANG_SOURCE([[
#include "ompi_config.h"
#include "ompi/communicator/communicator.h"
#include "ompi/mca/coll/coll.h"
#include "ompi/op/op.h"
]])], [gr_complete=yes], [gr_complete=no])
])

AC_DEFUN([GR_OMPI], [
GR_OMPI_FIND
AC_ARG_WITH([ompi-src],
    [AS_HELP_STRING([--with-ompi-src=DIR], [source tree of the same Open MPI, for internal headers that it does not install; configured as it was, if it installs none])])
AC_ARG_WITH([ompi-headers],
    [AS_HELP_STRING([--with-ompi-headers=DIR], [prefix of another Open MPI of the same series, for an Open MPI without internal headers])])
AC_ARG_WITH([ompi-layout],
    [AS_HELP_STRING([--with-ompi-layout=VERSION], [build for the structures of that release of Open MPI 5.0 (default: of the one that is found)])])
AC_ARG_WITH([component-dir],
    [AS_HELP_STRING([--with-component-dir=DIR], [where to install the component (default: where Open MPI looks)])])
AC_ARG_WITH([help-dir],
    [AS_HELP_STRING([--with-help-dir=DIR], [where to install the help text (default: where Open MPI looks)])])
gr_componentdir=${with_component_dir:-$gr_ompi_pkglibdir}
gr_helpdir=${with_help_dir:-$gr_ompi_pkgdatadir}

AS_IF([test -n "$with_ompi_headers" && test "x$with_ompi_headers" != xyes],
    [gr_ompi_incdir=$with_ompi_headers/include])
GR_OMPI_LAYOUT

dnl Internal headers warn under flags that are ours to keep, hence -isystem.
OMPI_CPPFLAGS="$gr_layout_cppflags-isystem $gr_ompi_incdir -isystem $gr_ompi_incdir/openmpi"
AS_IF([test -n "$with_ompi_src" && test "x$with_ompi_src" != xyes],
    [OMPI_CPPFLAGS="$OMPI_CPPFLAGS -isystem $with_ompi_src"
     dnl a configured tree has what an Open MPI that was installed without --with-devel-headers lacks
     for gr_dir in ompi opal orte; do
        AS_IF([test -d "$with_ompi_src/$gr_dir/include"],
            [OMPI_CPPFLAGS="$OMPI_CPPFLAGS -isystem $with_ompi_src/$gr_dir/include"])
     done
     AS_IF([test -e "$with_ompi_src/3rd-party/openpmix/include/pmix_version.h"],
        [OMPI_CPPFLAGS="$OMPI_CPPFLAGS -isystem $with_ompi_src/3rd-party/openpmix/include"])])
gr_save_CPPFLAGS=$CPPFLAGS
dnl headers that no Open MPI installs come last: those of --with-ompi-src go first
CPPFLAGS="$OMPI_CPPFLAGS $CPPFLAGS -idirafter $srcdir/coll_gpuring/compat/shim"
AC_CHECK_HEADER([ompi_config.h], [],
    [AC_MSG_ERROR([Open MPI $gr_ompi_version in $gr_ompi_prefix has no internal headers: it was installed without --with-devel-headers. Configure a source tree of it as it was, and give that with --with-ompi-src=DIR; or give the headers of another release of its series with --with-ompi-headers=PREFIX])])
AC_MSG_CHECKING([that Open MPI's internal headers are complete])
GR_OMPI_COMPLETE
dnl Open MPI 5 may have been built with an installed PMIx, whose headers are elsewhere (Debian 13); tools/mpirun.in says
dnl what else differs there.
gr_pmix=
gr_test_mpirun=$MPIRUN
gr_test_ompi_info=$OMPI_INFO
AS_IF([test "$gr_complete" = no && $PKG_CONFIG --exists pmix 2>/dev/null],
    [gr_pmix=`$PKG_CONFIG --cflags-only-I pmix | sed 's/-I/-isystem /g'`
     OMPI_CPPFLAGS="$OMPI_CPPFLAGS $gr_pmix"
     CPPFLAGS="$gr_pmix $CPPFLAGS"
     gr_test_mpirun=`pwd`/bin/mpirun
     GR_OMPI_COMPLETE])
AS_IF([test "$gr_ompi_loads" = no],
    [gr_test_mpirun=`pwd`/bin/mpirun
     gr_test_ompi_info=`pwd`/bin/ompi_info])
AC_MSG_RESULT([$gr_complete])
AS_IF([test "$gr_complete" = no],
    [AC_MSG_ERROR([internal headers of Open MPI $gr_ompi_version are missing: give its source tree with --with-ompi-src=DIR])])
AC_MSG_CHECKING([for the series of Open MPI])
gr_compat=
GR_OMPI_TRY([MCA_COLL_BASE_VERSION_3_0_0], [ompi6.h])
GR_OMPI_TRY([MCA_COLL_BASE_VERSION_2_4_0], [ompi5.h])
GR_OMPI_TRY([MCA_COLL_BASE_VERSION_2_0_0], [ompi4.h])
AS_IF([test -z "$gr_compat"],
    [AC_MSG_RESULT([unknown])
     AC_MSG_ERROR([the coll interface of Open MPI $gr_ompi_version is not supported: 4.1, 5.0 and 6.0 are], [77])])
AC_MSG_RESULT([$gr_ompi_target ($gr_compat${gr_layout:+, layout $gr_layout})])
CPPFLAGS=$gr_save_CPPFLAGS
OMPI_CPPFLAGS="$OMPI_CPPFLAGS -DGR_COMPAT_HEADER='\"$gr_compat\"' -DGR_BUILT_FOR='\"$gr_ompi_target\"' -DGR_LAYOUT='\"$gr_layout\"'"
gr_open_pal=-lopen-pal
dnl PyPI's wheel has no link of that name
AS_IF([test ! -e "$gr_ompi_libdir/libopen-pal.so"],
    [gr_open_pal=`ls "$gr_ompi_libdir" | sed -n 's/^libopen-pal\.so\.@<:@0-9@:>@*$/-l:&/p' | head -n 1`])
dnl Open MPI 6.0 has its internals in a library of their own. Programs bring libmpi or libmpi_abi, never both.
AS_CASE([$gr_compat],
    [compat/ompi6.h], [OMPI_LIBS="-L$gr_ompi_libdir -lopen_mpi -lopen-pal"],
    [OMPI_LIBS="-L$gr_ompi_libdir -lmpi $gr_open_pal"])

gr_ompi_series=`echo "$gr_ompi_version" | cut -d. -f1`
AC_SUBST([OMPI_CPPFLAGS])
AC_SUBST([OMPI_LIBS])
AC_SUBST([ompi_libdir], [$gr_ompi_libdir])
AC_SUBST([gr_pmix])
AC_SUBST([gr_test_mpirun])
AC_SUBST([gr_test_ompi_info])
AC_SUBST([gr_ompi_loads])
AC_SUBST([gr_ompi_moved])
AC_SUBST([gr_ompi_target])
AC_SUBST([gr_layout])
AC_SUBST([ompi_series], [$gr_ompi_series])
AC_SUBST([ompi_bindir], [`dirname "$MPIRUN"`])
AC_SUBST([ompicomponentdir], [$gr_componentdir])
AC_SUBST([ompihelpdir], [$gr_helpdir])
])
