dnl SPDX-License-Identifier: BSD-3-Clause
dnl GR_OMPI_LAYOUT: for which release the component is built, $gr_ompi_target; which layout of structures that one has,
dnl $gr_layout (A, B or C of the series 5.0, else empty); and where its headers come from, $gr_layout_cppflags. Layouts
dnl differ in one member each, so headers of one (5.0.7 to 5.0.9) serve all: tools/ompi_layout.sh makes copies of two.
AC_DEFUN([GR_OMPI_LAYOUT], [
gr_layout_of() {
    case $[]1 in
        5.0.@<:@0-6@:>@ | 5.0.@<:@0-6@:>@@<:@!0-9@:>@*) echo A ;;
        5.0.@<:@7-9@:>@ | 5.0.@<:@7-9@:>@@<:@!0-9@:>@*) echo B ;;
        5.0.*) echo C ;;
    esac
}
gr_ompi_target=$gr_ompi_version
AS_IF([test -n "$with_ompi_layout" && test "x$with_ompi_layout" != xyes], [gr_ompi_target=$with_ompi_layout])
gr_layout=`gr_layout_of "$gr_ompi_target"`
gr_ompi_header_version() { sed -n "s/^. *define OMPI_$[]1_VERSION *//p" "$gr_ompi_incdir/mpi.h" | head -n 1; }
gr_headers=`gr_ompi_header_version MAJOR`.`gr_ompi_header_version MINOR`.`gr_ompi_header_version RELEASE`
AS_IF([test "$gr_headers" = ..], [gr_headers=$gr_ompi_target])
gr_headers_layout=`gr_layout_of "$gr_headers"`
gr_layout_cppflags=
AC_MSG_CHECKING([for the structures of Open MPI $gr_ompi_target])
AS_IF([test "$gr_layout" != "$gr_headers_layout" || test "${gr_ompi_target%%.*}" != "${gr_headers%%.*}"],
    [gr_layout_dir=`pwd`/ompi-layout
     AS_IF([gr_layout_said=`"$srcdir/tools/ompi_layout.sh" "$gr_ompi_incdir/openmpi" "$gr_layout_dir" "$gr_headers_layout" "$gr_layout" 2>&1`],
         [gr_layout_cppflags="-isystem $gr_layout_dir "],
         [AC_MSG_RESULT([no])
          AC_MSG_ERROR([Open MPI $gr_ompi_target cannot be built for with the headers of $gr_headers: $gr_layout_said])])])
AC_MSG_RESULT([headers of $gr_headers${gr_layout_cppflags:+, changed}])
dnl Open MPI configured with --disable-dlopen (PyPI's wheels) opens no component from a file; see mpi/component.c.
AC_MSG_CHECKING([whether Open MPI loads components])
gr_ompi_loads=yes
AS_IF([test "$gr_ompi_from" = "$OMPI_INFO"],
    [AS_IF(["$OMPI_INFO" --parsable 2>/dev/null | grep -q '^mca:dl:'], [], [gr_ompi_loads=no])])
AC_MSG_RESULT([$gr_ompi_loads])
])
