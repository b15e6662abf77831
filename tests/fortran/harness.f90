! What the comparisons share: batches of events, the reference, one line for each comparison.
!
! A comparison prints
!   name                      points   worst relative difference   tolerance   verdict
! and `finish` ends the program with a status other than 0 if one of them failed. The tolerance follows
! the precision of the engine, CUDACPP_RUNTIME_FPTYPE. Helicity and colour choices have to
! be equal in double precision; in mixed and single precision a random number may lie nearer to an edge
! than the tolerance, and as many choices may differ as that explains.

module harness
  use, intrinsic :: ieee_arithmetic, only: ieee_is_nan
  use, intrinsic :: iso_c_binding, only: c_char, c_int, c_null_char
  use, intrinsic :: iso_fortran_env, only: int32, int64, output_unit, real64
  use random_numbers
  use reference
  use two_body
  implicit none
  public

  ! One batch: what goes in, and the answers of one engine.
  type :: events
    real(real64), allocatable :: momenta(:, :, :), gs(:), rndhel(:), rndcol(:)
    integer(int32), allocatable :: channel(:), igraph(:)
    real(real64), allocatable :: mes(:)
    integer(int32), allocatable :: selhel(:), selcol(:)
  end type events

  integer(int32), parameter :: npar = 4, np4 = 4, ndiagrams = 3
  real(real64), parameter :: unset = -1.0_real64

  character(40), private :: name
  integer, private :: points = 0, choices_differ = 0, failures = 0
  real(real64), private :: worst = 0

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

contains

  ! Reads the card of fortran/gg_ttx, starts the random numbers.
  subroutine start()
    character(1024) :: here
    call get_environment_variable('MEBRIDGE_TESTS', here)
    if (here == '') then
      print '(a)', 'MEBRIDGE_TESTS has to name the directory tests/fortran; use `make test-fortran`'
      call c_exit(2_c_int)
    end if
    call reference_start(trim(here)//'/../../fortran/gg_ttx/Cards/param_card.dat')
    call seed_random(20250601)
  end subroutine start

  ! Sets a switch for bridges that are made from now on.
  subroutine set_switch(switch, value)
    character(*), intent(in) :: switch, value
    if (c_setenv('CUDACPP_RUNTIME_'//switch//c_null_char, value//c_null_char, 1_c_int) /= 0) call c_exit(2_c_int)
  end subroutine set_switch

  ! n events: energies from threshold to 3 TeV, half of them boosted along the beam, a g_s of their own.
  function draw(n) result(e)
    integer, intent(in) :: n
    type(events) :: e
    integer :: i
    real(real64) :: e_cm, r1
    allocate (e%momenta(0:3, npar, n), e%gs(n), e%rndhel(n), e%rndcol(n), e%channel(n), e%igraph(n))
    allocate (e%mes(n), e%selhel(n), e%selcol(n))
    do i = 1, n
      e_cm = 2*reference_mass()*1.02_real64*8.0_real64**uniform()
      r1 = uniform()
      call flat_point(e_cm, reference_mass(), r1, uniform(), e%momenta(:, :, i))
      if (mod(i, 2) == 0) call boost_along_beam(3*(uniform() - 0.5_real64), e%momenta(:, :, i))
      e%gs(i) = 0.9_real64 + 0.5_real64*uniform()
      e%rndhel(i) = uniform()
      e%rndcol(i) = uniform()
    end do
    e%channel = 0
    e%igraph = 0
    call forget(e)
  end function draw

  ! Takes back the answers, so that what an engine did not write is seen.
  subroutine forget(e)
    type(events), intent(inout) :: e
    e%mes = unset
    e%selhel = -1
    e%selcol = -1
  end subroutine forget

  ! The answers of the Fortran matrix element.
  function of_reference(e) result(r)
    type(events), intent(in) :: e
    type(events) :: r
    r = e
    call forget(r)
    call reference_sequence(int(size(e%gs), int32), e%momenta, e%gs, e%rndhel, e%rndcol, e%channel, e%igraph, &
                            r%mes, r%selhel, r%selcol)
  end function of_reference

  ! Begins a comparison.
  subroutine begin(what)
    character(*), intent(in) :: what
    name = what
    points = 0
    choices_differ = 0
    worst = 0
  end subroutine begin

  ! Compares the answers of the engine with the reference's.
  subroutine compare(e)
    type(events), intent(in) :: e
    type(events) :: r
    r = of_reference(e)
    call compare_numbers(e%mes, r%mes)
    choices_differ = choices_differ + count(e%selhel /= r%selhel) + count(e%selcol /= r%selcol)
  end subroutine compare

  ! Compares numbers alone. One that is not a number differs by infinity.
  subroutine compare_numbers(has, needs)
    real(real64), intent(in) :: has(:), needs(:)
    real(real64) :: d
    integer :: i
    do i = 1, size(has)
      d = abs(has(i) - needs(i))
      if (d /= 0) d = d/abs(needs(i))
      if (ieee_is_nan(d)) d = huge(d)
      worst = max(worst, d)
    end do
    points = points + size(has)
  end subroutine compare_numbers

  ! Something other than a number that has to hold, such as two integers being equal.
  subroutine require(holds, what)
    logical, intent(in) :: holds
    character(*), intent(in) :: what
    if (holds) return
    print '(4a)', '  ', trim(name), ' does not hold: ', what
    choices_differ = huge(choices_differ)/2
  end subroutine require

  ! Ends a comparison: its line. `tolerance_is` replaces that of the precision.
  subroutine verdict(tolerance_is)
    real(real64), intent(in), optional :: tolerance_is
    real(real64) :: t
    logical :: good
    t = tolerance()
    if (present(tolerance_is)) t = tolerance_is
    good = points > 0 .and. worst <= t .and. choices_differ <= allowed()
    if (.not. good) failures = failures + 1
    if (good) then
      print '(a40,i9,2es10.1,2x,a)', name, points, worst, t, 'pass'
    else if (worst <= t) then
      print '(a40,i9,2es10.1,2x,a,i0)', name, points, worst, t, 'FAIL, choices that differ: ', choices_differ
    else
      print '(a40,i9,2es10.1,2x,a)', name, points, worst, t, 'FAIL'
    end if
  end subroutine verdict

  ! Ends the program.
  subroutine finish()
    flush (output_unit)
    call c_exit(int(min(failures, 1), c_int))
  end subroutine finish

  ! Relative tolerance of the engine's precision.
  function tolerance() result(t)
    real(real64) :: t
    select case (precision_letter())
    case ('m'); t = 1e-5_real64
    case ('f'); t = 2e-3_real64
    case default; t = 1e-12_real64
    end select
  end function tolerance

  ! How many choices may differ: none in double precision; else what single-precision rounding of a
  ! running sum explains, with a few to spare.
  function allowed() result(n)
    integer :: n
    n = 0
    if (precision_letter() /= 'd') n = 2 + int(1e-4_real64*points)
  end function allowed

  function precision_letter() result(c)
    character(1) :: c
    character(8) :: fptype
    call get_environment_variable('CUDACPP_RUNTIME_FPTYPE', fptype)
    c = 'd'
    if (fptype == 'm' .or. fptype == 'f') c = fptype(1:1)
  end function precision_letter

end module harness
