! |M|^2 and all choices under the switches that the runner sets: SIMD levels, precisions, threads. The
! argument is the line's name.
program switches
  use engine
  implicit none
  type(events) :: e
  integer(int64) :: bridge
  character(40) :: what
  integer(int32) :: i
  call start()
  call get_command_argument(1, what)
  call begin(trim(what))
  bridge = new_bridge(1001)
  do i = 0, 3
    e = draw(1001)
    e%channel = i
    call ask(bridge, e)
    call compare(e)
  end do
  call fbridgedelete(bridge)
  call verdict()
  call finish()
end program switches
