/*
 * mebridge: matrix elements for MadEvent, from C and C++. Link with -lmebridge.
 *
 *     struct mebridge_bridge *bridge;
 *     if (mebridge_create(NULL, nevt, &bridge) != MEBRIDGE_OK) {
 *         fprintf(stderr, "%s\n", mebridge_last_error());
 *         exit(1);
 *     }
 *
 * Functions that return int32_t give MEBRIDGE_OK or MEBRIDGE_ERROR. A bridge serves one call at a
 * time; calls from several threads wait for each other. Different bridges run independently.
 *
 * This file is made from crates/capi by cbindgen; do not edit it.
 */

#ifndef MEBRIDGE_H
#define MEBRIDGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 Everything went well.
 */
#define MEBRIDGE_OK 0

/*
 Something is wrong; `mebridge_last_error` says what.
 */
#define MEBRIDGE_ERROR 1

/*
 Bytes of the text of an event, at most, without its particles: see `mebridge_lhe_events`.
 */
#define MEBRIDGE_LHE_EVENT_BYTES 160

/*
 And of each particle.
 */
#define MEBRIDGE_LHE_PARTICLE_BYTES 240

/*
 An open bridge. Opaque: only pass it on.
 */
struct mebridge_bridge;

/*
 An open member of a set of parton densities. Opaque: only pass it on.
 */
struct mebridge_densities;

/*
 An open event generator. Opaque: only pass it on.
 */
struct mebridge_events;

/*
 What a bridge is made with. A field that is NULL or 0 is as if its switch
 `CUDACPP_RUNTIME_<NAME>` were not set; set all of it but its size to zero first
 (`struct mebridge_options options = {.size = sizeof options};`, before C++20
 `= {}` and then `options.size = sizeof options;`). The environment is not looked at.
 */
struct mebridge_options {
  /*
   `sizeof(struct mebridge_options)`: later versions have more fields behind these.
   */
  size_t size;
  /*
   PROCESS: a .mebridge file or a P directory that MG5aMC wrote, `#n` behind it for its n-th
   matrix element. NULL: the process linked into the executable, else the P directory around
   the working directory or the executable.
   */
  const char *process;
  /*
   PARAMCARD: a parameter card. NULL: the card of the P directory, else the process's values.
   */
  const char *param_card;
  /*
   BACKEND: "auto", "cpu", "cuda" or "hip"; "cuda:1" or "hip:1" for the second GPU (DEVICE), and so on.
   */
  const char *backend;
  /*
   SIMD: "auto", "none", "sse4", "avx2", "512y" or "512z".
   */
  const char *simd;
  /*
   FPTYPE: "d" (double), "m" (mixed) or "f" (single precision).
   */
  const char *fptype;
  /*
   THREADS: how many; 0 means 1.
   */
  uint32_t threads;
  /*
   GOODHELICITIES: whether to keep helicities whose contribution vanishes.
   */
  bool all_helicities;
  /*
   CACHE: a directory, or "off". NULL: the user's cache.
   */
  const char *cache;
  /*
   MODEL: the model of a process that is generated, a file or a UFO folder. NULL: the Standard Model.
   */
  const char *model;
};

/*
 A sample of events, which may lie in memory in any order, and where its answers go. What is NULL is not given or not
 asked for; set all of it but its size to zero first (`struct mebridge_sample sample = {.size = sizeof sample};`).
 */
