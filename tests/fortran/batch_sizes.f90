! Batches that are no multiple of a SIMD vector, several batches through each bridge: VECSIZE changes
! neither numbers nor choices.
program batch_sizes
  use engine
  implicit none
  integer, parameter :: sizes(*) = [1, 2, 3, 5, 7, 15, 17, 31, 32, 33, 63, 100, 257, 1000]
  type(events) :: e
  integer(int64) :: bridge
  integer :: k, i
  integer(int32) :: j
  character(4) :: digits
  call start()
  do k = 1, size(sizes)
    write (digits, '(i0)') sizes(k)
    call begin('VECSIZE '//digits)
    bridge = new_bridge(sizes(k))
    do i = 1, 4
      e = draw(sizes(k))
      if (i > 1) e%channel = [(1 + mod(j + i, ndiagrams), j=1, size(e%channel))]
      call ask(bridge, e)
      call compare(e)
    end do
    call fbridgedelete(bridge)
    call verdict()
  end do
  call finish()
end program batch_sizes
