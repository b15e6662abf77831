! Every helicity configuration gets chosen: random numbers in the middle of each one's share, and at
! both ends of the range.
program helicity_choice
  use engine
  implicit none
  integer, parameter :: n = 2048
  type(events) :: e
  integer :: i
  call start()
  call begin('helicity choice')
  e = draw(n)
  do i = 1, n
    e%rndhel(i) = (i - 0.5_real64)/n
  end do
  e%rndhel(1) = 0
  e%rndhel(n) = nearest(1.0_real64, -1.0_real64)
  call ask_once(e)
  call compare(e)
  call require(all([(any(e%selhel == i), i=1, 16)]), 'each of 16 configurations is chosen at least once')
  call verdict()
  call finish()
end program helicity_choice
