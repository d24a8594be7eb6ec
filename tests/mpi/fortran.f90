! SPDX-License-Identifier: BSD-3-Clause
!
! Collectives as Fortran programs call them: `use mpi`, Fortran's types and logical values, MPI_IN_PLACE of Fortran,
! nonblocking calls, types with gaps, an operation of the program's. Every result is checked; rank 0 prints TAP.

module rows
  use mpi
  implicit none
  integer :: rank, ranks, row = 0
contains
  ! ok: whether this rank's result is right
  subroutine check(text, ok)
    character(*), intent(in) :: text
    logical, intent(in) :: ok
    integer :: wrong, all_wrong, ierror

    wrong = merge(0, 1, ok)
    call MPI_Reduce(wrong, all_wrong, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, ierror)
    row = row + 1
    if (rank == 0) then
       print '(a, i0, a, a)', trim(merge('ok    ', 'not ok', all_wrong == 0)) // ' ', row, ' - ', text
    end if
  end subroutine check

  ! An operation of the program's: the sum modulo 1000.
  subroutine add_modulo(in, inout, length, datatype)
    integer, intent(in) :: length, datatype
    integer, intent(in) :: in(length)
    integer, intent(inout) :: inout(length)

    if (datatype == MPI_INTEGER) then
       inout = mod(in + inout, 1000)
    end if
  end subroutine add_modulo
end module rows

