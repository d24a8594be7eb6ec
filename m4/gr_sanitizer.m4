dnl SPDX-License-Identifier: BSD-3-Clause
dnl A build whose libraries and programs a sanitizer watches, in a build folder of its own.

dnl GR_SANITIZER: which one; before AC_PROG_CC, whose default CFLAGS (-g -O2) are not for sanitizers.
AC_DEFUN([GR_SANITIZER], [
AC_ARG_ENABLE([sanitizer],
    [AS_HELP_STRING([--enable-sanitizer=address|thread],
        [watch all programs with AddressSanitizer and UndefinedBehaviorSanitizer, or with ThreadSanitizer])])
AS_CASE(["$enable_sanitizer"],
    [no|""], [gr_sanitizer=plain
        gr_sanitizer_summary=off
        gr_sanitizer_flags=],
    [address], [gr_sanitizer=address
        gr_sanitizer_summary="address and undefined"
        gr_sanitizer_flags="-fsanitize=address,undefined -fno-sanitize-recover=undefined"],
    [thread], [gr_sanitizer=thread
        gr_sanitizer_summary=thread
        gr_sanitizer_flags=-fsanitize=thread],
    [AC_MSG_ERROR([--enable-sanitizer=$enable_sanitizer: allowed are address and thread])])
AS_IF([test -n "$gr_sanitizer_flags"],
    [: ${CFLAGS="-O1 -g -fno-omit-frame-pointer"}])
AM_CONDITIONAL([SANITIZED], [test -n "$gr_sanitizer_flags"])
AM_CONDITIONAL([SANITIZED_THREAD], [test "$gr_sanitizer" = thread])
AC_SUBST([gr_sanitizer])
])

dnl GR_SANITIZER_FLAGS: adds to GR_CFLAGS, after GR_COMPILER.
AC_DEFUN([GR_SANITIZER_FLAGS], [
gr_start=
AS_IF([test -n "$gr_sanitizer_flags"],
    [AC_MSG_CHECKING([whether $CC links with $gr_sanitizer_flags])
     gr_save_CFLAGS=$CFLAGS
     CFLAGS="$CFLAGS $gr_sanitizer_flags"
     AC_LINK_IFELSE([AC_LANG_PROGRAM()], [gr_sanitizer_links=yes], [gr_sanitizer_links=no])
     CFLAGS=$gr_save_CFLAGS
     AC_MSG_RESULT([$gr_sanitizer_links])
     AS_IF([test "$gr_sanitizer_links" = no],
         [AC_MSG_ERROR([--enable-sanitizer=$gr_sanitizer: $CC links no program with $gr_sanitizer_flags])])
     GR_CFLAGS="$GR_CFLAGS $gr_sanitizer_flags"
     dnl resolvers of clones run before the sanitizer does
     GR_CLONES=
     gr_clones_summary="off, for the sanitizer"])
dnl ThreadSanitizer of gcc 12 does not start where the kernel spreads addresses widely
AS_IF([test "$gr_sanitizer" = thread && setarch -R true 2>/dev/null], [gr_start="setarch -R"])
AC_SUBST([gr_start])
])
