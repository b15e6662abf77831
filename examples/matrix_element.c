/* |M|^2 of one phase-space point by the C interface. After `make build`:
 *
 *     cc examples/matrix_element.c -Iinclude -Ltarget/release -lmebridge -lm -o build/matrix_element
 *     LD_LIBRARY_PATH=target/release build/matrix_element "g g > t t~"
 *
 * The argument is a process of two particles that go out, both of the top quark's mass: its name, a process file, or a
 * directory that MG5aMC wrote. */
#include <math.h>
#include <mebridge.h>
#include <stdio.h>

static int failed(void) {
  fprintf(stderr, "%s\n", mebridge_last_error());
  return 1;
}

int main(int argc, char **argv) {
  struct mebridge_options options = {.size = sizeof options, .process = argc > 1 ? argv[1] : "g g > t t~"};
  struct mebridge_bridge *bridge;
  if (mebridge_create(&options, 1, &bridge) != MEBRIDGE_OK)
    return failed();

  /* (E, px, py, pz) in GeV: beams of 500 GeV, top quarks at 90 degrees to them. */
  const double e = 500, mass = 173, p = sqrt(e * e - mass * mass);
  const double momenta[4][4] = {{e, 0, 0, e}, {e, 0, 0, -e}, {e, p, 0, 0}, {e, -p, 0, 0}};
  const double alpha_s = 0.118;
  double matrix_element;
  struct mebridge_sample sample = {
      .size = sizeof sample,
      .events = 1,
      .momenta = momenta[0],
      .momenta_strides = {16, 4, 1}, /* from an event, a leg and a component to the next */
      .alpha_s = &alpha_s,
      .matrix_elements = &matrix_element,
  };
  if (mebridge_evaluate(bridge, &sample) != MEBRIDGE_OK)
    return failed();
  printf("%s: |M|^2 = %.10f\n", mebridge_process_name(bridge), matrix_element);
  mebridge_delete(bridge);
  return 0;
}
