! Phase space and scale of g g -> t tbar.
!
! Momenta are (E, px, py, pz) in GeV. In the centre-of-mass system of total energy E_cm,
!   sigma = 1/(2 E_cm^2) * integral dPhi_2 |M|^2,   dPhi_2 = beta/(8 pi) d(cos theta)/2 d(phi)/(2 pi)
! with beta the velocity of the top quarks, so that points flat in cos theta and phi have the
! weight flux_and_volume() each.

module two_body
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none
  private
  public :: flat_point, boost_along_beam, flux_and_volume, alpha_s, pi

  real(real64), parameter :: pi = acos(-1.0_real64)

contains

  ! The point that belongs to two random numbers in (0,1).
  pure subroutine flat_point(e_cm, mass, r1, r2, p)
    real(real64), intent(in) :: e_cm, mass, r1, r2
    real(real64), intent(out) :: p(0:3, 4)
    real(real64) :: e, k, c, s, phi
    e = e_cm/2
    k = sqrt((e - mass)*(e + mass))
    c = 2*r1 - 1
    s = sqrt((1 - c)*(1 + c))
    phi = 2*pi*r2
    p(:, 1) = [e, 0.0_real64, 0.0_real64, e]
    p(:, 2) = [e, 0.0_real64, 0.0_real64, -e]
    p(:, 3) = [e, k*s*cos(phi), k*s*sin(phi), k*c]
    p(0, 4) = e
    p(1:3, 4) = -p(1:3, 3)
  end subroutine flat_point

  ! Boosts all momenta along z by a rapidity.
  pure subroutine boost_along_beam(rapidity, p)
    real(real64), intent(in) :: rapidity
    real(real64), intent(inout) :: p(0:, :)
    real(real64) :: e(size(p, 2))
    e = p(0, :)
    p(0, :) = cosh(rapidity)*e + sinh(rapidity)*p(3, :)
    p(3, :) = sinh(rapidity)*e + cosh(rapidity)*p(3, :)
  end subroutine boost_along_beam

  ! What |M|^2 averaged over flat points has to be multiplied with to give the cross section in pb.
  pure function flux_and_volume(e_cm, mass) result(f)
    real(real64), intent(in) :: e_cm, mass
    real(real64) :: f
    real(real64), parameter :: gev2_to_pb = 0.3893793721e9_real64
    f = gev2_to_pb*sqrt(1 - (2*mass/e_cm)**2)/(8*pi)/(2*e_cm**2)
  end function flux_and_volume

  ! The strong coupling at one loop with five flavours, alpha_s(91.188 GeV) = 0.118.
  pure function alpha_s(scale_squared) result(a)
    real(real64), intent(in) :: scale_squared
    real(real64) :: a
    real(real64), parameter :: a0 = 0.118_real64, mz = 91.188_real64, b0 = (33 - 2*5)/(12*pi)
    a = a0/(1 + b0*a0*log(scale_squared/mz**2))
  end function alpha_s

end module two_body
