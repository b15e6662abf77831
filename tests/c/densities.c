/* Densities and alpha_s through the C interface: numbers that are linear in ln x and ln Q, which interpolation gives exactly,
   and what is refused. Run as: densities FILE; its x f(x, Q) are (30 + code) (20 + ln x + ln Q). */
#include "mebridge.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fail(const char *what) {
    fprintf(stderr, "%s: %s\n", what, mebridge_last_error());
    exit(1);
}

static void near_to(const char *what, double found, double wanted) {
    if (fabs(found / wanted - 1.0) > 1e-10) {
        fprintf(stderr, "%s: %.17g, and not %.17g\n", what, found, wanted);
        exit(1);
    }
}

static void refused(int32_t status, const char *why) {
    const char *code = strcmp(why, "not an open") == 0 ? "bad_handle" : "call";
    if (status == MEBRIDGE_OK || !strstr(mebridge_last_error(), why) || strcmp(mebridge_last_error_code(), code) != 0) {
        fail(why);
    }
}

int main(int count, char **arguments) {
    struct mebridge_densities *densities = NULL;
    const int32_t codes[4] = {21, -1, 2, 21}, higgs[4] = {21, 25, 2, 21};
    const double x[4] = {1e-3, 0.02, 0.3, 5e-5}, q[4] = {91.188, 10.0, 500.0, 2000.0};
    const double scales[3] = {2.0, 100.0, 10000.0}, q_s[2] = {10.0, 1000.0}, falling[3] = {2.0, 1.0, 10000.0};
    double values[4], range[4], table[3], alpha_s[2];
    int32_t own[3];

    if (*mebridge_last_error_code() != 0) {
        fail("the code of no error");
    }
    if (count != 2 || mebridge_densities_open(arguments[1], &densities) != MEBRIDGE_OK) {
        fail("open");
    }
    if (mebridge_densities_codes(densities, NULL) != 3 || mebridge_densities_codes(densities, own) != 3 || own[0] != -1 ||
        own[1] != 21 || own[2] != 2) {
        fail("codes");
    }
    if (mebridge_densities_range(densities, range) != MEBRIDGE_OK) {
        fail("range");
    }
    near_to("least x", range[0], 1e-6);
    near_to("largest x", range[1], 1.0);
    near_to("least Q", range[2], 5.0);
    near_to("largest Q", range[3], 1e5);
    if (mebridge_densities_evaluate(densities, 4, codes, x, q, values) != MEBRIDGE_OK) {
        fail("evaluate");
    }
    for (int i = 0; i < 4; i++) {
        near_to("x f(x, Q)", values[i], (30.0 + codes[i]) * (20.0 + log(x[i]) + log(q[i])));
    }
    refused(mebridge_densities_evaluate(densities, 4, higgs, x, q, values), "there are no densities of 25 (PDG code)");
    refused(mebridge_densities_evaluate(densities, 4, codes, x, q, NULL), "values");
    refused(mebridge_densities_evaluate(densities, 4, codes, x, range, range), "values");
    if (mebridge_densities_evaluate(densities, 0, NULL, NULL, NULL, NULL) != MEBRIDGE_OK) {
        fail("no points");
    }
    mebridge_densities_close(densities);
    mebridge_densities_close(NULL);
    refused(mebridge_densities_codes(densities, own) < 0 ? MEBRIDGE_ERROR : MEBRIDGE_OK, "not an open");
    refused(mebridge_densities_open("nowhere_0000.dat", &densities), "nowhere");

    for (int i = 0; i < 3; i++) {
        table[i] = 0.2 - 0.01 * log(scales[i]);
    }
    if (mebridge_alpha_s(3, scales, table, 2, q_s, alpha_s) != MEBRIDGE_OK) {
        fail("alpha_s");
    }
    for (int i = 0; i < 2; i++) {
        near_to("alpha_s", alpha_s[i], 0.2 - 0.01 * log(q_s[i]));
    }
    refused(mebridge_alpha_s(3, falling, table, 2, q_s, alpha_s), "positive ascending scales");
    puts("all good");
    return 0;
}
