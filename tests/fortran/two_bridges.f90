! Two bridges of different sizes at once, asked in turn, and one that lives on after the other.
program two_bridges
  use engine
  implicit none
  type(events) :: a, b
  integer(int64) :: first, second
  integer :: i
  call start()
  call begin('two bridges')
  first = new_bridge(64)
  second = new_bridge(37)
  call require(first /= second, 'the handles differ')
  do i = 1, 8
    a = draw(64)
    b = draw(37)
    a%channel = 2
    call ask(first, a)
    call ask(second, b)
    call compare(a)
    call compare(b)
  end do
  call fbridgedelete(first)
  b = draw(37)
  call ask(second, b)
  call compare(b)
  call fbridgedelete(second)
  call verdict()
  call finish()
end program two_bridges
