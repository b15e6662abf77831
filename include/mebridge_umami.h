/*
 * mebridge: UMAMI, the functions by which MadSpace and MadGraph7 ask for matrix elements.
 *
 * Every library file serves one process: a copy of libmebridge that carries it (mebridge umami PROCESS -o FILE),
 * or libmebridge itself with the process of CUDACPP_RUNTIME_PROCESS. Numbers and signatures are those of MadSpace's
 * umami.h, version 1.0; where both are included, take that one.
 *
 * Number i of event e stands at e + stride * i, momenta at e + stride * (legs * mu + leg). A call is about `count`
 * events from `offset` on. Floating-point numbers are doubles, indices 32-bit integers from 0. Threads have a handle
 * each and may call at the same time.
 *
 * This file is made from crates/capi/src/umami/mod.rs by cbindgen; do not edit it.
 */

#ifndef MEBRIDGE_UMAMI_H
#define MEBRIDGE_UMAMI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 It is done.
 */
#define UMAMI_SUCCESS 0

/*
 Something is wrong; `mebridge_last_error` and stderr say what.
 */
#define UMAMI_ERROR 1

/*
 There is no such thing here (a GPU that can be used, parameters that are no part of the process).
 */
#define UMAMI_ERROR_NOT_IMPLEMENTED 2

/*
 An input that is not known.
 */
#define UMAMI_ERROR_UNSUPPORTED_INPUT 3

/*
 An output that is not known, or that this process does not have.
 */
#define UMAMI_ERROR_UNSUPPORTED_OUTPUT 4

/*
 Masses, before a parameter card was read.
 */
#define UMAMI_ERROR_UNINITIALIZED_META 5

/*
 A piece of data that is not known.
 */
#define UMAMI_ERROR_UNSUPPORTED_META 6

/*
 Momenta are missing.
 */
#define UMAMI_ERROR_MISSING_INPUT 7

/*
 `int`: 0 for CPU, 1 for CUDA, 2 for HIP.
 */
#define UMAMI_META_DEVICE 0

/*
 `int`: external legs.
 */
#define UMAMI_META_PARTICLE_COUNT 1

/*
 `int`: diagrams.
 */
#define UMAMI_META_DIAGRAM_COUNT 2

/*
 `int`: rows of the helicity table.
 */
#define UMAMI_META_HELICITY_COUNT 3

/*
 `int`: colour flows.
 */
#define UMAMI_META_COLOR_COUNT 4

/*
 `double[legs]`: masses of the legs in GeV, of the card that was read last.
 */
#define UMAMI_META_MASSES 5

/*
 `double[legs, 4]`: (E, px, py, pz) in GeV, incoming ones with positive energy. Needed.
 */
#define UMAMI_IN_MOMENTA 0

/*
 `double`: alpha_s. Otherwise the parameter `aS` of the card, 0.118 where there is none.
 */
#define UMAMI_IN_ALPHA_S 1

/*
 `int`: which of the library's matrix elements. Otherwise the first.
 */
#define UMAMI_IN_FLAVOR_INDEX 2

/*
 `double` in [0, 1), for the colour flow. Otherwise 0.5.
 */
#define UMAMI_IN_RANDOM_COLOR 3

/*
 `double` in [0, 1), for the helicity. Otherwise 0.5.
 */
#define UMAMI_IN_RANDOM_HELICITY 4

/*
 `double` in [0, 1), for the diagram. Otherwise 0.5.
 */
#define UMAMI_IN_RANDOM_DIAGRAM 5

/*
 `int`: a row of the helicity table; the matrix element is what it contributes to the sum.
 */
#define UMAMI_IN_HELICITY_INDEX 6

/*
 `int`: a diagram, by which the colour flow is drawn.
 */
#define UMAMI_IN_DIAGRAM_INDEX 7

/*
 `double`: |M|^2 in GeV^(4-2n) for n outgoing particles, summed over helicities and colours, averaged over those of
 the initial state; without a weight of any channel.
 */