struct mebridge_sample {
  /*
   `sizeof(struct mebridge_sample)`: later versions have more fields behind these.
   */
  size_t size;
  /*
   How many events; any number.
   */
  size_t events;
  /*
   (E, px, py, pz) of all legs in GeV, incoming ones with positive energy.
   */
  const double *momenta;
  /*
   How many numbers lie from an event, a leg and a component of its momentum to the next; may be negative.
   */
  ptrdiff_t momenta_strides[3];
  /*
   `alpha_s[events]`; NULL: the parameter `aS` of the card, 0.118 where there is none.
   */
  const double *alpha_s;
  /*
   `random_helicity[events]`, in [0, 1) as all random numbers (others count as in `mebridge_run`); NULL: 0.5.
   */
  const double *random_helicity;
  /*
   `random_color[events]`
   */
  const double *random_color;
  /*
   `random_diagram[events]`
   */
  const double *random_diagram;
  /*
   `fixed_helicity[events]`: rows of the helicity table, from 0. The matrix element is what this helicity
   contributes; NULL: all of them do.
   */
  const int32_t *fixed_helicity;
  /*
   `fixed_diagram[events]`: diagrams, from 0, by which colour flows are drawn; NULL: drawn themselves.
   */
  const int32_t *fixed_diagram;
  /*
   `matrix_elements[events]`: |M|^2 in GeV^(4-2n) for n outgoing particles, summed over helicities and colours and
   averaged over those of the initial state, without a weight of any channel. Never NULL. NaN for an event whose
   momenta are not finite, not on their mass shells or not conserved, and where it is not finite itself (at a pole).
   */
  double *matrix_elements;
  /*
   `helicity[events]`: the row of the helicity table, drawn by its share, from 0.
   */
  int32_t *helicity;
  /*
   `color[events]`: the colour flow, drawn among those that the diagram allows, from 0.
   */
  int32_t *color;
  /*
   `diagram[events]`: drawn by the squared diagrams, from 0.
   */
  int32_t *diagram;
  /*
   `amp2[diagrams][events]`: squared diagrams as shares of the sum of those that have a channel.
   */
  double *amp2;
  /*
   How many numbers lie from a diagram to the next; at least `events`.
   */
  size_t amp2_stride;
  /*
   Out: how many events have NaN as their matrix element.
   */
  size_t bad_events;
};

/*
 Says which of `events` events of a matrix element, counted from 0, pass a cut of the caller: writes false where one does
 not. `momenta[events][legs][4]` are (E, px, py, pz) in GeV in the frame of the detector, the leg along +z first. It is
 called by several threads at once where the run has several, and gives 0 where all is well.
 */
typedef int32_t (*mebridge_events_cut)(void *context,
                                       uint32_t element,
                                       size_t events,
                                       size_t legs,
                                       const double *momenta,
                                       bool *passes);

/*
 Takes an answer, JSON that ends in NUL and is there as long as the call.
 */
typedef void (*mebridge_events_take)(void *context, const char *answer);

/*
 Writes the bias of `events` events of a matrix element that pass the cuts, positive and finite, in the place of ones: there are
 as many events as their cross section times it says, and each weighs as much less. As of `mebridge_events_cut`.
 */
typedef int32_t (*mebridge_events_bias)(void *context,
                                        uint32_t element,
                                        size_t events,
                                        size_t legs,
                                        const double *momenta,
                                        double *biases);

/*
 Takes what a part of a run that was performed elsewhere gave, JSON of `mebridge_events_call`; `number` is that of a round, or 0 for
 the survey. Not 0 where it could not be taken.
 */
typedef int32_t (*mebridge_events_done)(void *context, uint64_t number, const char *answer);

/*
 What a run calls, with `context`.
 */
struct mebridge_run_hooks {
  /*
   `sizeof(struct mebridge_run_hooks)`
   */
  size_t size;
  /*
   Passed to all of them.
   */
  void *context;
  /*
   NULL, or given JSON: `{"notice": text}`, `{"conditions": text}`, `{"begins": {"folder", "name"}}` or `{"progress": {"stage",
   "events", "target", "cross_section", "error", "seconds", "unit"}}`; where the request has `reweights` also
   `{"check_weights": {"card", "processes"}}` and `{"weigh": {"events", "output", "table", "processes", "threads"}}`, upon which
   it writes two files, the events with further weights and a table of these. Not 0 ends the run; what is done is kept.
   */
  int32_t (*tell)(void *context, const char *message);
  /*
   NULL, or a further cut, as of `mebridge_events_open`; `cut` of the request names it.
   */
  mebridge_events_cut cut;
  /*
   NULL, or performs parts of the run in the place of this program, and calls `done` with `done_context` for each as it ends, in
   this thread. `parts` is JSON: `plan`, the file that `mebridge_events_open` takes, beside which are all files that it reads, and
   `part` and `folder` of the survey, or `rounds` (`number`, `folder`, `settings`) with the folder of their `survey`.
   */
  int32_t (*perform)(void *context, const char *parts, mebridge_events_done done, void *done_context);
  /*
   NULL, or the bias of events; `bias` of the request names it.
   */
  mebridge_events_bias bias;
};

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/*
 The message of the last call of this thread that failed; empty if there was none. Valid until
 the next call that fails in this thread, or its end. Never NULL.
 */
