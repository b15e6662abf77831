! igraph decides the colour flow in place of the channel, with and without channels, and changes nothing
! else.
program igraph
  use engine
  implicit none
  type(events) :: e
  integer(int32) :: i
  call start()
  e = draw(2048)
  do i = 1, size(e%igraph)
    e%igraph(i) = mod(i, ndiagrams + 1)
    e%channel(i) = 1 + mod(i/5, ndiagrams)
  end do
  call begin('igraph with channels')
  call ask_once(e)
  call compare(e)
  call require(all(e%selcol == 1 .or. e%igraph /= 2), 'configuration 2 allows the first flow alone')
  call require(all(e%selcol == 2 .or. e%igraph /= 3), 'configuration 3 allows the second flow alone')
  call verdict()
  call begin('igraph without channels')
  e%channel = 0
  call ask_once(e)
  call compare(e)
  call require(all((e%selcol == 0) .eqv. (e%igraph == 0)), 'a flow is chosen where there is an igraph')
  call verdict()
  call finish()
end program igraph
