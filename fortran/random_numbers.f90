! Random numbers: P. L'Ecuyer's MRG32k3a (Operations Research 47 (1999) 159), two recurrences of
! order three whose numbers are whole and below 2**53, so that every compiler gives the same.

module random_numbers
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none
  private
  public :: seed_random, uniform

  real(real64), parameter :: m1 = 4294967087.0_real64, m2 = 4294944443.0_real64
  real(real64), save :: x(3) = 12345.0_real64, y(3) = 12345.0_real64

contains

  ! Starts the sequence that belongs to this seed.
  subroutine seed_random(seed)
    integer, intent(in) :: seed
    real(real64) :: dummy
    integer :: i
    x = 12345.0_real64 + abs(real(seed, real64))
    y = 12345.0_real64
    do i = 1, 20
      dummy = uniform()
    end do
  end subroutine seed_random

  ! The next number, in (0,1).
  function uniform() result(u)
    real(real64) :: u, p, q
    p = modulo(1403580.0_real64*x(2) - 810728.0_real64*x(1), m1)
    x = [x(2), x(3), p]
    q = modulo(527612.0_real64*y(3) - 1370589.0_real64*y(1), m2)
    y = [y(2), y(3), q]
    u = modulo(p - q, m1)
    if (u == 0.0_real64) u = m1
    u = u/(m1 + 1.0_real64)
  end function uniform

end module random_numbers
