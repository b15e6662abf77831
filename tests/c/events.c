/* Events through the C interface: what it takes, what it refuses, and a cut of the caller's. Run as: events LIBRARY. */
#include "mebridge.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char RUN[] =
    "{\"matrix_elements\": [[\"%s\", 0]],"
    " \"run\": {\"energy\": 1000.0, \"alpha_s\": [[1.0, 10000.0], [0.118, 0.118]], \"threads\": 2, \"widths\": 15.0,"
    " \"scale\": {\"dynamical\": \"ht/2\", \"factor\": 1.0},"
    " \"elements\": [{\"windows\": [{\"observable\": \"pt\", \"legs\": [[2]], \"least\": 20.0}]}]}}";
static const char SURVEY[] =
    "{\"survey\": {\"settings\": {\"events\": 1000, \"overweight\": 0.01, \"seed\": 1}, \"file\": \"survey\"}}";
static const char ROUND[] =
    "{\"round\": {\"settings\": {\"events\": 1000, \"overweight\": 0.01, \"seed\": 1}, \"number\": 0, \"file\": \"events\"}}";

static void fail(const char *what) {
    fprintf(stderr, "%s: %s\n", what, mebridge_last_error());
    exit(1);
}

/* Keeps the first mean that an answer has. */
static void take(void *context, const char *answer) {
    const char *sums = strstr(answer, "\"sums\":[");
    const char *mean = sums ? strchr(sums, ',') : NULL;
    *(double *)context = mean ? atof(mean + 1) : -1.0;
}

/* Leaves the half of the events in which the first particle goes forward. */
static int32_t forward(void *context, uint32_t element, size_t events, size_t legs, const double *momenta, bool *passes) {
    if (context || element != 0 || legs != 4) {
        return 1;
    }
    for (size_t i = 0; i < events; i++) {
        passes[i] = momenta[(legs * i + 2) * 4 + 3] > 0.0;
    }
    return 0;
}

static int32_t broken(void *context, uint32_t element, size_t events, size_t legs, const double *momenta, bool *passes) {
    (void)context, (void)element, (void)events, (void)legs, (void)momenta, (void)passes;
    return 1;
}

static double surveyed(const char *run, mebridge_events_cut cut) {
    struct mebridge_events *events = NULL;
    double mean = 0.0;
    if (mebridge_events_open(run, cut, NULL, &events) != MEBRIDGE_OK) {
        fail("open");
    }
    if (mebridge_events_call(events, SURVEY, take, &mean) != MEBRIDGE_OK) {
        fail("survey");
    }
    if (mebridge_events_call(events, ROUND, NULL, NULL) != MEBRIDGE_OK) {
        fail("round");
    }
    mebridge_events_close(events);
    return mean;
}

/* A request that is no run, and a part of the message. */
static void refused(const char *request, const char *why) {
    struct mebridge_events *events = NULL;
    if (mebridge_events_open(request, NULL, NULL, &events) == MEBRIDGE_OK || !strstr(mebridge_last_error(), why)) {
        fail(why);
    }
}

int main(int count, char **arguments) {
    char run[4096];
    struct mebridge_events *events = NULL;
    if (count != 2 || snprintf(run, sizeof run, RUN, arguments[1]) >= (int)sizeof run) {
        return 1;
    }
    double all = surveyed(run, NULL), half = surveyed(run, forward);
    printf("%g pb, of which %g forward\n", all, half);
    if (!(all > 0.0 && half > 0.45 * all && half < 0.55 * all)) {
        fail("the cut");
    }
    if (mebridge_events_open(NULL, NULL, NULL, &events) == MEBRIDGE_OK ||
        mebridge_events_open("{}", NULL, NULL, &events) == MEBRIDGE_OK ||
        mebridge_events_open(run, NULL, NULL, NULL) == MEBRIDGE_OK) {
        fail("what is no run was taken");
    }
    refused("{\"plan\": \"x\", \"threads\": 1, \"matrix_elements\": []}", "`matrix_elements` and `run`, or `plan`");
    refused("{\"plan\": \"x\"}", "`plan` and `threads`");
    refused("{\"matrix_elements\": [], \"run\": {\"energy\": 1.0}}", "run: missing field");
    refused("{\"plans\": \"x\"}", "unknown field `plans`");
    if (mebridge_events_open(run, broken, NULL, &events) != MEBRIDGE_OK) {
        fail("open");
    }
    if (mebridge_events_call(events, ROUND, NULL, NULL) == MEBRIDGE_OK ||
        mebridge_events_call(events, "{\"other\": 1}", NULL, NULL) == MEBRIDGE_OK ||
        mebridge_events_call(events, SURVEY, NULL, NULL) == MEBRIDGE_OK) {
        fail("what cannot be done was done");
    }
    mebridge_events_close(events);
    struct mebridge_events *other = NULL;
    if (mebridge_events_open(run, NULL, NULL, &other) != MEBRIDGE_OK || other == events) {
        fail("open");
    }
    if (mebridge_events_call(events, SURVEY, NULL, NULL) == MEBRIDGE_OK) {
        fail("a handle that is closed was taken");
    }
    mebridge_events_close(events);
    double numbers[16] = {0.5};
    if (mebridge_events_weigh(other, 0, 0, 1, 2, numbers, numbers) == MEBRIDGE_OK ||
        !strstr(mebridge_last_error(), "numbers") || !strstr(mebridge_last_error(), "weights")) {
        fail("arrays that overlap were taken");
    }
    mebridge_events_close(other);
    puts("all good");
    return 0;
}
