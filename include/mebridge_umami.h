/*
 * mebridge: UMAMI, the interface of MadSpace and MadGraph7 to matrix elements.
 *
 * Every library file serves one process: a copy of libmebridge that carries it (mebridge umami PROCESS -o FILE),
 * or libmebridge itself with the process of CUDACPP_RUNTIME_PROCESS. Numbers and signatures are those of MadSpace's
 * umami.h, version 1.1; where both are needed, include that file only.
 *
 * Number i of event e is at e + stride * i, momenta at e + stride * (legs * mu + leg). A call processes the `count`
 * events from `offset` on. Floating-point numbers are doubles, indices 32-bit integers from 0. Each thread has its own
 * handle, and threads may call at the same time.
 *
 * Generated from crates/capi/src/umami/mod.rs by cbindgen; do not edit.
 */

#ifndef MEBRIDGE_UMAMI_H
#define MEBRIDGE_UMAMI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 Success.
 */
#define UMAMI_SUCCESS 0

/*
 Failure; `mebridge_last_error` and stderr describe it.
 */
#define UMAMI_ERROR 1

/*
 Not available here (no usable GPU, or no such parameter in the process).
 */
#define UMAMI_ERROR_NOT_IMPLEMENTED 2

/*
 Unknown input.
 */
#define UMAMI_ERROR_UNSUPPORTED_INPUT 3

/*
 Unknown output, or one that this process lacks.
 */
#define UMAMI_ERROR_UNSUPPORTED_OUTPUT 4

/*
 Masses were requested before a parameter card was read.
 */
#define UMAMI_ERROR_UNINITIALIZED_META 5

/*
 Unknown piece of data.
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
 `int`: number of external legs.
 */
#define UMAMI_META_PARTICLE_COUNT 1

/*
 `int`: number of diagrams.
 */
#define UMAMI_META_DIAGRAM_COUNT 2

/*
 `int`: number of rows of the helicity table.
 */
#define UMAMI_META_HELICITY_COUNT 3

/*
 `int`: number of colour flows.
 */
#define UMAMI_META_COLOR_COUNT 4

/*
 `double[legs]`: masses of the legs in GeV, from the card that was read last.
 */
#define UMAMI_META_MASSES 5

/*
 `int`: the major version of UMAMI, 1.
 */
#define UMAMI_META_ABI_MAJOR_VERSION 6

/*
 `int`: the minor version of UMAMI, 1.
 */
#define UMAMI_META_ABI_MINOR_VERSION 7

/*
 `const char *`: what a caller knows the processes of this library by; valid as long as the library is loaded.
 */
#define UMAMI_META_PROCESS_FINGERPRINT 8

/*
 `int`: number of squared orders.
 */
#define UMAMI_META_SQUARED_ORDER_COUNT 9

/*
 `double[legs, 4]`: (E, px, py, pz) in GeV, with positive energy for incoming particles. Required.
 */
#define UMAMI_IN_MOMENTA 0

/*
 `double`: alpha_s. Default: the parameter `aS` of the card, 0.118 if there is none.
 */
#define UMAMI_IN_ALPHA_S 1

/*
 `int`: which of the library's matrix elements. Default: the first.
 */
#define UMAMI_IN_FLAVOR_INDEX 2

/*
 `double` in [0, 1), selects the colour flow. Default: 0.5.
 */
#define UMAMI_IN_RANDOM_COLOR 3

/*
 `double` in [0, 1), selects the helicity. Default: 0.5.
 */
#define UMAMI_IN_RANDOM_HELICITY 4

/*
 `double` in [0, 1), selects the diagram. Default: 0.5.
 */
#define UMAMI_IN_RANDOM_DIAGRAM 5

/*
 `int`: a row of the helicity table; the matrix element is its contribution to the sum.
 */
#define UMAMI_IN_HELICITY_INDEX 6

/*
 `int`: a diagram, which determines the allowed colour flows.
 */
#define UMAMI_IN_DIAGRAM_INDEX 7

/*
 `double`: the strong coupling g_s, instead of alpha_s. Not on GPUs.
 */
