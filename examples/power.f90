! SPDX-License-Identifier: BSD-3-Clause
!
! The largest eigenvalue of a dense symmetric matrix by the power method, in Fortran:
!
!     mpifort -O2 -o power power.f90
!     mpirun -np 2 --mca coll gpuring ./power
!
! The ranks share the rows of the matrix. In each iteration a rank multiplies its rows by the
! vector, MPI_Allgatherv collects the product, and MPI_Allreduce sums the square of its length
! in place. The ranks stop when each has seen its elements settle (MPI_LAND of MPI_LOGICAL).
!
! The matrix min(i, j) / n has known eigenvalues, so the program knows how far it is off. Rank 0
! prints the iterations and the error; all ranks end with 0 if that is small.

program power
  use mpi_f08
  implicit none
  integer, parameter :: dp = kind(1d0), n = 1000, most = 1000
  real(dp), allocatable :: a(:, :), part(:), v(:), old(:)
  integer, allocatable :: counts(:), first(:)
  integer :: rank, ranks, r, i, j, iterations
  real(dp) :: squares, eigenvalue, exact, error
  logical :: settled

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)

  ! which rows each rank has: counts(r) of them, after the first first(r)
  allocate(counts(0:ranks - 1), first(0:ranks - 1))
  do r = 0, ranks - 1
     first(r) = n * r / ranks
     counts(r) = n * (r + 1) / ranks - first(r)
  end do

  ! this rank's rows of the matrix, as columns, since it is symmetric
  allocate(a(n, counts(rank)), part(counts(rank)), v(n), old(n))
  do j = 1, counts(rank)
     do i = 1, n
        a(i, j) = real(min(i, first(rank) + j), dp) / n
     end do
  end do

  v = 1 / sqrt(real(n, dp))
  eigenvalue = 0
  settled = .false.
  iterations = 0
  do while (.not. settled .and. iterations < most)
     old = v
     part = matmul(v, a)
     squares = sum(part**2)
     call MPI_Allreduce(MPI_IN_PLACE, squares, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
     eigenvalue = sqrt(squares)
     call MPI_Allgatherv(part, counts(rank), MPI_DOUBLE_PRECISION, v, counts, first, &
          MPI_DOUBLE_PRECISION, MPI_COMM_WORLD)
     v = v / eigenvalue
     settled = all(abs(v(first(rank) + 1:first(rank) + counts(rank)) &
          - old(first(rank) + 1:first(rank) + counts(rank))) < 1d-12)
     call MPI_Allreduce(MPI_IN_PLACE, settled, 1, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD)
     iterations = iterations + 1
  end do

  exact = 1 / (4 * n * sin(acos(-1d0) / (2 * (2 * n + 1)))**2)
  error = abs(eigenvalue / exact - 1)
  if (rank == 0) then
     print '(i0, a, es8.1, a, a)', iterations, ' iterations, relative error ', error, ': ', &
          merge('right', 'WRONG', error < 1d-10)
  end if
  call MPI_Finalize()
  if (.not. error < 1d-10) then
     error stop 1
  end if
end program power