program fortran
  use rows
  implicit none
  integer, parameter :: n = 3000, dp = kind(1d0), long = selected_int_kind(18)
  integer :: ierror, i, request, op, column, sum_of_ranks
  integer :: numbers(n), got(n), location(2, n)
  integer(long) :: longs(n)
  real :: reals(n)
  real(dp) :: doubles(n), grid(10, n)
  complex :: c(n)
  complex(dp) :: z(n), z_got(n)
  logical :: truths(n), expected(n)
  character(8) :: word
  integer, allocatable :: all(:), from_all(:), counts(:)

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  sum_of_ranks = ranks * (ranks + 1) / 2
  allocate(all(n * ranks), from_all(n * ranks), counts(ranks))

  numbers = [(i * (rank + 1), i = 1, n)]
  call MPI_Allreduce(numbers, got, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
  call check('MPI_INTEGER, sum', all_equal(got, [(i * sum_of_ranks, i = 1, n)]))
  call MPI_Allreduce(MPI_IN_PLACE, numbers, n, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, ierror)
  call check('MPI_INTEGER, largest, in place', all_equal(numbers, [(i * ranks, i = 1, n)]))

  longs = [(i * (rank + 1_long) * 2_long**32, i = 1, n)]
  call MPI_Allreduce(MPI_IN_PLACE, longs, n, MPI_INTEGER8, MPI_SUM, MPI_COMM_WORLD, ierror)
  call check('MPI_INTEGER8, sum', .not. any(longs /= [(i * sum_of_ranks * 2_long**32, i = 1, n)]))

  reals = [(real(i * (rank + 1)), i = 1, n)]
  call MPI_Allreduce(MPI_IN_PLACE, reals, n, MPI_REAL, MPI_SUM, MPI_COMM_WORLD, ierror)
  call check('MPI_REAL, sum', .not. any(reals /= [(real(i * sum_of_ranks), i = 1, n)]))

  doubles = [(real(mod(i, 3) * (rank + 1), dp), i = 1, n)]
  call MPI_Allreduce(MPI_IN_PLACE, doubles, n, MPI_DOUBLE_PRECISION, MPI_MIN, MPI_COMM_WORLD, ierror)
  call check('MPI_DOUBLE_PRECISION, smallest', .not. any(doubles /= [(real(mod(i, 3), dp), i = 1, n)]))

  c = [(cmplx(i, -rank), i = 1, n)]
  call MPI_Allreduce(MPI_IN_PLACE, c, n, MPI_COMPLEX, MPI_SUM, MPI_COMM_WORLD, ierror)
  call check('MPI_COMPLEX, sum', .not. any(c /= [(cmplx(i * ranks, ranks - sum_of_ranks), i = 1, n)]))

  ! i to the power of the number of ranks, on all
  z = (0d0, 1d0)
  call MPI_Allreduce(z, z_got, n, MPI_DOUBLE_COMPLEX, MPI_PROD, MPI_COMM_WORLD, ierror)
  call check('MPI_DOUBLE_COMPLEX, product', .not. any(z_got /= (0d0, 1d0)**ranks))

  truths = [(mod(i, ranks) == rank, i = 1, n)]
  call MPI_Allreduce(MPI_IN_PLACE, truths, n, MPI_LOGICAL, MPI_LOR, MPI_COMM_WORLD, ierror)
  call check('MPI_LOGICAL, or', count(truths) == n)
  truths = [(mod(i, ranks + 1) /= rank, i = 1, n)]
  expected = [(mod(i, ranks + 1) == ranks, i = 1, n)]
  call MPI_Allreduce(MPI_IN_PLACE, truths, n, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD, ierror)
  call check('MPI_LOGICAL, and', .not. any(truths .neqv. expected))

  do i = 1, n
     location(:, i) = [mod(rank + i, ranks), rank]
  end do
  call MPI_Allreduce(MPI_IN_PLACE, location, n, MPI_2INTEGER, MPI_MAXLOC, MPI_COMM_WORLD, ierror)
  call check('MPI_2INTEGER, largest and where', &
       all_equal(location(1, :), [(ranks - 1, i = 1, n)]) .and. &
       all_equal(location(2, :), [(modulo(ranks - 1 - i, ranks), i = 1, n)]))

  word = merge('from 0  ', 'nothing ', rank == 0)
  call MPI_Bcast(word, len(word), MPI_CHARACTER, 0, MPI_COMM_WORLD, ierror)
  call check('MPI_CHARACTER, bcast', word == 'from 0')

  numbers = rank
  if (rank == ranks - 1) then
     call MPI_Reduce(MPI_IN_PLACE, numbers, n, MPI_INTEGER, MPI_SUM, ranks - 1, MPI_COMM_WORLD, ierror)
  else
     call MPI_Reduce(numbers, got, n, MPI_INTEGER, MPI_SUM, ranks - 1, MPI_COMM_WORLD, ierror)
  end if
  call check('MPI_Reduce, in place at the root', &
       all_equal(numbers, [(merge(sum_of_ranks - ranks, rank, rank == ranks - 1), i = 1, n)]))

  all = -1
  all(n * rank + 1:n * (rank + 1)) = rank
  call MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, n, MPI_INTEGER, MPI_COMM_WORLD, ierror)
  call check('MPI_Allgather, in place', all_equal(all, [((i - 1) / n, i = 1, n * ranks)]))

  counts = n
  all = [(i, i = 1, n * ranks)]
  call MPI_Reduce_scatter(MPI_IN_PLACE, all, counts, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
  call check('MPI_Reduce_scatter, in place', all_equal(all(:n), [((rank * n + i) * ranks, i = 1, n)]))

  all = rank
  call MPI_Alltoall(all, n, MPI_INTEGER, from_all, n, MPI_INTEGER, MPI_COMM_WORLD, ierror)
  call check('MPI_Alltoall', all_equal(from_all, [((i - 1) / n, i = 1, n * ranks)]))

  numbers = rank + 1
  call MPI_Iallreduce(MPI_IN_PLACE, numbers, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request, ierror)
  call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
  call check('MPI_Iallreduce, in place', all_equal(numbers, [(sum_of_ranks, i = 1, n)]))

  ! a row of a matrix: elements that are 10 apart
  call MPI_Type_vector(n, 1, 10, MPI_DOUBLE_PRECISION, column, ierror)
  call MPI_Type_commit(column, ierror)
  grid = -1
  if (rank == 0) then
     grid(3, :) = [(real(i, dp), i = 1, n)]
  end if
  call MPI_Bcast(grid(3, 1), 1, column, 0, MPI_COMM_WORLD, ierror)
  call check('a row of a matrix, bcast', .not. any(grid(3, :) /= [(real(i, dp), i = 1, n)]) &
       .and. .not. any(grid([1, 2, 4, 10], :) /= -1))
  call MPI_Type_free(column, ierror)

  call MPI_Op_create(add_modulo, .true., op, ierror)
  numbers = 600
  call MPI_Allreduce(MPI_IN_PLACE, numbers, n, MPI_INTEGER, op, MPI_COMM_WORLD, ierror)
  call check('an operation of the program''s', all_equal(numbers, [(mod(600 * ranks, 1000), i = 1, n)]))
  call MPI_Op_free(op, ierror)

  if (rank == 0) then
     print '(a, i0)', '1..', row
  end if
  call MPI_Finalize(ierror)

contains
  logical function all_equal(a, b)
    integer, intent(in) :: a(:), b(:)

    all_equal = .not. any(a /= b)
  end function all_equal
end program fortran
