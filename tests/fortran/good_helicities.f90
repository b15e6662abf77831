! As madevent begins: the first batch finds the good helicities and answers nothing, then the same batch
! again is evaluated. All 16 configurations contribute where the top quark has a mass.
program good_helicities
  use engine
  implicit none
  type(events) :: e
  integer(int64) :: bridge
  integer(int32) :: ngood, ntotal
  call start()
  call begin('good helicities')
  e = draw(256)
  bridge = new_bridge(256)
  call fbridgesequence_nomultichannel(bridge, e%momenta, e%gs, e%rndhel, e%rndcol, e%igraph, &
                                      e%mes, e%selhel, e%selcol, .true.)
  call require(.not. any(e%mes > unset .or. e%mes < unset), 'nothing is written to mes')
  call require(all(e%selhel == -1 .and. e%selcol == -1), 'nothing is written to selhel and selcol')
  call fbridgegetngoodhel(bridge, ngood, ntotal)
  call require(ngood == 16, '16 good helicities')
  call require(ntotal == 16, '16 helicities')
  e%channel = 3
  call ask(bridge, e)
  call compare(e)
  call fbridgedelete(bridge)
  call verdict()
  call finish()
end program good_helicities