#define UMAMI_OUT_MATRIX_ELEMENT 0

/*
 `double[diagrams]`: squared diagrams, as shares of the sum of those that have a channel; 0 for the others.
 */
#define UMAMI_OUT_DIAGRAM_AMP2 1

/*
 `int`: the colour flow, drawn by |JAMP|^2 among those that the diagram allows.
 */
#define UMAMI_OUT_COLOR_INDEX 2

/*
 `int`: the row of the helicity table, drawn by its share in the matrix element.
 */
#define UMAMI_OUT_HELICITY_INDEX 3

/*
 `int`: the diagram, drawn by the squared diagrams.
 */
#define UMAMI_OUT_DIAGRAM_INDEX 4

/*
 Of a library for GPUs: the pointer is the CUstream into which all work is put. Otherwise, and for NULL, that is the
 legacy default stream.
 */
#define UMAMI_OUT_GPU_STREAM 5

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/*
 Puts a piece of data about the process into `result`.

 The caller sees to it:
 `result` is NULL or points at an `int`, or for the masses at as many doubles as there are legs.
 */
int32_t umami_get_meta(int key, void *result);

/*
 Which inputs there are: points `supported` at an array of the library's, with `count` entries by key.

 The caller sees to it:
 Each argument is NULL or points at a variable of its type.
 */
int32_t umami_supported_inputs(const bool **supported,
                               int *count);

/*
 Which inputs are needed.

 The caller sees to it:
 As for `umami_supported_inputs`.
 */
int32_t umami_required_inputs(const bool **required, int *count);

/*
 Which outputs there are.

 The caller sees to it:
 As for `umami_supported_inputs`.
 */
int32_t umami_supported_outputs(const bool **supported, int *count);

/*
 Creates an instance for one thread at a time and puts it into `handle`. The card is a parameter card; NULL or ""
 means the values that came with the process.

 The caller sees to it:
 `handle` is NULL or points at a pointer; the path is NULL or ends in NUL.
 */
int32_t umami_initialize(void **handle,
                         const char *param_card_path);

/*
 Frees an instance. NULL is allowed and does nothing.
 */
int32_t umami_free(void *handle);

/*
 Evaluates events: reads the inputs and fills in the outputs that are asked for.

 An event whose momenta are no event's (not finite, not conserved, not on their mass shells), or whose |M|^2 is not
 finite, has NaN as its matrix element and 0 as its squared diagrams; what is wrong is said once on stderr.

 Of a library for GPUs all arrays lie in the memory of the GPU. The call puts its work into the stream (output 5) and
 returns; indices that name nothing make an event bad, and nothing is said of bad events.

 The caller sees to it:
 Keys and pointers are as many as their counts say; each pointer that is not NULL points at an array of its key's
 type that reaches to the last event of the call, and nobody writes the events of this call in the meantime. On a GPU
 that lasts until the stream has come past the work.
 */
int32_t umami_matrix_element(void *handle,
                             size_t count,
                             size_t stride,
                             size_t offset,
                             size_t input_count,
                             const int *input_keys,
                             const void *const *inputs,
                             size_t output_count,
                             const int *output_keys,
                             void *const *outputs);

/*
 Sets a parameter of the card for this instance, such as "MDL_MT" (capitals and the prefix do not matter). All that
 follows from it is computed anew, except that a width stays as it is. Imaginary parts are ignored: these parameters
 are real.

 The caller sees to it:
 The name is NULL or ends in NUL.
 */
int32_t umami_set_parameter(void *handle,
                            const char *name,
                            double parameter_real,
                            double parameter_imag);

/*
 Gives a parameter of the card as this instance has it.

 The caller sees to it:
 The name is NULL or ends in NUL; the others are NULL or point at doubles.
 */
int32_t umami_get_parameter(void *handle,
                            const char *name,
                            double *parameter_real,
                            double *parameter_imag);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* MEBRIDGE_UMAMI_H */