const char *mebridge_last_error(void);

/*
 What kind of error that was, for programs: a name such as "no_gpu", "io" or "run" that later versions keep
 (`mebridge::Error::code` in Rust); empty if no call of this thread failed. Valid as the message is. Never NULL.
 */
const char *mebridge_last_error_code(void);

/*
 Version of the library, such as "0.2.0". Valid for ever.
 */
const char *mebridge_version(void);

/*
 Creates a bridge for calls of `nevt` events and puts it into `bridge`.

 `options` is NULL for the switches of the environment, CUDACPP_RUNTIME_*.

 The caller sees to it:
 `options` is NULL or points at options whose strings end in NUL; `bridge` points at a pointer.
 */
int32_t mebridge_create(const struct mebridge_options *options,
                        size_t nevt,
                        struct mebridge_bridge **bridge);

/*
 Deletes a bridge. NULL is allowed and does nothing.
 */
int32_t mebridge_delete(struct mebridge_bridge *bridge);

/*
 Evaluates the matrix elements of `nevt` events, the number that the bridge was created with.

 In:
 - `momenta[nevt][legs][4]`: (E, px, py, pz) in GeV, incoming ones with positive energy;
 - `g_s[nevt]`: the strong coupling of each event;
 - `random_helicity[nevt]`, `random_color[nevt]`: random numbers from [0, 1) for the choices. Below 0 they count as 0,
   and what is not below 1, NaN too, as the largest number that is;
 - `channels[nevt]`: the diagram (from 1) of each event's channel, or NULL for no channel weights;
 - `igraph[nevt]`: the configuration (from 1) whose colour flows are allowed, 0 where it follows
   from the channel, or NULL where it always does.

 Out:
 - `matrix_elements[nevt]`: |M|^2 summed over helicities and colours, averaged over those of the
   initial state, in GeV^(4-2n) for n outgoing particles, times the weight of the channel;
 - `helicity[nevt]`: the chosen row of the helicity table, from 1;
 - `color[nevt]`: the chosen colour flow, from 1, or 0 without channel and igraph.

 The caller sees to it:
 The arrays have these lengths, and no output overlaps another array.
 */
int32_t mebridge_run(struct mebridge_bridge *bridge,
                     size_t nevt,
                     const double *momenta,
                     const double *g_s,
                     const double *random_helicity,
                     const double *random_color,
                     const int32_t *channels,
                     const int32_t *igraph,
                     double *matrix_elements,
                     int32_t *helicity,
                     int32_t *color);

/*
 What weights the channels from the next `mebridge_run` on: `strategy` is MadEvent's `sde_strategy`, 1 (squared
 diagrams, as a new bridge has it) or 2 (products of propagators). `s` is the square of the energy of the beams in
 GeV^2, for 2 alone.
 */
int32_t mebridge_set_sde_strategy(struct mebridge_bridge *bridge,
                                  int32_t strategy,
                                  double s);

/*
 Takes a list of channels from the next `mebridge_run` on: a channel is the number of a topology in it, from 1, and so
 is a configuration (`igraph`). Weights are products of propagators as in `sde_strategy` 2, with `s` the square of the
 energy of the beams in GeV^2. `topologies` is JSON, a list as `mebridge_topologies` gives it or a part of that; of each
 entry `vertices` and `parameters` are read. `mebridge_set_sde_strategy` brings the process's own channels back.

 The caller sees to it:
 `topologies` is NULL or a string that ends in NUL.
 */
int32_t mebridge_set_channels(struct mebridge_bridge *bridge,
                              const char *topologies,
                              double s);

/*
 The weights that channels would have after `mebridge_set_channels`, which this takes the place of where no |M|^2 is
 wanted: nothing is evaluated, and the bridge stays as it is.

 In: `topologies` and `s` as there; `momenta[nevt][legs][4]`, of any number of events.

 Out: `weights[nevt][topologies]`; those of an event add up to 1.

 The caller sees to it:
 `topologies` is NULL or a string that ends in NUL. The arrays have these lengths and do not overlap.
 */
