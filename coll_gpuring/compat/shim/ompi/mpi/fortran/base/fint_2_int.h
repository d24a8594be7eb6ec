/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Open MPI's op.h includes this header, and no Open MPI installs it. Of it, op.h needs one
 * conversion, for user functions written in Fortran.
 */
#ifndef OMPI_FORTRAN_BASE_FINT_2_INT_H
#define OMPI_FORTRAN_BASE_FINT_2_INT_H

#define OMPI_INT_2_FINT(a) ((MPI_Fint) (a))
#define OMPI_FINT_2_INT(a) ((int) (a))

#endif
