dnl SPDX-License-Identifier: BSD-3-Clause
dnl GR_OMPI_FIND: an installed Open MPI: its directories (gr_ompi_prefix, gr_ompi_incdir, gr_ompi_libdir, and where
dnl components and help texts are installed: gr_ompi_pkglibdir, gr_ompi_pkgdatadir), gr_ompi_version, the flags of
dnl programs (MPI_CFLAGS, MPI_LIBS), and who told (gr_ompi_from). The first that answers tells all: ompi_info, which knows
dnl distributions' layouts; pkg-config; mpicc; the usual layout below --with-ompi=DIR. Cross compiling asks no program of
dnl PATH, as that is of another Open MPI.
AC_DEFUN([GR_OMPI_FIND], [
AC_ARG_WITH([ompi],
    [AS_HELP_STRING([--with-ompi=DIR], [prefix of Open MPI (default: found by ompi_info, pkg-config or mpicc)])])
AC_ARG_VAR([OMPI_INFO], [ompi_info of Open MPI; not run when cross compiling])
AC_ARG_VAR([MPICC], [Open MPI's wrapper of the C compiler, which is asked for its flags])
AC_ARG_VAR([MPIRUN], [mpirun of Open MPI, for tests])
gr_ompi_given=
dnl not the scripts of this build, which env.sh puts first
gr_ompi_path=`echo ":$PATH:" | sed "s|:$(pwd)/bin:|:|g; s|^:||; s|:*$||"`
AS_IF([test -n "$with_ompi" && test "x$with_ompi" != xyes],
    [gr_ompi_given=$with_ompi
     gr_ompi_path=$with_ompi/bin])
AS_IF([test "$cross_compiling" = yes], [OMPI_INFO=],
    [AC_PATH_PROG([OMPI_INFO], [ompi_info], [], [$gr_ompi_path])
     AC_PATH_PROGS([MPICC], [mpicc.openmpi mpicc], [], [$gr_ompi_path])
     AC_PATH_PROGS([MPIRUN], [mpirun.openmpi mpirun], [], [$gr_ompi_path])])

gr_ompi_from=
gr_ompi_mpicc() { "$MPICC" "--showme:$[]1" 2>/dev/null; }
gr_ompi_info() { "$OMPI_INFO" --path "$[]1" --parsable 2>/dev/null | sed -n "s/^path:$[]1://p" | head -n 1; }
dnl with sysroots, which pkg-config adds to flags but not to variables
gr_ompi_pc() { PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1 PKG_CONFIG_ALLOW_SYSTEM_LIBS=1 $PKG_CONFIG "$[]@" 2>/dev/null; }
gr_ompi_first() { sed 's/^ *-@<:@IL@:>@//; s/ .*//'; }

AC_MSG_CHECKING([for Open MPI])
gr_ompi_moved=
AS_IF([test -n "$OMPI_INFO"],
    [gr_ompi_incdir=`gr_ompi_info incdir`
     dnl One that was moved after its installation (PyPI's wheel) answers with directories that are not there.
     AS_IF([test -n "$gr_ompi_incdir" && test ! -d "$gr_ompi_incdir"],
        [gr_ompi_moved=`dirname "$OMPI_INFO"`
         gr_ompi_moved=`dirname "$gr_ompi_moved"`
         OPAL_PREFIX=$gr_ompi_moved
         export OPAL_PREFIX
         gr_ompi_incdir=`gr_ompi_info incdir`])
     AS_IF([test -n "$gr_ompi_incdir"],
        [gr_ompi_from=$OMPI_INFO
         gr_ompi_prefix=`gr_ompi_info prefix`
         gr_ompi_libdir=`gr_ompi_info libdir`
         gr_ompi_pkglibdir=`gr_ompi_info pkglibdir`
         gr_ompi_pkgdatadir=`gr_ompi_info pkgdatadir`
         gr_ompi_version=`"$OMPI_INFO" --parsable 2>/dev/null | sed -n 's/^ompi:version:full://p' | head -n 1`])])
gr_ompi_install_libdir=
gr_ompi_pc_name=
AS_IF([test -z "$gr_ompi_from" && test -n "$PKG_CONFIG"],
    [gr_save_PKG_CONFIG_PATH=$PKG_CONFIG_PATH
     AS_IF([test -n "$gr_ompi_given"],
        [PKG_CONFIG_PATH=$gr_ompi_given/lib/pkgconfig:$gr_ompi_given/lib64/pkgconfig:$PKG_CONFIG_PATH
         export PKG_CONFIG_PATH])
     for gr_name in ompi-c ompi; do
        AS_IF([test -z "$gr_ompi_from" && gr_ompi_pc --exists $gr_name],
            [gr_ompi_prefix=`gr_ompi_pc --variable=prefix $gr_name`
             AS_IF([test -z "$gr_ompi_given" || test "$gr_ompi_given" -ef "$gr_ompi_prefix"],
                [gr_ompi_from="pkg-config $gr_name"
                 gr_ompi_incdir=`gr_ompi_pc --cflags-only-I $gr_name | gr_ompi_first`
                 gr_ompi_libdir=`gr_ompi_pc --libs-only-L $gr_name | gr_ompi_first`
                 gr_ompi_install_libdir=`gr_ompi_pc --variable=libdir $gr_name`
                 gr_ompi_version=`gr_ompi_pc --modversion $gr_name`
                 MPI_CFLAGS=`gr_ompi_pc --cflags $gr_name`
                 MPI_LIBS=`gr_ompi_pc --libs $gr_name`])])
     done
     PKG_CONFIG_PATH=$gr_save_PKG_CONFIG_PATH])
AS_IF([test -n "$MPICC"],
    [AS_CASE([`gr_ompi_mpicc version`],
        [*"Open MPI"*], [],
        [AS_IF([test -z "$gr_ompi_from"], [AC_MSG_RESULT([no])
                AC_MSG_ERROR([$MPICC is not Open MPI's, or does not run here: give --with-ompi=DIR])])
         MPICC=])])
AS_IF([test -z "$gr_ompi_from" && test -n "$MPICC"],
    [gr_ompi_from=$MPICC
     gr_ompi_prefix=`dirname "$MPICC"`
     gr_ompi_prefix=`dirname "$gr_ompi_prefix"`
     gr_ompi_incdir=`gr_ompi_mpicc incdirs | gr_ompi_first`
     gr_ompi_libdir=`gr_ompi_mpicc libdirs | gr_ompi_first`
     gr_ompi_version=])
AS_IF([test -z "$gr_ompi_from" && test -n "$gr_ompi_given" && test -f "$gr_ompi_given/include/mpi.h"],
    [gr_ompi_from="the files in $gr_ompi_given"
     gr_ompi_prefix=$gr_ompi_given
     gr_ompi_incdir=$gr_ompi_given/include
     gr_ompi_libdir=$gr_ompi_given/lib
     AS_IF([test -d "$gr_ompi_given/lib64/openmpi"], [gr_ompi_libdir=$gr_ompi_given/lib64])
     gr_ompi_version=])
AS_IF([test -z "$gr_ompi_from"],
    [AC_MSG_RESULT([no])
     AS_IF([test "$cross_compiling" = yes],
        [AC_MSG_ERROR([no Open MPI for $host${gr_ompi_given:+ in $gr_ompi_given}: ${PKG_CONFIG:-pkg-config, which is not there,} knows no ompi-c. Install both for that machine (Debian: libopenmpi-dev:ARCH, pkgconf:ARCH), or give --with-ompi=DIR])])
     AC_MSG_ERROR([no Open MPI${gr_ompi_given:+ in $gr_ompi_given}: neither ompi_info, pkg-config (ompi-c) nor mpicc tells of one. Install it with its devel headers, or give --with-ompi=DIR])])
AC_MSG_RESULT([by $gr_ompi_from])

dnl what only ompi_info tells
AS_IF([test -z "$gr_ompi_version"],
    [gr_ompi_version=`sed -n 's/^# *define OMPI_\(MAJOR\|MINOR\|RELEASE\)_VERSION *\(@<:@0-9@:>@*\).*/\2/p' \
        "$gr_ompi_incdir/mpi.h" 2>/dev/null | tr '\n' . | sed 's/\.$//'`])
AS_IF([test -z "$gr_ompi_version"], [AC_MSG_ERROR([$gr_ompi_incdir/mpi.h is not there, or not Open MPI's])])
AS_IF([test -z "$gr_ompi_pkglibdir"],
    [gr_name=openmpi
     dnl Debian adds a number
     for gr_file in "$gr_ompi_libdir"/openmpi*/mca_*.so; do
        AS_IF([test -e "$gr_file"], [gr_name=`dirname "$gr_file"`; gr_name=`basename "$gr_name"`; break])
     done
     gr_ompi_pkglibdir=${gr_ompi_install_libdir:-$gr_ompi_libdir}/$gr_name])
AS_IF([test -z "$gr_ompi_pkgdatadir"], [gr_ompi_pkgdatadir=$gr_ompi_prefix/share/openmpi])
AS_IF([test -n "$MPICC"],
    [MPI_CFLAGS=`gr_ompi_mpicc compile`
     MPI_LIBS=`gr_ompi_mpicc link`])
: "${MPI_CFLAGS:=-I$gr_ompi_incdir}" "${MPI_LIBS:=-L$gr_ompi_libdir -lmpi}" "${MPIRUN:=$gr_ompi_prefix/bin/mpirun}"
: "${OMPI_INFO:=`dirname "$MPIRUN"`/ompi_info}"
AC_SUBST([MPI_CFLAGS])
AC_SUBST([MPI_LIBS])
])