int32_t mebridge_channel_weights(struct mebridge_bridge *bridge,
                                 const char *topologies,
                                 double s,
                                 size_t nevt,
                                 const double *momenta,
                                 double *weights);

/*
 The topologies that a sampler needs, as JSON: a list in the words of the `channels` of `mebridge_description`. They are
 these channels; of a process whose diagrams are not listed they are all topologies whose vertices join three lines,
 one of those that differ by permutations of equal gluons in the final state, with no `diagrams`. Valid until the
 bridge is deleted. NULL if there is no such bridge.
 */
const char *mebridge_topologies(const struct mebridge_bridge *bridge);

/*
 Evaluates one event, each helicity by itself, whatever number of events the bridge was created for.

 In: `momenta[legs][4]` and `g_s` as for `mebridge_run`. `all`: whether to evaluate also helicities whose
 contribution vanishes, and whose AMP2 and JAMP2 may not; otherwise all of these are zero.

 Out, each of which may be NULL:
 - `contributions[helicities]`: for each row of the helicity table |M|^2 summed over colours, without the average;
 - `amp2[helicities][diagrams]`: the square of each diagram, 0 for those without a channel;
 - `jamp2[helicities][colors]`: the weight of each colour flow.

 The caller sees to it:
 The arrays have these lengths, and no output overlaps another array.
 */
int32_t mebridge_one_event(struct mebridge_bridge *bridge,
                           const double *momenta,
                           double g_s,
                           bool all,
                           double *contributions,
                           double *amp2,
                           double *jamp2);

/*
 Evaluates a sample, on the CPU. Events that are bad are no error; `mebridge_last_error` describes the first of them.

 The caller sees to it:
 The arrays have these lengths, and no output overlaps another array.
 */
int32_t mebridge_evaluate(struct mebridge_bridge *bridge,
                          struct mebridge_sample *sample);

/*
 Evaluates a sample in the memory of a GPU, by a bridge that was created for one (BACKEND "cuda" or "hip"): all pointers of the
 sample are addresses there, and matrix_elements may be NULL. `stream` is the CUstream into which all work is put; NULL
 is the legacy default stream. The function returns when that is done, and does not wait for the work. `bad_events` is
 0: that an event is bad is told by its NaN alone, and so is an index that names nothing. In a lower precision than
 double an event of which it makes no sum of squares (soft gluons, beside the beam) is NaN too, and the shares of its
 diagrams may be 0: nobody waits for the answers here, so that it is not evaluated again, as `mebridge_evaluate` does.
 The first call compiles.

 The caller sees to it:
 The arrays have these lengths, no output overlaps another array, and they and the stream stay until it has come past
 the work.
 */
int32_t mebridge_evaluate_on_device(struct mebridge_bridge *bridge,
                                    struct mebridge_sample *sample,
                                    void *stream);

/*
 Waits until the work of all calls of `mebridge_evaluate_on_device` for this bridge is done.
 */
int32_t mebridge_wait_for_device(struct mebridge_bridge *bridge);

/*
 Everything that a sampler has to know of the process (legs, channels as topologies with propagators, colour flows,
 helicities, flavours), as JSON in the words of MadGraph7's subprocesses.json: one object. Masses and widths are those of
 the bridge's parameters at this call. Valid until the bridge is deleted. NULL if there is no such bridge.
 */
const char *mebridge_description(const struct mebridge_bridge *bridge);

/*
 Number of parameters of the card, or -1 if there is no such bridge.
 */
int64_t mebridge_parameters(const struct mebridge_bridge *bridge);

/*
 Name of a parameter of the card, `number` counting from 0, such as "MDL_MT". Valid until the bridge is deleted. NULL
 if there is none.
 */
const char *mebridge_parameter_name(const struct mebridge_bridge *bridge,
                                    size_t number);

/*
 Gives the value of a parameter of the card. Capitals and the prefix MDL_ of its name may be left out.

 The caller sees to it:
 The name ends in NUL.
 */
int32_t mebridge_parameter(const struct mebridge_bridge *bridge,
                           const char *name,
                           double *value);

