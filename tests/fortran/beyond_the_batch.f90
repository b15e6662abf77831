! Nothing is written beyond nevt events: the entries that follow keep what they had.
program beyond_the_batch
  use engine
  implicit none
  integer, parameter :: n = 100, nevt = 13
  type(events) :: e, r
  integer(int64) :: bridge
  call start()
  call begin('nothing beyond the batch')
  e = draw(n)
  e%channel = 1
  bridge = new_bridge(nevt)
  call ask(bridge, e)
  call fbridgedelete(bridge)
  r = of_reference(e)
  call compare_numbers(e%mes(:nevt), r%mes(:nevt))
  call require(.not. any(e%mes(nevt + 1:) > unset .or. e%mes(nevt + 1:) < unset), 'mes beyond nevt is as before')
  call require(all(e%selhel(nevt + 1:) == -1 .and. e%selcol(nevt + 1:) == -1), 'choices beyond nevt are as before')
  call verdict()
  call finish()
end program beyond_the_batch
