! The contract of MG5aMC up to 3.6, without igraph; CUDACPP_RUNTIME_IGRAPH=no says so, unless the argument
! `keep` leaves the switch as it is.
program without_igraph
  use harness
  use mebridge_without_igraph
  implicit none
  type(events) :: e
  integer(int64) :: bridge
  character(8) :: argument
  call start()
  call get_command_argument(1, argument)
  if (argument /= 'keep') call set_switch('IGRAPH', 'no')
  e = draw(500)
  call fbridgecreate(bridge, 500_int32, npar, np4)
  call begin('contract without igraph, no channel')
  call fbridgesequence_nomultichannel(bridge, e%momenta, e%gs, e%rndhel, e%rndcol, e%mes, e%selhel, e%selcol, .false.)
  call compare(e)
  call verdict()
  call begin('contract without igraph, channel 2')
  e%channel = 2
  call forget(e)
  call fbridgesequence(bridge, e%momenta, e%gs, e%rndhel, e%rndcol, e%channel, e%mes, e%selhel, e%selcol, .false.)
  call compare(e)
  call verdict()
  call fbridgedelete(bridge)
  call finish()
end program without_igraph
