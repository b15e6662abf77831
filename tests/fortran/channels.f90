! The share of each channel, all events in one channel and each event in its own.
program channels
  use engine
  implicit none
  type(events) :: e
  integer(int32) :: c
  character(1) :: digit
  call start()
  e = draw(2048)
  do c = 1, ndiagrams
    write (digit, '(i1)') c
    call begin('channel '//digit)
    e%channel = c
    call ask_once(e)
    call compare(e)
    call verdict()
  end do
  call begin('a channel for each event')
  do c = 1, size(e%channel)
    e%channel(c) = 1 + mod(5*c + c/7, ndiagrams)
  end do
  call ask_once(e)
  call compare(e)
  call verdict()
  call finish()
end program channels