/*
 Sets a parameter of the card from the next call on. All that follows from it is computed anew, plans too; widths are
 parameters of their own and stay as they are.

 The caller sees to it:
 The name ends in NUL.
 */
int32_t mebridge_set_parameter(struct mebridge_bridge *bridge,
                               const char *name,
                               double value);

/*
 Finds the good helicities, those that contribute somewhere in phase space, and puts their number
 into `good` (which may be NULL). They do not depend on these events. `mebridge_run` does the same
 on its first call.

 The caller sees to it:
 `momenta[nevt][legs][4]` and `g_s[nevt]` as for `mebridge_run`.
 */
int32_t mebridge_find_good_helicities(struct mebridge_bridge *bridge,
                                      size_t nevt,
                                      const double *momenta,
                                      const double *g_s,
                                      size_t *good);

/*
 Number of good helicities, or -1 if they have not been found yet or there is no such bridge.
 */
int64_t mebridge_good_helicities(const struct mebridge_bridge *bridge);

/*
 Number of helicity configurations, good or not, or -1 if there is no such bridge.
 */
int64_t mebridge_helicities(const struct mebridge_bridge *bridge);

/*
 Number of external legs, incoming ones included, or -1 if there is no such bridge.
 */
int64_t mebridge_legs(const struct mebridge_bridge *bridge);

/*
 Number of colour flows, or -1 if there is no such bridge.
 */
int64_t mebridge_colors(const struct mebridge_bridge *bridge);

/*
 Number of diagrams, which channels count, or -1 if there is no such bridge.
 */
int64_t mebridge_diagrams(const struct mebridge_bridge *bridge);

/*
 Number of events of a call, or -1 if there is no such bridge.
 */
int64_t mebridge_nevt(const struct mebridge_bridge *bridge);

/*
 Helicities of the legs in a row of the helicity table, `row` counting from 1 as in the
 answers of `mebridge_run`.

 The caller sees to it:
 `helicities` has `legs` entries.
 */
int32_t mebridge_helicity(const struct mebridge_bridge *bridge, size_t row, int32_t *helicities);

/*
 Name of the process as MG5aMC writes it, such as "g g > t t~". Valid until the bridge is
 deleted. NULL if there is no such bridge.
 */
const char *mebridge_process_name(const struct mebridge_bridge *bridge);

/*
 Writes events as `<event>` blocks of the Les Houches Accord (hep-ph/0109068); needs no bridge.

 `records` has `events` records with room for `particles` particles each, without gaps: the process (an integer of 4
 bytes), weight, scale, alpha and alpha_s (doubles); and for each particle PDG code, status, two mothers, colour,
 anticolour (integers of 4 bytes), px, py, pz, E, mass (GeV), lifetime and spin (doubles). Those that an event does not
 have are zeros at its end. Weights are multiplied by `weight_factor`.

 `text` has room for `capacity` bytes, at least
 `events * (MEBRIDGE_LHE_EVENT_BYTES + MEBRIDGE_LHE_PARTICLE_BYTES * particles)`. `written` is set to how many it has
 then; no NUL follows.

 The caller sees to it:
 All three point at so much memory, and `text` is no part of the records.
 */
int32_t mebridge_lhe_events(const void *records,
                            size_t events,
                            size_t particles,
                            double weight_factor,
                            char *text,
                            size_t capacity,
                            size_t *written);

/*
 Opens parton densities and puts a handle into `densities`: a member of a set of LHAPDF (`NAME_0000.dat`), or a file of
 `lib/Pdfdata` of an output of MG5aMC (`.grid`, `.tbl`).

 The caller sees to it:
 `file` ends in NUL; `densities` points at a pointer.
 */
int32_t mebridge_densities_open(const char *file,
                                struct mebridge_densities **densities);

/*
 Closes a handle. NULL is allowed and does nothing.
 */
void mebridge_densities_close(struct mebridge_densities *densities);

/*
 How many partons the densities have; their PDG codes are written into `codes`, unless it is NULL. -1 where it fails.

 The caller sees to it:
 `codes` is NULL or has room for all of them.
 */
int64_t mebridge_densities_codes(const struct mebridge_densities *densities,
                                 int32_t *codes);

