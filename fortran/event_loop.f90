! A small event loop: the cross section of g g -> t tbar at a fixed partonic energy, by the Fortran
! matrix element of fortran/gg_ttx and by the Rust engine, on the same points.
!
! There are no parton densities and no cuts. Points are flat in the angles of the top quark; each event
! has its own scale, mu^2 = m_t^2 + p_T^2, and g_s(mu). As in MadEvent, blocks of 32 events belong to one
! channel (diagram) each, |M|^2 is weighted with that channel's share, and the cross section is the sum
! over channels. `--channels no` asks for the plain |M|^2 instead.
!
! `event_loop --help` lists the options.

program event_loop
  use, intrinsic :: iso_fortran_env, only: error_unit, int32, int64, output_unit, real64
  use, intrinsic :: ieee_arithmetic, only: ieee_is_nan
  use, intrinsic :: iso_c_binding, only: c_char, c_int, c_null_char
  use mebridge
  use random_numbers
  use reference
  use two_body
  implicit none

  interface
    function c_setenv(name, value, overwrite) bind(C, name='setenv') result(status)
      import :: c_char, c_int
      character(kind=c_char), intent(in) :: name(*), value(*)
      integer(c_int), value :: overwrite
      integer(c_int) :: status
    end function c_setenv
    subroutine c_exit(status) bind(C, name='exit')
      import :: c_int
      integer(c_int), value :: status
    end subroutine c_exit
  end interface

  integer, parameter :: ndiagrams = 3, warp = 32, npar = 4
  character(*), parameter :: process_switch = 'CUDACPP_RUNTIME_PROCESS'

  ! What a cross section is made of: the sums over events of each channel.
  type :: sums
    integer(int64) :: n(ndiagrams) = 0
    real(real64) :: first(ndiagrams) = 0, second(ndiagrams) = 0
    real(real64) :: seconds = 0
  end type sums

  ! Options, with their defaults.
  integer(int64) :: events = 262144
  integer :: vecsize = 1024, seed = 1
  real(real64) :: energy = 1000
  character(16) :: engine = 'both', channels = 'yes'
  character(1024) :: process = 'fortran/gg_ttx/SubProcesses/P1_gg_ttx', card = ''

  real(real64), allocatable :: momenta(:, :, :), gs(:), rndhel(:), rndcol(:)
  integer(int32), allocatable :: channel(:), igraph(:)
  real(real64), allocatable :: mes(:, :)
  integer(int32), allocatable :: selhel(:, :), selcol(:, :)
  type(sums) :: of(2)
  logical :: uses(2)
  integer(int64) :: bridge, batch, batches, clock, helicities_differ, colours_differ
  integer(int32) :: ngoodhel, ntothel, status
  integer :: i
  real(real64) :: mass, worst, tolerance
  character(*), parameter :: names(2) = [character(7) :: 'Fortran', 'Rust']

  call read_options()
  uses = [engine /= 'rust', engine /= 'fortran']
  batches = (events + vecsize - 1)/vecsize
  events = batches*vecsize
  if (card == '') card = trim(process)//'/../../Cards/param_card.dat'
  call reference_start(trim(card))
  mass = reference_mass()
  if (energy <= 2*mass) call fail('--energy has to be more than twice the mass of the top quark')
  tolerance = tolerance_of_precision()

  allocate (momenta(0:3, npar, vecsize), gs(vecsize), rndhel(vecsize), rndcol(vecsize))
  allocate (channel(vecsize), igraph(vecsize), mes(vecsize, 2), selhel(vecsize, 2), selcol(vecsize, 2))
  igraph = 0
  write (*, '(a)') 'g g -> t tbar at a fixed partonic energy, no parton densities, no cuts'
  write (*, '(a,f0.2,a,f0.2,a)') '  E_cm ', energy, ' GeV, m_t ', mass, &
    ' GeV, mu^2 = m_t^2 + p_T^2, alpha_s(M_Z) = 0.118 at one loop'
  write (*, '(a,i0,a,i0,a,i0,a,a)') '  ', events, ' events, VECSIZE ', vecsize, ', seed ', seed, ', channels: ', trim(channels)

  if (uses(2)) then
    ! The process is the one whose Fortran this program has, unless the user says otherwise.
    status = c_setenv(process_switch//c_null_char, trim(process)//c_null_char, 0_c_int)
    call fbridgecreate(bridge, int(vecsize, int32), int(npar, int32), 4_int32)
  end if
  call seed_random(seed)
  worst = 0
  helicities_differ = 0
  colours_differ = 0
  do batch = 1, batches
    call draw(batch)
    if (uses(1)) then
      clock = now()
      call reference_sequence(int(vecsize, int32), momenta, gs, rndhel, rndcol, channel, igraph, &
                              mes(:, 1), selhel(:, 1), selcol(:, 1))
      call add(of(1), mes(:, 1), clock)
    end if
    if (uses(2)) then
      if (batch == 1) then
        ! As MadEvent does: the first batch finds the good helicities, and is then evaluated.
        call fbridgesequence_nomultichannel(bridge, momenta, gs, rndhel, rndcol, igraph, &
                                            mes(:, 2), selhel(:, 2), selcol(:, 2), .true.)
        call fbridgegetngoodhel(bridge, ngoodhel, ntothel)
      end if
      clock = now()
      if (channels == 'yes') then
        call fbridgesequence(bridge, momenta, gs, rndhel, rndcol, channel, igraph, &
                             mes(:, 2), selhel(:, 2), selcol(:, 2), .false.)
      else
        call fbridgesequence_nomultichannel(bridge, momenta, gs, rndhel, rndcol, igraph, &
                                            mes(:, 2), selhel(:, 2), selcol(:, 2), .false.)
      end if
      call add(of(2), mes(:, 2), clock)
    end if
    if (all(uses)) then
      do i = 1, vecsize
        ! Written so that a NaN counts as the worst difference.
        if (.not. abs(mes(i, 2) - mes(i, 1)) <= worst*abs(mes(i, 1))) worst = abs(mes(i, 2)/mes(i, 1) - 1)
        if (ieee_is_nan(worst)) worst = huge(worst)
      end do
      helicities_differ = helicities_differ + count(selhel(:, 1) /= selhel(:, 2))
      colours_differ = colours_differ + count(selcol(:, 1) /= selcol(:, 2))
    end if
  end do
  if (uses(2)) then
    call fbridgedelete(bridge)
    write (*, '(a,i0,a,i0)') '  good helicities ', ngoodhel, ' of ', ntothel
  end if

  write (*, '(/,a)') '              cross section (pb)        error   matrix elements/s'
  do i = 1, 2
    if (uses(i)) call print_sums(names(i), of(i))
  end do
  if (all(uses)) then
    write (*, '(/,a,es9.2,a,es8.1)') 'largest relative difference over all points ', worst, ', tolerance ', tolerance
    write (*, '(a,i0,a,i0,a)') 'helicity choices that differ ', helicities_differ, ' of ', events
    write (*, '(a,i0,a,i0,a)') 'colour choices that differ   ', colours_differ, ' of ', events
    write (*, '(a,f0.2)') 'matrix elements per second, Rust over Fortran: ', of(1)%seconds/of(2)%seconds
    ! Below double precision a random number may lie nearer to an edge than the tolerance.
    if (worst > tolerance .or. helicities_differ + colours_differ > 4*tolerance*real(events, real64)) then
      write (error_unit, '(a)') 'event_loop: the two matrix elements do not agree'
      call leave(1)
    end if
    write (*, '(a)') 'the two matrix elements agree'
  end if

contains

  ! The events of one batch; the random numbers do not depend on vecsize or engine.
  subroutine draw(batch)
    integer(int64), intent(in) :: batch
    integer(int64) :: event
    integer :: i
    real(real64) :: r1, pt2
    do i = 1, vecsize
      event = (batch - 1)*vecsize + i - 1
      r1 = uniform()
      call flat_point(energy, mass, r1, uniform(), momenta(:, :, i))
      pt2 = momenta(1, 3, i)**2 + momenta(2, 3, i)**2
      gs(i) = sqrt(4*pi*alpha_s(mass**2 + pt2))
      rndhel(i) = uniform()
      rndcol(i) = uniform()
      channel(i) = 0
      if (channels == 'yes') channel(i) = 1 + int(mod(event/warp, int(ndiagrams, int64)), int32)
    end do
  end subroutine draw

  ! Adds a batch, and the time since `clock`.
  subroutine add(s, values, clock)
    type(sums), intent(inout) :: s
    real(real64), intent(in) :: values(:)
    integer(int64), intent(in) :: clock
    integer(int64) :: rate
    integer :: i, c
    call system_clock(count_rate=rate)
    s%seconds = s%seconds + real(now() - clock, real64)/real(rate, real64)
    do i = 1, size(values)
      c = max(channel(i), 1)
      s%n(c) = s%n(c) + 1
      s%first(c) = s%first(c) + values(i)
      s%second(c) = s%second(c) + values(i)**2
    end do
  end subroutine add

  ! The sum over channels of each channel's mean, and its error.
  subroutine print_sums(name, s)
    character(*), intent(in) :: name
    type(sums), intent(in) :: s
    real(real64) :: mean, total, variance, f
    integer :: c
    f = flux_and_volume(energy, mass)
    total = 0
    variance = 0
    do c = 1, ndiagrams
      if (s%n(c) == 0) cycle
      mean = s%first(c)/s%n(c)
      total = total + mean
      variance = variance + max(s%second(c)/s%n(c) - mean**2, 0.0_real64)/s%n(c)
    end do
    write (*, '(2x,a,4x,es24.16,es13.2,es16.3)') name, f*total, f*sqrt(variance), real(events, real64)/s%seconds
  end subroutine print_sums

  ! How far the two may differ in the precision of the engine.
  function tolerance_of_precision() result(t)
    real(real64) :: t
    character(8) :: fptype
    call get_environment_variable('CUDACPP_RUNTIME_FPTYPE', fptype)
    select case (fptype)
    case ('m', 'M'); t = 1e-5_real64
    case ('f', 'F'); t = 2e-3_real64
    case default; t = 1e-12_real64
    end select
  end function tolerance_of_precision

  function now() result(ticks)
    integer(int64) :: ticks
    call system_clock(ticks)
  end function now

  subroutine read_options()
    character(1024) :: name, value
    integer :: i, ios, length
    i = 1
    do while (i <= command_argument_count())
      call get_command_argument(i, name)
      if (name == '--help') call help()
      if (i == command_argument_count()) call fail('option '//trim(name)//' needs a value; see --help')
      call get_command_argument(i + 1, value, length)
      if (length > len(value)) call fail('the value of '//trim(name)//' is too long')
      ios = 0
      select case (name)
      case ('--events'); read (value, *, iostat=ios) events
      case ('--vecsize'); read (value, *, iostat=ios) vecsize
      case ('--energy'); read (value, *, iostat=ios) energy
      case ('--seed'); read (value, *, iostat=ios) seed
      case ('--engine'); engine = value(:16)
      case ('--channels'); channels = value(:16)
      case ('--process'); process = value
      case ('--card'); card = value
      case default; call fail('unknown option '//trim(name)//'; see --help')
      end select
      if (ios /= 0) call fail(trim(value)//' is not a number that '//trim(name)//' can take')
      i = i + 2
    end do
    if (vecsize < 1) call fail('--vecsize has to be at least 1')
    if (.not. any(engine == [character(16) :: 'fortran', 'rust', 'both'])) &
      call fail('--engine has to be fortran, rust or both')
    if (.not. any(channels == [character(16) :: 'yes', 'no'])) call fail('--channels has to be yes or no')
    if (events < warp*ndiagrams) call fail('--events has to be at least 96, 32 for each channel')
  end subroutine read_options

  subroutine help()
    write (*, '(a)') 'event_loop: the cross section of g g -> t tbar in Fortran and in Rust', &
      '  --events N      events, rounded up to whole batches (262144)', &
      '  --vecsize N     events of a batch (1024)', &
      '  --energy GEV    partonic centre-of-mass energy (1000)', &
      '  --seed N        of the random numbers (1)', &
      '  --engine NAME   fortran, rust or both (both)', &
      '  --channels A    yes or no: weight each event with its channel''s share (yes)', &
      '  --process DIR   P directory of the process (fortran/gg_ttx/SubProcesses/P1_gg_ttx)', &
      '  --card FILE     parameter card (DIR/../../Cards/param_card.dat)', &
      'The CUDACPP_RUNTIME_* switches choose SIMD level, precision, threads of the Rust engine.'
    call leave(0)
  end subroutine help

  subroutine fail(message)
    character(*), intent(in) :: message
    write (error_unit, '(2a)') 'event_loop: ', message
    call leave(2)
  end subroutine fail

  subroutine leave(status)
    integer, intent(in) :: status
    flush (output_unit)
    flush (error_unit)
    call c_exit(int(status, c_int))
  end subroutine leave

end program event_loop
