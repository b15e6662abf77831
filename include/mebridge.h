/*
 * mebridge: matrix elements for MadEvent, from C and C++. Link with -lmebridge.
 *
 *     struct mebridge_bridge *bridge;
 *     if (mebridge_create(NULL, nevt, &bridge) != MEBRIDGE_OK) {
 *         fprintf(stderr, "%s\n", mebridge_last_error());
 *         exit(1);
 *     }
 *
 * Functions that return int32_t return MEBRIDGE_OK or MEBRIDGE_ERROR. A bridge serves one call at a
 * time; calls from several threads wait for each other. Different bridges run independently.
 *
 * Generated from crates/capi by cbindgen; do not edit.
 */

#ifndef MEBRIDGE_H
#define MEBRIDGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 Success.
 */
#define MEBRIDGE_OK 0

/*
 Failure; `mebridge_last_error` describes it.
 */
#define MEBRIDGE_ERROR 1

/*
 Maximum number of bytes in the text of an event without its particles, see `mebridge_lhe_events`.
 */
#define MEBRIDGE_LHE_EVENT_BYTES 160

/*
 Maximum number of bytes in the text of each particle.
 */
#define MEBRIDGE_LHE_PARTICLE_BYTES 240

/*
 An open Born. Opaque: only pass it on.
 */
struct mebridge_born;

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
 Options of a new bridge. A field that is NULL or 0 has the same effect as leaving its switch
 `CUDACPP_RUNTIME_<NAME>` unset. Set all fields except `size` to zero first (`struct mebridge_options options =
 {.size = sizeof options};`, before C++20 `= {}` and then `options.size = sizeof options;`). The environment is
 ignored.
 */
struct mebridge_options {
  /*
   `sizeof(struct mebridge_options)`: later versions append fields.
   */
  size_t size;
  /*
   PROCESS: a .mebridge file or a P directory written by MG5aMC; append `#n` for its n-th matrix element. NULL: the
   process linked into the executable, else the P directory that contains the working directory or the executable.
   */
  const char *process;
  /*
   PARAMCARD: a parameter card. NULL: the card of the P directory, else the default values of the process.
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
   THREADS: number of threads; 0 means 1.
   */
  uint32_t threads;
  /*
   GOODHELICITIES: whether to evaluate helicities whose contribution vanishes, too.
   */
  bool all_helicities;
  /*
   CACHE: a directory, or "off". NULL: the user's cache.
   */
  const char *cache;
  /*
   MODEL: the model for a process that is generated here, a file or a UFO folder. NULL: the Standard Model.
   */
  const char *model;
};

/*
 A sample of events, in any memory layout, and the arrays for its results. Optional inputs and unwanted results are
 NULL; set all fields except `size` to zero first (`struct mebridge_sample sample = {.size = sizeof sample};`).
 */