/*
 Where the densities have a grid: writes the least and the largest x, and the least and the largest Q in GeV.

 The caller sees to it:
 `range` has room for four numbers.
 */
int32_t mebridge_densities_range(const struct mebridge_densities *densities,
                                 double *range);

/*
 x f(x, Q) of a parton by its PDG code, one for each of `points`; `q` is in GeV.

 Outside of a grid densities go on as LHAPDF, or what MG5aMC has for its grids, does it; above x = 1 they are 0. A parton
 that they do not have is an error.

 The caller sees to it:
 All arrays have `points` numbers.
 */
int32_t mebridge_densities_evaluate(const struct mebridge_densities *densities,
                                    size_t points,
                                    const int32_t *codes,
                                    const double *x,
                                    const double *q,
                                    double *values);

/*
 alpha_s at so many scales `q`, GeV, by a table of `knots` scales that rise, of which some may stand there twice, and
 values: interpolated as LHAPDF does it. Below the table it goes on with the power of its first interval, above it stays.

 The caller sees to it:
 `scales` and `values` have `knots` numbers, `q` and `alpha_s` have `points`.
 */
int32_t mebridge_alpha_s(size_t knots,
                         const double *scales,
                         const double *values,
                         size_t points,
                         const double *q,
                         double *alpha_s);

/*
 Opens the events of a run and puts a handle into `events`.

 `request` is JSON (docs/engine.md has its fields). `cut` is NULL, or a further cut, which is called with `context`.

 The caller sees to it:
 `request` ends in NUL; `events` points at a pointer; `cut` is NULL, or may be called with `context`, by several threads
 at once, until the handle is closed and no call of it is under way. It calls nothing with this handle.
 */
int32_t mebridge_events_open(const char *request,
                             mebridge_events_cut cut,
                             void *context,
                             struct mebridge_events **events);

/*
 The same with a cut, a bias or both of `hooks`, and their context.

 The caller sees to it:
 As of `mebridge_events_open`; `hooks` is NULL or as large as it says.
 */
int32_t mebridge_events_open_with(const char *request,
                                  const struct mebridge_run_hooks *hooks,
                                  struct mebridge_events **events);

/*
 Closes a handle. NULL is allowed and does nothing.
 */
void mebridge_events_close(struct mebridge_events *events);

/*
 Weighs points of channel `source`, counted from 0, by the grid that it has since the survey: puts the cross section, in pb,
 that each of them stands for into `weights[count]`. They are those of the points `first`, a multiple of 8, and so on, with
 `numbers[count][dimensions + 1]` in (0, 1) for random numbers; the survey says how many dimensions a channel has.

 The caller sees to it:
 The arrays have as many numbers as that, and share none.
 */
int32_t mebridge_events_weigh(struct mebridge_events *events,
                              uint32_t source,
                              uint64_t first,
                              size_t count,
                              size_t dimensions,
                              const double *numbers,
                              double *weights);

/*
 Does what `call`, JSON, asks for (docs/engine.md), and gives `take` the answer; a handle serves one call at a time.

 The caller sees to it:
 `call` ends in NUL; `take` is NULL or may be called with `context`.
 */
int32_t mebridge_events_call(struct mebridge_events *events,
                             const char *call,
                             mebridge_events_take take,
                             void *context);

/*
 Makes events, and gives `take` what was made, as JSON; `request` is JSON (docs/engine.md).

 The caller sees to it:
 `request` ends in NUL; `hooks` is NULL or as large as it says; what it holds may be called with its context until this returns, its
 `cut` and `bias` by several threads at once; `take` is NULL or may be called with `context`.
 */
int32_t mebridge_make_events(const char *request,
                             const struct mebridge_run_hooks *hooks,
                             mebridge_events_take take,
                             void *context);

/*
 Reads the cards of a run, and gives `take` JSON of what they say: `path`, its folder; whether it `decays`; `param_card`, its text;
 `run_card`, all values; `notices`. `spec` is that of the request of `mebridge_make_events`.

 The caller sees to it:
 `spec` ends in NUL; `take` is NULL or may be called with `context`.
 */
int32_t mebridge_check_events(const char *spec,
                              mebridge_events_take take,
                              void *context);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* MEBRIDGE_H */
