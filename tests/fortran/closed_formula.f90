! Both engines against the closed formula for a stable top quark (R. K. Ellis, W. J. Stirling,
! B. R. Webber, QCD and Collider Physics, section 10.1):
!   |M|^2 = g^4 (1/(6 t1 t2) - 3/8) (t1^2 + t2^2 + rho - rho^2/(4 t1 t2)),
! t1 = 2 p1.p3/s, t2 = 2 p2.p3/s, rho = 4 m^2/s. Another card, given by CUDACPP_RUNTIME_PARAMCARD,
! has no width and another mass.
program closed_formula
  use engine
  implicit none
  type(events) :: e, r
  character(1024) :: here
  call start()
  call get_environment_variable('MEBRIDGE_TESTS', here)
  call set_switch('PARAMCARD', trim(here)//'/zero_width_card.dat')
  call reference_start(trim(here)//'/zero_width_card.dat')
  e = draw(2048)
  call begin('closed formula, Fortran')
  r = of_reference(e)
  call compare_numbers(r%mes, formula(e))
  call verdict(1e-11_real64)
  call begin('closed formula, Rust')
  call ask_once(e)
  call compare_numbers(e%mes, formula(e))
  call verdict(max(tolerance(), 1e-11_real64))
  call begin('another parameter card')
  call compare(e)
  call verdict()
  call finish()

contains

  pure function dot(a, b) result(ab)
    real(real64), intent(in) :: a(0:3), b(0:3)
    real(real64) :: ab
    ab = a(0)*b(0) - a(1)*b(1) - a(2)*b(2) - a(3)*b(3)
  end function dot

  pure function formula(e) result(m2)
    type(events), intent(in) :: e
    real(real64) :: m2(size(e%gs)), s, t1, t2, rho
    integer :: i
    do i = 1, size(m2)
      associate (p => e%momenta(:, :, i))
        s = 2*dot(p(:, 1), p(:, 2))
        t1 = 2*dot(p(:, 1), p(:, 3))/s
        t2 = 2*dot(p(:, 2), p(:, 3))/s
        rho = 4*150.0_real64**2/s
      end associate
      m2(i) = e%gs(i)**4*(1/(6*t1*t2) - 0.375_real64)*(t1**2 + t2**2 + rho - rho**2/(4*t1*t2))
    end do
  end function formula

end program closed_formula