struct mebridge_sample {
  /*
   `sizeof(struct mebridge_sample)`: later versions append fields.
   */
  size_t size;
  /*
   Number of events, not limited.
   */
  size_t events;
  /*
   (E, px, py, pz) of all legs in GeV, with positive energy for incoming particles.
   */
  const double *momenta;
  /*
   Distance, in numbers, between successive events, legs and components of a momentum; may be negative.
   */
  ptrdiff_t momenta_strides[3];
  /*
   `alpha_s[events]`; NULL: the parameter `aS` of the card, 0.118 if there is none.
   */
  const double *alpha_s;
  /*
   `random_helicity[events]`, in [0, 1) like all random numbers (other values count as in `mebridge_run`); NULL:
   0.5.
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
   `fixed_helicity[events]`: rows of the helicity table, from 0. The matrix element is the contribution of this
   helicity alone; NULL: the sum over all helicities.
   */
  const int32_t *fixed_helicity;
  /*
   `fixed_diagram[events]`: diagrams, from 0, that determine the allowed colour flows; NULL: a diagram is drawn.
   */
  const int32_t *fixed_diagram;
  /*
   `matrix_elements[events]`: |M|^2 in GeV^(4-2n) for n outgoing particles, summed over helicities and colours and
   averaged over those of the initial state, without any channel weight. Never NULL. NaN for an event whose momenta
   are not finite, not on their mass shells or not conserved, and where |M|^2 itself is not finite (at a pole).
   */
  double *matrix_elements;
  /*
   `helicity[events]`: the row of the helicity table, from 0, drawn in proportion to its contribution.
   */
  int32_t *helicity;
  /*
   `color[events]`: the colour flow, from 0, drawn among those that the diagram allows.
   */
  int32_t *color;
  /*
   `diagram[events]`: the diagram, from 0, drawn in proportion to the squared diagrams.
   */
  int32_t *diagram;
  /*
   `amp2[diagrams][events]`: squared diagrams, divided by the sum over diagrams that have a channel.
   */
  double *amp2;
  /*
   Distance, in numbers, between successive diagrams in `amp2`; at least `events`.
   */
  size_t amp2_stride;
  /*
   Out: number of events whose matrix element is NaN.
   */
  size_t bad_events;
  /*
   `fixed_color[events]`: colour flows, from 0. The matrix element is the square of this flow alone, at leading colour:
   its entry on the diagonal of the colour matrix times |JAMP|^2, summed over helicities. Many events of different
   flows take a small part of the time of their sum. Only on the CPU, and with no other output. NULL: all flows.
   */
  const int32_t *fixed_color;
};

/*
 Decides which of `events` events of matrix element number `element`, from 0, pass the caller's cut: writes false for
 those that do not. `momenta[events][legs][4]` are (E, px, py, pz) in GeV in the detector frame, the leg along +z
 first. If the run has several threads, they call this at the same time. It may call the library, but not with the same
 handle. Returns 0 on success.
 */
typedef int32_t (*mebridge_events_cut)(void *context,
                                       uint32_t element,
                                       size_t events,
                                       size_t legs,
                                       const double *momenta,
                                       bool *passes);

/*
 Receives the answer of a part of a run that was performed elsewhere, JSON as from `mebridge_events_call`; `number`
 is the number of a round, or 0 for the survey. Returns 0 on success.
 */
typedef int32_t (*mebridge_events_done)(void *context, uint64_t number, const char *answer);

/*
 Writes the bias of `events` events of a matrix element that pass the cuts, a positive finite number for each; all are 1
 before. Events are drawn in proportion to their cross section times their bias, and their weights are divided by it.
 Otherwise as `mebridge_events_cut`.
 */
typedef int32_t (*mebridge_events_bias)(void *context,
                                        uint32_t element,
                                        size_t events,
                                        size_t legs,
                                        const double *momenta,
                                        double *biases);

/*
 Functions that a run calls with `context`.
 */
struct mebridge_run_hooks {
  /*
   `sizeof(struct mebridge_run_hooks)`
   */
  size_t size;
  /*
   Passed to all of these functions.
   */
  void *context;
  /*
   NULL, or receives JSON: `{"notice": text}`, `{"conditions": text}`, `{"begins": {"folder", "name"}}` or
   `{"progress": {"stage", "events", "target", "cross_section", "error", "seconds", "unit"}}`; if the request has
   `reweights`, also `{"check_weights": {"card", "processes"}}` and `{"weigh": {"events", "output", "table",
   "processes", "threads"}}`. For the latter it writes two files: `output`, the events with additional weights, and
   `table`, a table of these weights. A result other than 0 ends the run; what is done is kept.
   */
  int32_t (*tell)(void *context, const char *message);
  /*
   NULL, or an additional cut as for `mebridge_events_open`; `cut` of the request names it.
   */
  mebridge_events_cut cut;
  /*
   NULL, or performs parts of the run for this program and calls `done` with `done_context` when each ends, in the
   same thread. `parts` is JSON: `plan`, a file for `mebridge_events_open`, whose folder holds all files that it
   refers to; then `part` and `folder` of the survey, or `rounds` (`number`, `folder`, `settings`) and the folder
   of their `survey`.
   */
  int32_t (*perform)(void *context, const char *parts, mebridge_events_done done, void *done_context);
  /*
   NULL, or the bias of events, named by `bias` in the request.
   */
  mebridge_events_bias bias;
};

