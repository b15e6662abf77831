! The matrix element of fortran/gg_ttx behind the arguments of fbridgesequence, so that a program can
! ask both for the same batch.

module reference
  use, intrinsic :: iso_fortran_env, only: int32, real64
  implicit none
  private
  public :: reference_start, reference_mass, reference_sequence

  include 'vector.inc'

  ! From fortran/gg_ttx: parameters, couplings, the matrix element.
  interface
    subroutine setpara(card)
      character(*), intent(in) :: card
    end subroutine setpara
    subroutine update_as_param2(mu_r2, as2, vecid)
      import :: int32, real64
      real(real64), intent(in) :: mu_r2, as2
      integer(int32), intent(in) :: vecid
    end subroutine update_as_param2
    subroutine smatrix1(p, rhel, rcol, channel, ivec, ans, ihel, icol)
      import :: int32, real64
      real(real64), intent(in) :: p(0:3, 4), rhel, rcol
      integer(int32), intent(in) :: channel, ivec
      real(real64), intent(out) :: ans
      integer(int32), intent(out) :: ihel, icol
    end subroutine smatrix1
  end interface

contains

  ! Reads the parameter card.
  subroutine reference_start(card)
    character(*), intent(in) :: card
    call setpara(card)
  end subroutine reference_start

  ! The top quark's mass.
  function reference_mass() result(mass)
    real(real64) :: mass
    real(real64) :: mdl_mt
    common /masses/ mdl_mt
    mass = mdl_mt
  end function reference_mass

  ! As fbridgesequence; a channel of 0 asks for the whole of |M|^2.
  subroutine reference_sequence(nevt, momenta, gs, rndhel, rndcol, channel, igraph, mes, selhel, selcol)
    integer(int32), intent(in) :: nevt
    real(real64), intent(in) :: momenta(0:3, 4, nevt), gs(nevt), rndhel(nevt), rndcol(nevt)
    integer(int32), intent(in) :: channel(nevt), igraph(nevt)
    real(real64), intent(out) :: mes(nevt)
    integer(int32), intent(out) :: selhel(nevt), selcol(nevt)
    real(real64), parameter :: pi = acos(-1.0_real64)
    integer(int32) :: vec_igraph(vecsize_memmax)
    common /vec_igraph/ vec_igraph
    integer(int32) :: i, ivec
    do i = 1, nevt
      ivec = 1 + mod(i - 1, vecsize_memmax)
      vec_igraph(ivec) = igraph(i)
      ! The scale itself is not used: alpha_s is given.
      call update_as_param2(0.0_real64, gs(i)**2/(4*pi), ivec)
      call smatrix1(momenta(:, :, i), rndhel(i), rndcol(i), channel(i), ivec, mes(i), selhel(i), selcol(i))
    end do
  end subroutine reference_sequence

end module reference
