! Explicit interfaces of mebridge's Fortran symbols, for programs that are linked with -lmebridge.
!
! A bridge evaluates the squared matrix element of one process for batches of nevt events:
!
!   use mebridge
!   integer(int64) :: bridge
!   call fbridgecreate(bridge, nevt, npar, 4)
!   call fbridgesequence(bridge, momenta, gs, rndhel, rndcol, channel, igraph, mes, selhel, selcol, .false.)
!   call fbridgedelete(bridge)
!
! The contract has two generations. MG5aMC 3.7 and later pass igraph: use module mebridge.
! MG5aMC up to 3.6 do not: use module mebridge_without_igraph. The symbol is the same, so the library
! has to know which of them calls: it goes by the process, and CUDACPP_RUNTIME_IGRAPH=yes or =no
! decides where the process does not say (docs/abi.md).
!
! Arguments, all by reference:
!
!   bridge       handle of a bridge, set by fbridgecreate
!   nevt         events in each batch
!   npar, np4    external legs of the process; 4. For a check only
!   momenta      (0:3, npar, nevt): E, px, py, pz in GeV, incoming legs first
!   gs           (nevt): the strong coupling g_s (not alpha_s) at each event's scale
!   rndhel       (nevt): random number in [0,1) that chooses the helicity configuration
!   rndcol       (nevt): random number in [0,1) that chooses the colour flow
!   channel      (nevt): diagram, from 1, whose share of |M|^2 is requested
!   igraph       (nevt): configuration, from 1, that decides the colour flow in place of the
!                channel's; 0 for none
!   mes          (nevt), out: |M|^2, or the channel's share of it
!   selhel       (nevt), out: the helicity configuration, from 1, in the process's order
!   selcol       (nevt), out: the colour flow, from 1; 0 where neither channel nor igraph is given
!   goodhelonly  true: only find the good helicities, whatever this batch holds; nothing is written to
!                mes, selhel, selcol
!
! An error cannot be handed back by these calls: the library prints a message to standard error and
! ends the program with a status other than 0.

module mebridge_common
  use, intrinsic :: iso_fortran_env, only: int32, int64, real64
  implicit none
  public

  interface
    ! Makes a bridge. The process is found as docs/abi.md says; its parameters are read here.
    subroutine fbridgecreate(bridge, nevt, npar, np4)
      import :: int32, int64
      integer(int64), intent(out) :: bridge
      integer(int32), intent(in) :: nevt, npar, np4
    end subroutine fbridgecreate

    ! Gives back everything that a bridge holds.
    subroutine fbridgedelete(bridge)
      import :: int64
      integer(int64), intent(inout) :: bridge
    end subroutine fbridgedelete

    ! How many helicity configurations were found to contribute, and how many there are.
    subroutine fbridgegetngoodhel(bridge, ngoodhel, ntothel)
      import :: int32, int64
      integer(int64), intent(in) :: bridge
      integer(int32), intent(out) :: ngoodhel, ntothel
    end subroutine fbridgegetngoodhel

    ! What weights the channels from the next call on, as sde_strategy of MadEvent: 1, squared diagrams, as a new
    ! bridge has it; 2, products of propagators. s is the square of the energy of the beams in GeV^2, for 2 alone.
    subroutine mebridge_set_sde_strategy(bridge, strategy, s)
      import :: int32, int64, real64
      integer(int64), intent(in) :: bridge
      integer(int32), intent(in) :: strategy
      real(real64), intent(in) :: s
    end subroutine mebridge_set_sde_strategy
  end interface
end module mebridge_common

! The contract of MG5aMC 3.7 and later.
module mebridge
  use mebridge_common
  implicit none
  public

  interface
    ! Evaluates a batch, each event in its channel.
    subroutine fbridgesequence(bridge, momenta, gs, rndhel, rndcol, channel, igraph, mes, selhel, selcol, goodhelonly)
      import :: int32, int64, real64
      integer(int64), intent(in) :: bridge
      real(real64), intent(in) :: momenta(*), gs(*), rndhel(*), rndcol(*)
      integer(int32), intent(in) :: channel(*), igraph(*)
      real(real64), intent(inout) :: mes(*)
      integer(int32), intent(inout) :: selhel(*), selcol(*)
      logical, intent(in) :: goodhelonly
    end subroutine fbridgesequence

    ! The same without channels: mes is the whole of |M|^2.
    subroutine fbridgesequence_nomultichannel(bridge, momenta, gs, rndhel, rndcol, igraph, mes, selhel, selcol, goodhelonly)
      import :: int32, int64, real64
      integer(int64), intent(in) :: bridge
      real(real64), intent(in) :: momenta(*), gs(*), rndhel(*), rndcol(*)
      integer(int32), intent(in) :: igraph(*)
      real(real64), intent(inout) :: mes(*)
      integer(int32), intent(inout) :: selhel(*), selcol(*)
      logical, intent(in) :: goodhelonly
    end subroutine fbridgesequence_nomultichannel
  end interface
end module mebridge

! The contract of MG5aMC up to 3.6.
module mebridge_without_igraph
  use mebridge_common
  implicit none
  public

  interface
    ! Evaluates a batch, each event in its channel.
    subroutine fbridgesequence(bridge, momenta, gs, rndhel, rndcol, channel, mes, selhel, selcol, goodhelonly)
      import :: int32, int64, real64
      integer(int64), intent(in) :: bridge
      real(real64), intent(in) :: momenta(*), gs(*), rndhel(*), rndcol(*)
      integer(int32), intent(in) :: channel(*)
      real(real64), intent(inout) :: mes(*)
      integer(int32), intent(inout) :: selhel(*), selcol(*)
      logical, intent(in) :: goodhelonly
    end subroutine fbridgesequence

    ! The same without channels: mes is the whole of |M|^2.
    subroutine fbridgesequence_nomultichannel(bridge, momenta, gs, rndhel, rndcol, mes, selhel, selcol, goodhelonly)
      import :: int32, int64, real64
      integer(int64), intent(in) :: bridge
      real(real64), intent(in) :: momenta(*), gs(*), rndhel(*), rndcol(*)
      real(real64), intent(inout) :: mes(*)
      integer(int32), intent(inout) :: selhel(*), selcol(*)
      logical, intent(in) :: goodhelonly
    end subroutine fbridgesequence_nomultichannel
  end interface
end module mebridge_without_igraph