/*
 Receives an answer, JSON that ends in NUL and is valid during the call.
 */
typedef void (*mebridge_events_take)(void *context, const char *answer);

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/*
 Returns the message of this thread's last failed call; empty if no call failed. Valid until this thread's next
 failed call, or until the thread ends. Never NULL.
 */
const char *mebridge_last_error(void);

/*
 Returns the kind of that error for programs: a name such as "no_gpu", "io" or "run" that later versions keep
 (`mebridge::Error::code` in Rust); empty if no call of this thread failed. Valid as long as the message. Never NULL.
 */
const char *mebridge_last_error_code(void);

/*
 Returns the version of the library, such as "0.2.0". Always valid.
 */
const char *mebridge_version(void);

/*
 Creates a bridge for calls of `nevt` events and puts it into `bridge`.

 If `options` is NULL, the environment variables CUDACPP_RUNTIME_* apply.

 The caller guarantees:
 `options` is NULL or points to options whose strings end in NUL; `bridge` points to a pointer.
 */
int32_t mebridge_create(const struct mebridge_options *options,
                        size_t nevt,
                        struct mebridge_bridge **bridge);

/*
 Deletes a bridge. NULL is allowed and does nothing.
 */
int32_t mebridge_delete(struct mebridge_bridge *bridge);

/*
 Evaluates the matrix elements of `nevt` events; the bridge was created for the same number.

 In:
 - `momenta[nevt][legs][4]`: (E, px, py, pz) in GeV, with positive energy for incoming particles;
 - `g_s[nevt]`: the strong coupling of each event;
 - `random_helicity[nevt]`, `random_color[nevt]`: random numbers from [0, 1) that select helicity and colour flow.
   Values below 0 count as 0; values of 1 or more and NaN count as the largest number below 1;
 - `channels[nevt]`: the diagram (from 1) of each event's channel, or NULL for no channel weights;
 - `igraph[nevt]`: the configuration (from 1) whose colour flows are allowed, 0 to derive it from the channel, or
   NULL to derive all of them from the channels.

 Out:
 - `matrix_elements[nevt]`: |M|^2 summed over helicities and colours, averaged over those of the
   initial state, in GeV^(4-2n) for n outgoing particles, times the weight of the channel;
 - `helicity[nevt]`: the chosen row of the helicity table, from 1;
 - `color[nevt]`: the chosen colour flow, from 1, or 0 without channel and igraph.

 The caller guarantees:
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
 Sets the channel weights used from the next `mebridge_run` on: `strategy` is MadEvent's `sde_strategy`, 1 (squared
 diagrams, the default of a new bridge) or 2 (products of propagators). `s` is the squared centre-of-mass energy of
 the beams in GeV^2, used by strategy 2 only.
 */
int32_t mebridge_set_sde_strategy(struct mebridge_bridge *bridge,
                                  int32_t strategy,
                                  double s);

/*
 Sets the list of channels used from the next `mebridge_run` on: a channel, and likewise a configuration (`igraph`),
 is the number of a topology in this list, from 1. Weights are products of propagators as in `sde_strategy` 2, with
 `s` the squared centre-of-mass energy of the beams in GeV^2. `topologies` is a JSON list as returned by
 `mebridge_topologies`, or a part of it; only `vertices` and `parameters` of each entry are read.
 `mebridge_set_sde_strategy` restores the channels of the process.

 The caller guarantees:
 `topologies` is NULL or a string that ends in NUL.
 */