#define UMAMI_IN_G_STRONG 9

/*
 `double`: |M|^2 in GeV^(4-2n) for n outgoing particles, summed over helicities and colours, averaged over those of
 the initial state; without any channel weight.
 */
#define UMAMI_OUT_MATRIX_ELEMENT 0

/*
 `double[diagrams]`: squared diagrams, divided by the sum over diagrams that have a channel; 0 for the others.
 */
#define UMAMI_OUT_DIAGRAM_AMP2 1

/*
 `int`: the colour flow, drawn in proportion to |JAMP|^2 among those that the diagram allows.
 */
#define UMAMI_OUT_COLOR_INDEX 2

/*
 `int`: the row of the helicity table, drawn in proportion to its contribution to the matrix element.
 */
#define UMAMI_OUT_HELICITY_INDEX 3

/*
 `int`: the diagram, drawn in proportion to the squared diagrams.
 */
#define UMAMI_OUT_DIAGRAM_INDEX 4

/*
 In a library for GPUs, the pointer is the CUstream for all work. Default, also for NULL: the legacy default stream.
 */
#define UMAMI_OUT_GPU_STREAM 5

/*
 `double[squared orders]`: the contribution of each squared order to the matrix element. On GPUs not together with
 the matrix element.
 */
#define UMAMI_OUT_SQUARED_ORDERS 6

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/*
 Puts a piece of data about the process into `result`.

 The caller guarantees:
 `result` is NULL or points to an `int`, for the masses to one double per leg, for the fingerprint to a pointer.
 */
int32_t umami_get_meta(int key,
                       void *result);

/*
 Points `supported` to a static array that tells, for each of `count` keys, whether the input is supported.

 The caller guarantees:
 Each argument is NULL or points to a variable of its type.
 */
int32_t umami_supported_inputs(const bool **supported,
                               int *count);

/*
 Reports which inputs are required, as `umami_supported_inputs`.

 The caller guarantees:
 As for `umami_supported_inputs`.
 */
int32_t umami_required_inputs(const bool **required, int *count);

/*
 Reports which outputs are supported.

 The caller guarantees:
 As for `umami_supported_inputs`.
 */
int32_t umami_supported_outputs(const bool **supported, int *count);

/*
 Creates an instance, used by one thread at a time, and puts it into `handle`. The path is that of a parameter card;
 NULL or "" selects the values that came with the process.

 The caller guarantees:
 `handle` is NULL or points to a pointer; the path is NULL or ends in NUL.
 */
int32_t umami_initialize(void **handle,
                         const char *param_card_path);

/*
 Frees an instance. NULL is allowed and does nothing.
 */
int32_t umami_free(void *handle);

/*
 Evaluates events: reads the inputs and fills in the requested outputs.

 An event with invalid momenta (not finite, not conserved, not on their mass shells), or whose |M|^2 is not finite,
 has NaN as its matrix element and 0 as its squared diagrams; the first such event is described on stderr.

 In a library for GPUs, all arrays lie in GPU memory. The call puts its work into the stream (output 5) and returns;
 an index out of range makes an event bad, and bad events are not described.

 The caller guarantees:
 The lists have as many keys and pointers as their counts say; each pointer that is not NULL points to an array of
 its key's type that reaches to the last event of the call, and nothing else writes the events of this call in the
 meantime. On a GPU, all of this holds until the stream has completed the work.
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
 Sets a parameter of the card for this instance, such as "MDL_MT" (case and prefix do not matter). Everything that
 depends on it is recomputed, except that a width stays as it is. The imaginary part is ignored: these parameters are
 real.

 The caller guarantees:
 The name is NULL or ends in NUL.
 */
int32_t umami_set_parameter(void *handle,
                            const char *name,
                            double parameter_real,
                            double parameter_imag);

/*
 Writes the value of a parameter of the card in this instance.

 The caller guarantees:
 The name is NULL or ends in NUL; the others are NULL or point to doubles.
 */
int32_t umami_get_parameter(void *handle,
                            const char *name,
                            double *parameter_real,
                            double *parameter_imag);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* MEBRIDGE_UMAMI_H */
