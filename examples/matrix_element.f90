! |M|^2 of one phase-space point by the Fortran interface. After `make build`:
!
!     gfortran fortran/mebridge.f90 examples/matrix_element.f90 -Ltarget/release -lmebridge -o build/matrix_element
!     export LD_LIBRARY_PATH=target/release CUDACPP_RUNTIME_PROCESS="g g > t t~"
!     build/matrix_element
!
! CUDACPP_RUNTIME_PROCESS is the process: its name, a process file, or a directory that MG5aMC wrote.
program matrix_element
  use, intrinsic :: iso_fortran_env, only: int32, int64, real64
  use mebridge
  implicit none
  integer, parameter :: legs = 4, events = 1
  real(real64), parameter :: e = 500, mass = 173, pi = acos(-1.0_real64)
  real(real64) :: momenta(0:3, legs, events), g_s(events), random(events), answer(events), p
  integer(int32) :: igraph(events), helicity(events), colour(events)
  integer(int64) :: bridge

  ! (E, px, py, pz) in GeV: beams of 500 GeV, top quarks at 90 degrees to them.
  p = sqrt(e**2 - mass**2)
  momenta(:, 1, 1) = [e, 0.0_real64, 0.0_real64, e]
  momenta(:, 2, 1) = [e, 0.0_real64, 0.0_real64, -e]
  momenta(:, 3, 1) = [e, p, 0.0_real64, 0.0_real64]
  momenta(:, 4, 1) = [e, -p, 0.0_real64, 0.0_real64]
  g_s = sqrt(4 * pi * 0.118_real64)
  random = 0.5
  igraph = 0

  call fbridgecreate(bridge, events, legs, 4)
  call fbridgesequence_nomultichannel(bridge, momenta, g_s, random, random, igraph, answer, helicity, colour, .false.)
  print '(a,f13.10)', '|M|^2 = ', answer
  call fbridgedelete(bridge)
end program matrix_element
