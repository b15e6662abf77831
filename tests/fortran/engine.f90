! The Rust engine behind the harness's batches, in the generation of the contract with igraph.

module engine
  use, intrinsic :: iso_fortran_env, only: int32, int64
  use harness
  use mebridge
  implicit none
  public

contains

  ! A bridge for batches of n events.
  function new_bridge(n) result(bridge)
    integer, intent(in) :: n
    integer(int64) :: bridge
    call fbridgecreate(bridge, int(n, int32), npar, np4)
  end function new_bridge

  ! The answers of a bridge; without channels where all of them are 0.
  subroutine ask(bridge, e)
    integer(int64), intent(in) :: bridge
    type(events), intent(inout) :: e
    call forget(e)
    if (all(e%channel == 0)) then
      call fbridgesequence_nomultichannel(bridge, e%momenta, e%gs, e%rndhel, e%rndcol, e%igraph, &
                                          e%mes, e%selhel, e%selcol, .false.)
    else
      call fbridgesequence(bridge, e%momenta, e%gs, e%rndhel, e%rndcol, e%channel, e%igraph, &
                           e%mes, e%selhel, e%selcol, .false.)
    end if
  end subroutine ask

  ! A bridge of its own for one batch.
  subroutine ask_once(e)
    type(events), intent(inout) :: e
    integer(int64) :: bridge
    bridge = new_bridge(size(e%gs))
    call ask(bridge, e)
    call fbridgedelete(bridge)
  end subroutine ask_once

end module engine