int32_t mebridge_set_channels(struct mebridge_bridge *bridge,
                              const char *topologies,
                              double s);

/*
 Computes the weights that channels would have after `mebridge_set_channels`, without |M|^2: no matrix element is
 evaluated, and the bridge does not change.

 In: `topologies` and `s` as for `mebridge_set_channels`; `momenta[nevt][legs][4]`, for any number of events.

 Out: `weights[nevt][topologies]`; the weights of an event add up to 1.

 The caller guarantees:
 `topologies` is NULL or a string that ends in NUL. The arrays have these lengths and do not overlap.
 */
int32_t mebridge_channel_weights(struct mebridge_bridge *bridge,
                                 const char *topologies,
                                 double s,
                                 size_t nevt,
                                 const double *momenta,
                                 double *weights);

/*
 Returns the topologies that a sampler needs as a JSON list, in the format of `channels` in `mebridge_description`.
 These are the channels of the process. If its diagrams are not listed, they are all topologies whose vertices join
 three lines, without `diagrams`; of topologies that differ only by permutations of equal gluons in the final state,
 one is listed. Valid until the bridge is deleted. NULL if there is no such bridge.
 */
const char *mebridge_topologies(const struct mebridge_bridge *bridge);

/*
 Evaluates each helicity of one event separately, whatever number of events the bridge was created for.

 In: `momenta[legs][4]` and `g_s` as for `mebridge_run`. `all`: whether to evaluate helicities whose |M|^2 vanishes,
 too, since their AMP2 and JAMP2 may not vanish; otherwise all of their results are zero.

 Out; each may be NULL:
 - `contributions[helicities]`: |M|^2 of each row of the helicity table, summed over colours, without the average;
 - `amp2[helicities][diagrams]`: the square of each diagram, 0 for diagrams without a channel;
 - `jamp2[helicities][colors]`: the weight of each colour flow.

 The caller guarantees:
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
 Evaluates a sample on the CPU. Bad events are not an error; `mebridge_last_error` describes the first of them.

 The caller guarantees:
 The arrays have these lengths, and no output overlaps another array.
 */
int32_t mebridge_evaluate(struct mebridge_bridge *bridge,
                          struct mebridge_sample *sample);

/*
 Evaluates a sample in the memory of a GPU, with a bridge created for one (BACKEND "cuda" or "hip"): all pointers of
 the sample are device addresses, and `matrix_elements` may be NULL. All work goes into the CUstream `stream`; NULL
 is the legacy default stream. The function returns once the work is queued, without waiting for it. `bad_events` is
 0: only a matrix element of NaN marks a bad event, and likewise an index out of range. At a precision below double,
 an event whose sum of squares cannot be formed (soft gluons, near the beam) is NaN too, and the shares of its
 diagrams may be 0: unlike `mebridge_evaluate`, this function does not wait for the results, so such events are not
 evaluated again in double precision. The first call compiles.

 The caller guarantees:
 The arrays have these lengths, no output overlaps another array, and arrays and stream stay valid until the stream
 has completed the work.
 */
int32_t mebridge_evaluate_on_device(struct mebridge_bridge *bridge,
                                    struct mebridge_sample *sample,
                                    void *stream);

/*
 Waits until the work of all calls of `mebridge_evaluate_on_device` for this bridge is done.
 */
int32_t mebridge_wait_for_device(struct mebridge_bridge *bridge);

/*
 Returns everything that a sampler needs to know about the process (legs, channels as topologies with propagators,
 colour flows, helicities, flavours), as one JSON object in the format of MadGraph7's subprocesses.json. Masses and
 widths follow from the parameters of the bridge at this call. Valid until the bridge is deleted. NULL if there is no
 such bridge.
 */
const char *mebridge_description(const struct mebridge_bridge *bridge);

/*
 Returns the number of parameters of the card, or -1 if there is no such bridge.
 */
