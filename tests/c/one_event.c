/* phi phi > phi phi through the C interface: two events with two channels, against the closed
 * formula, and what goes wrong when it should. The argument is the process file. */
#include "mebridge.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                  \
  do {                                                                                    \
    if (!(condition)) {                                                                   \
      printf("line %d: %s does not hold; last error: %s\n", __LINE__, #condition,         \
             mebridge_last_error());                                                      \
      exit(1);                                                                            \
    }                                                                                     \
  } while (0)

enum { NEVT = 2, LEGS = 4 };

static double pole(const double *a, const double *b, double sign, double mass) {
  double p[4];
  for (int k = 0; k < 4; k++)
    p[k] = a[k] + sign * b[k];
  return 1 / (p[0] * p[0] - p[1] * p[1] - p[2] * p[2] - p[3] * p[3] - mass * mass);
}

int main(int argc, char **argv) {
  CHECK(argc == 2);
  CHECK(strlen(mebridge_version()) > 0);
  CHECK(strlen(mebridge_last_error()) == 0);

  const double mass = 125, energy = 500;
  const double p = sqrt(energy * energy - mass * mass);
  const double cosine[NEVT] = {0.3, -0.6};
  const double g_s[NEVT] = {1.2, 0.9};
  const double random[NEVT] = {0.1, 0.9};
  const int32_t channels[NEVT] = {1, 3};
  double momenta[NEVT][LEGS][4];
  for (int i = 0; i < NEVT; i++) {
    const double z = p * cosine[i], x = p * sqrt(1 - cosine[i] * cosine[i]);
    const double event[LEGS][4] = {
        {energy, 0, 0, p}, {energy, 0, 0, -p}, {energy, x, 0, z}, {energy, -x, 0, -z}};
    memcpy(momenta[i], event, sizeof event);
  }

  struct mebridge_options options = {.size = sizeof options};
  struct mebridge_bridge *bridge = (void *)&options;
  options.process = argv[1];
  options.simd = "none";
  options.cache = "off";
  CHECK(mebridge_create(&options, NEVT, &bridge) == MEBRIDGE_OK);
  CHECK(bridge != NULL);
  CHECK(mebridge_legs(bridge) == LEGS);
  CHECK(mebridge_nevt(bridge) == NEVT);
  CHECK(mebridge_helicities(bridge) == 1);
  CHECK(mebridge_colors(bridge) == 1);
  CHECK(mebridge_diagrams(bridge) == 3);
  CHECK(mebridge_good_helicities(bridge) == -1);
  CHECK(strcmp(mebridge_process_name(bridge), "phi phi > phi phi") == 0);
  int32_t row[LEGS] = {7, 7, 7, 7};
  CHECK(mebridge_helicity(bridge, 1, row) == MEBRIDGE_OK);
  CHECK(row[0] == 0 && row[3] == 0);
  CHECK(mebridge_helicity(bridge, 2, row) == MEBRIDGE_ERROR);

  size_t good = 0;
  CHECK(mebridge_find_good_helicities(bridge, NEVT, momenta[0][0], g_s, &good) == MEBRIDGE_OK);
  CHECK(good == 1 && mebridge_good_helicities(bridge) == 1);

  double mes[NEVT], weighted[NEVT];
  int32_t helicity[NEVT], color[NEVT];
  CHECK(mebridge_run(bridge, NEVT, momenta[0][0], g_s, random, random, NULL, NULL, mes, helicity,
                     color) == MEBRIDGE_OK);
  CHECK(color[0] == 0 && color[1] == 0);
  CHECK(mebridge_run(bridge, NEVT, momenta[0][0], g_s, random, random, channels, NULL, weighted,
                     helicity, color) == MEBRIDGE_OK);
  for (int i = 0; i < NEVT; i++) {
    double a[3] = {pole(momenta[i][0], momenta[i][1], 1, mass),
                   pole(momenta[i][0], momenta[i][2], -1, mass),
                   pole(momenta[i][0], momenta[i][3], -1, mass)};
    const double sum = a[0] + a[1] + a[2];
    const double expected = pow(g_s[i], 4) * sum * sum / 2;
    const double own = a[channels[i] - 1];
    const double share = own * own / (a[0] * a[0] + a[1] * a[1] + a[2] * a[2]);
    printf("event %d: %.17g, expected %.17g\n", i, mes[i], expected);
    CHECK(fabs(mes[i] / expected - 1) < 1e-12);
    CHECK(fabs(weighted[i] / (expected * share) - 1) < 1e-12);
    CHECK(helicity[i] == 1);
    CHECK(color[i] == 1);
  }

  /* Of one scalar products of propagators are squared diagrams; what is added to t is small. */
  double stated[NEVT];
  const char *topologies = mebridge_topologies(bridge);
  CHECK(topologies != NULL);
  CHECK(strstr(topologies, "\"vertices\"") != NULL);
  CHECK(mebridge_set_channels(bridge, topologies, 1) == MEBRIDGE_OK);
  CHECK(mebridge_run(bridge, NEVT, momenta[0][0], g_s, random, random, channels, NULL, stated,
                     helicity, color) == MEBRIDGE_OK);
  for (int i = 0; i < NEVT; i++) {
    CHECK(fabs(stated[i] / weighted[i] - 1) < 1e-12);
    CHECK(helicity[i] == 1);
    CHECK(color[i] == 1);
  }
  double weights[NEVT][3];
  CHECK(mebridge_channel_weights(bridge, topologies, 1, NEVT, momenta[0][0], weights[0]) ==
        MEBRIDGE_OK);
  for (int i = 0; i < NEVT; i++) {
    CHECK(fabs(mes[i] * weights[i][channels[i] - 1] / stated[i] - 1) < 1e-12);
    CHECK(fabs(weights[i][0] + weights[i][1] + weights[i][2] - 1) < 1e-15);
  }
  CHECK(mebridge_channel_weights(bridge, topologies, 1, NEVT, NULL, weights[0]) == MEBRIDGE_ERROR);
  CHECK(mebridge_channel_weights(bridge, "[]", 1, NEVT, momenta[0][0], weights[0]) ==
        MEBRIDGE_ERROR);
  CHECK(mebridge_set_channels(bridge, NULL, 1) == MEBRIDGE_ERROR);
  CHECK(mebridge_set_channels(bridge, "[{}]", 1) == MEBRIDGE_ERROR);
  CHECK(strstr(mebridge_last_error(), "vertices") != NULL);
  CHECK(mebridge_set_channels(bridge, topologies, 0) == MEBRIDGE_ERROR);
  CHECK(mebridge_topologies(NULL) == NULL);

  CHECK(mebridge_run(bridge, NEVT + 1, momenta[0][0], g_s, random, random, NULL, NULL, mes,
                     helicity, color) == MEBRIDGE_ERROR);
  CHECK(strstr(mebridge_last_error(), "nevt is 3") != NULL);
  CHECK(mebridge_run(bridge, NEVT, NULL, g_s, random, random, NULL, NULL, mes, helicity, color) ==
        MEBRIDGE_ERROR);
  CHECK(strstr(mebridge_last_error(), "momenta is a null pointer") != NULL);

  CHECK(mebridge_delete(bridge) == MEBRIDGE_OK);
  CHECK(mebridge_delete(bridge) == MEBRIDGE_ERROR);
  CHECK(strstr(mebridge_last_error(), "deleted") != NULL);
  CHECK(mebridge_legs(bridge) == -1);
  CHECK(mebridge_process_name(bridge) == NULL);
  CHECK(mebridge_delete(NULL) == MEBRIDGE_OK);

  options.fptype = "double";
  CHECK(mebridge_create(&options, NEVT, &bridge) == MEBRIDGE_ERROR);
  CHECK(bridge == NULL);
  CHECK(strstr(mebridge_last_error(), "CUDACPP_RUNTIME_FPTYPE") != NULL);
  options.fptype = NULL;
  CHECK(mebridge_create(&options, 0, &bridge) == MEBRIDGE_ERROR);
  CHECK(mebridge_create(&options, NEVT, NULL) == MEBRIDGE_ERROR);
  options.process = "/no/such/file.mebridge";
  CHECK(mebridge_create(&options, NEVT, &bridge) == MEBRIDGE_ERROR);
  CHECK(strstr(mebridge_last_error(), "/no/such/file.mebridge") != NULL);
  printf("all good\n");
  return 0;
}
