! The colour flow: both are chosen in channel 1; channels 2 and 3 allow one each; none without channels.
program colour_choice
  use engine
  implicit none
  integer, parameter :: n = 1536
  type(events) :: e
  integer(int32) :: i
  call start()
  call begin('colour choice')
  e = draw(n)
  do i = 1, n
    e%channel(i) = 1 + mod(i, ndiagrams)
    e%rndcol(i) = (i - 0.5_real64)/n
  end do
  e%rndcol(1) = 0
  e%rndcol(n) = nearest(1.0_real64, -1.0_real64)
  call ask_once(e)
  call compare(e)
  call require(any(e%selcol == 1 .and. e%channel == 1) .and. any(e%selcol == 2 .and. e%channel == 1), &
               'both flows are chosen in channel 1')
  call require(all(e%selcol == e%channel - 1 .or. e%channel == 1), 'channels 2 and 3 allow one flow each')
  e%channel = 0
  call ask_once(e)
  call compare(e)
  call require(all(e%selcol == 0), 'no flow is chosen without a channel')
  call verdict()
  call finish()
end program colour_choice