int64_t mebridge_parameters(const struct mebridge_bridge *bridge);

/*
 Returns the name of parameter `number` of the card, from 0, such as "MDL_MT". Valid until the bridge is deleted.
 NULL if there is no such parameter.
 */
const char *mebridge_parameter_name(const struct mebridge_bridge *bridge,
                                    size_t number);

/*
 Puts the value of a parameter of the card into `value`. The case of `name` and its prefix MDL_ do not matter.

 The caller guarantees:
 The name ends in NUL.
 */
int32_t mebridge_parameter(const struct mebridge_bridge *bridge,
                           const char *name,
                           double *value);

/*
 Sets a parameter of the card from the next call on. Everything that depends on it is recomputed, plans included;
 widths are independent parameters and do not change.

 The caller guarantees:
 The name ends in NUL.
 */
int32_t mebridge_set_parameter(struct mebridge_bridge *bridge,
                               const char *name,
                               double value);

/*
 Finds the good helicities, those that contribute somewhere in phase space, and puts their number into `good` (which
 may be NULL). The result does not depend on these events. `mebridge_run` does the same on its first call.

 The caller guarantees:
 `momenta[nevt][legs][4]` and `g_s[nevt]` as for `mebridge_run`.
 */
int32_t mebridge_find_good_helicities(struct mebridge_bridge *bridge,
                                      size_t nevt,
                                      const double *momenta,
                                      const double *g_s,
                                      size_t *good);

/*
 Returns the number of good helicities, or -1 if they have not been found yet or there is no such bridge.
 */
int64_t mebridge_good_helicities(const struct mebridge_bridge *bridge);

/*
 Returns the number of helicity configurations, good or not, or -1 if there is no such bridge.
 */
int64_t mebridge_helicities(const struct mebridge_bridge *bridge);

/*
 Returns the number of external legs, incoming ones included, or -1 if there is no such bridge.
 */
int64_t mebridge_legs(const struct mebridge_bridge *bridge);

/*
 Returns the number of colour flows, or -1 if there is no such bridge.
 */
int64_t mebridge_colors(const struct mebridge_bridge *bridge);

/*
 Returns the number of diagrams, the range of channel numbers, or -1 if there is no such bridge.
 */
int64_t mebridge_diagrams(const struct mebridge_bridge *bridge);

/*
 Returns the number of events of a call, or -1 if there is no such bridge.
 */
int64_t mebridge_nevt(const struct mebridge_bridge *bridge);

/*
 Writes the helicities of the legs in a row of the helicity table; `row` counts from 1 as in the results of
 `mebridge_run`.

 The caller guarantees:
 `helicities` has `legs` entries.
 */
int32_t mebridge_helicity(const struct mebridge_bridge *bridge,
                          size_t row,
                          int32_t *helicities);

/*
 Returns the name of the process as MG5aMC writes it, such as "g g > t t~". Valid until the bridge is deleted. NULL
 if there is no such bridge.
 */
const char *mebridge_process_name(const struct mebridge_bridge *bridge);

/*
 Writes events as `<event>` blocks of the Les Houches Accord (hep-ph/0109068). Needs no bridge.

 `records` holds `events` packed records of `particles` particles each: the process (4-byte integer), weight, scale,
 alpha and alpha_s (doubles); then for each particle PDG code, status, two mothers, colour, anticolour (4-byte
 integers), px, py, pz, E, mass (GeV), lifetime and spin (doubles). Records of events with fewer particles end in
 zeros. Weights are multiplied by `weight_factor`.

 `text` holds `capacity` bytes, at least `events * (MEBRIDGE_LHE_EVENT_BYTES + MEBRIDGE_LHE_PARTICLE_BYTES *
 particles)`. `written` receives the length of the text; no NUL is appended.

 The caller guarantees:
 The pointers are valid for these sizes, and `text` does not overlap the records.
 */
