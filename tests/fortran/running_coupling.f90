! Each event has its own g_s: the same momenta at other couplings scale as g_s^4, in one batch.
program running_coupling
  use engine
  implicit none
  integer, parameter :: n = 1024
  type(events) :: e
  integer :: i
  call start()
  call begin('running coupling')
  e = draw(n)
  do i = 1, n
    e%momenta(:, :, i) = e%momenta(:, :, 1)
    e%gs(i) = 0.5_real64 + 2*real(i, real64)/n
  end do
  call ask_once(e)
  call compare(e)
  call compare_numbers(e%mes/e%gs**4, spread(e%mes(1)/e%gs(1)**4, 1, n))
  call verdict()
  call finish()
end program running_coupling
