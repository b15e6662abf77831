! |M|^2 without channels, and the helicity choice.
program no_channel
  use engine
  implicit none
  type(events) :: e
  call start()
  call begin('no channel')
  e = draw(4096)
  call ask_once(e)
  call compare(e)
  call verdict()
  call finish()
end program no_channel