int32_t mebridge_lhe_events(const void *records,
                            size_t events,
                            size_t particles,
                            double weight_factor,
                            char *text,
                            size_t capacity,
                            size_t *written);

/*
 Opens a Born, and puts a handle into `born`. `process` is a subprocess directory of MG5aMC's aMC@NLO
 (`SubProcesses/P*` with a `born.f`), one of MadEvent, a process file, or a process such as `g g > t t~`, which is
 generated with `model` (NULL: that of `CUDACPP_RUNTIME_MODEL`, else the Standard Model). `card` is a parameter card;
 NULL: that of the output or the model. It is evaluated on the CPU.

 The caller guarantees:
 `process`, and `card` and `model` where they are not NULL, end in NUL; `born` points to a pointer.
 */
int32_t mebridge_born_open(const char *process,
                           const char *card,
                           const char *model,
                           struct mebridge_born **born);

/*
 Closes a handle. NULL is allowed and does nothing.
 */
void mebridge_born_close(struct mebridge_born *born);

/*
 Returns JSON about a Born: its `name`, the PDG codes of its `legs`, how many are `incoming`, the helicity of each leg in
 the first row of its table (`first_helicity`; complex Borns depend on it), the pairs of legs (from 0) that it `links`,
 and the number of its `amplitudes`. Valid until the handle is closed. NULL if there is no such Born.
 */
const char *mebridge_born_description(const struct mebridge_born *born);

/*
 Returns JSON about the real emissions that a Born is the limit of, with quarks up to the PDG code `flavors` as
 massless partons: a list with the `process` by PDG codes (the Born's legs in their order, then the emitted parton), the
 `leg` (from 0) that splits, and whether it is `soft` and `collinear`. Valid until the next call for this Born. NULL if
 there is no such Born, or `flavors` is not from 0 to 6.
 */
const char *mebridge_born_emissions(struct mebridge_born *born,
                                    int32_t flavors);

/*
 Evaluates `events` points. In: `momenta[events][legs][4]` in GeV, `g_s[events]`.

 Out; each may be NULL:
 - `borns[events]`: |M|^2, averaged over initial helicities and colours;
 - `links[events][links]`: B_ij of each link without a factor g_s^2, MG5aMC's `SB_SF_<n>`: the sum over j != i is
   -C_i times the Born, and a leg linked with itself has C_i / 2 times the Born;
 - `complex_borns[events][legs][2]`: real and imaginary part of the complex Born of each leg, MG5aMC's `ANS(2,...)`;
   NaN for legs that are no massless vectors;
 - `amp2[events][amplitudes]`: the sum over helicities of the squared modulus of each amplitude, not averaged, MG5aMC's
   AMP2.

 The caller guarantees:
 The arrays have these lengths, and no output overlaps another array.
 */
int32_t mebridge_born_evaluate(struct mebridge_born *born,
                               size_t events,
                               const double *momenta,
                               const double *g_s,
                               double *borns,
                               double *links,
                               double *complex_borns,
                               double *amp2);

/*
 Opens parton densities and puts a handle into `densities`: a member of an LHAPDF set (`NAME_0000.dat`), or a file
 from `lib/Pdfdata` of an MG5aMC output (`.grid`, `.tbl`).

 The caller guarantees:
 `file` ends in NUL; `densities` points to a pointer.
 */
int32_t mebridge_densities_open(const char *file,
                                struct mebridge_densities **densities);

/*
 Closes a handle. NULL is allowed and does nothing.
 */
void mebridge_densities_close(struct mebridge_densities *densities);

/*
 Returns the number of partons that the densities have, and writes their PDG codes into `codes` unless it is NULL. -1
 on failure.

 The caller guarantees:
 `codes` is NULL or holds all of them.
 */
int64_t mebridge_densities_codes(const struct mebridge_densities *densities,
                                 int32_t *codes);

/*
 Writes the range of the grid: the smallest and the largest x, then the smallest and the largest Q in GeV.

 The caller guarantees:
 `range` holds four numbers.
 */
