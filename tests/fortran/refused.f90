! What must not give numbers: each case has to end in a message and a status other than 0, as a Fortran
! STOP would. The argument names the case; the runner looks at message and status. Getting through is a
! failure.
program refused
  use engine
  use, intrinsic :: ieee_arithmetic, only: ieee_quiet_nan, ieee_value
  implicit none
  type(events) :: e
  integer(int64) :: bridge
  character(40) :: what
  call start()
  call get_command_argument(1, what)
  e = draw(16)
  select case (what)
  case ('legs')
    call fbridgecreate(bridge, 16_int32, 5_int32, np4)
  case ('components')
    call fbridgecreate(bridge, 16_int32, npar, 3_int32)
  case ('no events')
    call fbridgecreate(bridge, 0_int32, npar, np4)
  case ('deleted bridge')
    bridge = new_bridge(16)
    call fbridgedelete(bridge)
    call ask(bridge, e)
  case ('channel')
    e%channel = 1
    e%channel(7) = 4
    call ask_once(e)
  case ('nan')
    e%momenta(1, 3, 7) = ieee_value(1.0_real64, ieee_quiet_nan)
    call ask_once(e)
  case default
    ! A plain call; the runner has set a switch that must not be accepted.
    call ask_once(e)
  end select
  print '(a)', 'refused: got through'
  call finish()
end program refused