int32_t mebridge_densities_range(const struct mebridge_densities *densities,
                                 double *range);

/*
 Evaluates x f(x, Q) for each of `points`; `codes` are PDG codes, `q` is in GeV.

 Outside the grid the densities are extrapolated as LHAPDF does, or MG5aMC for its own grids; above x = 1 they are 0.
 A parton that the densities lack is an error.

 The caller guarantees:
 All arrays have `points` numbers.
 */
int32_t mebridge_densities_evaluate(const struct mebridge_densities *densities,
                                    size_t points,
                                    const int32_t *codes,
                                    const double *x,
                                    const double *q,
                                    double *values);

/*
 Interpolates alpha_s at `points` scales `q` in GeV from a table of `knots` scales in ascending order (a scale may
 appear twice) and values, as LHAPDF does. Below the table it is extrapolated with the power of the first interval;
 above it is constant.

 The caller guarantees:
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

 `request` is JSON (fields: docs/engine.md). `cut` is NULL or an additional cut, which is called with `context`.

 The caller guarantees:
 `request` ends in NUL; `events` points to a pointer; `cut` is NULL, or may be called with `context`, by several
 threads at the same time, until the handle is closed and no call with it is in progress. `cut` makes no call with
 this handle.
 */
int32_t mebridge_events_open(const char *request,
                             mebridge_events_cut cut,
                             void *context,
                             struct mebridge_events **events);

/*
 Opens the events of a run as `mebridge_events_open`, with the cut and the bias of `hooks`, which may be NULL.

 The caller guarantees:
 As for `mebridge_events_open`; `hooks` is NULL or as large as its `size`.
 */
int32_t mebridge_events_open_with(const char *request,
                                  const struct mebridge_run_hooks *hooks,
                                  struct mebridge_events **events);

/*
 Closes a handle. NULL is allowed and does nothing.
 */
void mebridge_events_close(struct mebridge_events *events);

/*
 Weighs points of channel `source`, from 0, with its grid from the survey: puts the cross section in pb that each
 point represents into `weights[count]`. The points are numbers `first`, a multiple of 8, and following, with
 `numbers[count][dimensions + 1]` in (0, 1) as random numbers; the answer of the survey gives the dimensions of a
 channel.

 The caller guarantees:
 The arrays have these lengths and do not overlap.
 */
int32_t mebridge_events_weigh(struct mebridge_events *events,
                              uint32_t source,
                              uint64_t first,
                              size_t count,
                              size_t dimensions,
                              const double *numbers,
                              double *weights);

/*
 Performs the JSON request `call` (docs/engine.md) and passes the answer to `take`. A handle serves one call at a
 time.

 The caller guarantees:
 `call` ends in NUL; `take` is NULL or may be called with `context`.
 */
int32_t mebridge_events_call(struct mebridge_events *events,
                             const char *call,
                             mebridge_events_take take,
                             void *context);

/*
 Generates events and passes the results to `take` as JSON; `request` is JSON (docs/engine.md).

 The caller guarantees:
 `request` ends in NUL; `hooks` is NULL or as large as its `size`; its functions may be called with its context until
 this returns, `cut` and `bias` by several threads at the same time; `take` is NULL or may be called with `context`.
 */
int32_t mebridge_make_events(const char *request,
                             const struct mebridge_run_hooks *hooks,
                             mebridge_events_take take,
                             void *context);

/*
 Reads the cards of a run and passes JSON to `take`: `path`, its folder; `decays`, whether it has decays;
 `param_card`, the text of this card; `run_card`, all its values; `notices`. `spec` is as in the request of
 `mebridge_make_events`.

 The caller guarantees:
 `spec` ends in NUL; `take` is NULL or may be called with `context`.
 */
int32_t mebridge_check_events(const char *spec,
                              mebridge_events_take take,
                              void *context);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* MEBRIDGE_H */
