/* What callers do that they should not: counts of events that no memory holds, values that are no numbers, arrays that
 * another thread writes into, pointers that lead nowhere, threads that end, forks. Each is an error of the call and leaves
 * the program alive. The process is named by CUDACPP_RUNTIME_PROCESS. */
#define _DEFAULT_SOURCE
#include "mebridge.h"
#include "mebridge_umami.h"
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(condition)                                                                  \
  do {                                                                                    \
    if (!(condition)) {                                                                   \
      printf("line %d: %s does not hold; last error: %s\n", __LINE__, #condition,         \
             mebridge_last_error());                                                      \
      exit(1);                                                                            \
    }                                                                                     \
  } while (0)

enum { NEVT = 512, LEGS = 4 };

void mebridge_set_sde_strategy_(const void *, const void *, const void *);

static double momenta[NEVT][LEGS][4], g_s[NEVT], random_number[NEVT], matrix_elements[NEVT];
static int32_t channels[NEVT], helicity[NEVT], color[NEVT];

static struct mebridge_bridge *busy, *idle;

static int says(const char *text) { return strstr(mebridge_last_error(), text) != NULL; }

static struct mebridge_bridge *create(size_t nevt) {
  struct mebridge_options options = {.size = sizeof options};
  struct mebridge_bridge *bridge = NULL;
  options.backend = "cpu";
  options.cache = "off";
  options.process = getenv("CUDACPP_RUNTIME_PROCESS");
  mebridge_create(&options, nevt, &bridge);
  return bridge;
}

static int run(struct mebridge_bridge *bridge, const int32_t *channel) {
  return mebridge_run(bridge, NEVT, momenta[0][0], g_s, random_number, random_number, channel, NULL,
                      matrix_elements, helicity, color);
}

static void counts(void) {
  static const size_t many[] = {(size_t)1 << 36, (size_t)1 << 48, (size_t)1 << 56, (size_t)1 << 60,
                                (size_t)1 << 63, ~(size_t)0};
  struct mebridge_bridge *one = create(1);
  void *umami = NULL;
  CHECK(one != NULL);
  CHECK(umami_initialize(&umami, NULL) == UMAMI_SUCCESS);
  for (size_t i = 0; i < sizeof many / sizeof *many; i++) {
    const size_t n = many[i];
    for (int strides = 0; strides < 2; strides++) {
      struct mebridge_sample sample = {.size = sizeof sample};
      sample.events = n;
      sample.momenta = momenta[0][0];
      sample.matrix_elements = matrix_elements;
      sample.momenta_strides[0] = strides ? 16 : 0;
      sample.momenta_strides[1] = 4;
      sample.momenta_strides[2] = 1;
      CHECK(mebridge_evaluate(one, &sample) == MEBRIDGE_ERROR);
      CHECK(says("events") && !says("internal"));
    }
    struct mebridge_bridge *bridge = create(n);
    if (bridge == NULL) {
      CHECK(says("no memory holds"));
    } else {
      size_t good;
      CHECK(mebridge_find_good_helicities(bridge, n, momenta[0][0], g_s, &good) == MEBRIDGE_ERROR);
      CHECK(says("number of events"));
      CHECK(mebridge_run(bridge, n, momenta[0][0], g_s, g_s, g_s, NULL, NULL, matrix_elements, helicity,
                         color) == MEBRIDGE_ERROR);
      CHECK(says("number of events"));
      CHECK(mebridge_delete(bridge) == MEBRIDGE_OK);
    }
    const int keys[] = {UMAMI_IN_MOMENTA}, out[] = {UMAMI_OUT_MATRIX_ELEMENT};
    const void *inputs[] = {momenta};
    void *const outputs[] = {matrix_elements};
    CHECK(umami_matrix_element(umami, n, n, 0, 1, keys, inputs, 1, out, outputs) == UMAMI_ERROR);
    CHECK(!says("internal"));
  }
  CHECK(umami_free(umami) == UMAMI_SUCCESS);
  /* More events than are evaluated at a time. */
  struct mebridge_sample sample = {.size = sizeof sample};
  sample.events = 263000;
  double *all = malloc(sample.events * sizeof *all);
  int32_t *fixed = calloc(sample.events, sizeof *fixed), *row = malloc(sample.events * sizeof *row);
  CHECK(all != NULL && fixed != NULL && row != NULL);
  sample.momenta = momenta[0][0];
  sample.momenta_strides[1] = 4;
  sample.momenta_strides[2] = 1;
  sample.matrix_elements = all;
  sample.helicity = row;
  CHECK(mebridge_evaluate(one, &sample) == MEBRIDGE_OK);
  CHECK(sample.bad_events == 0);
  for (size_t i = 0; i < sample.events; i++)
    CHECK(all[i] > 0 && all[i] == all[0] && row[i] == row[0]);
  sample.fixed_helicity = fixed;
  fixed[sample.events - 1] = 1000;
  CHECK(mebridge_evaluate(one, &sample) == MEBRIDGE_ERROR);
  CHECK(says("event 262999 ") && says("1000"));
  free(all);
  free(fixed);
  free(row);
  CHECK(mebridge_delete(one) == MEBRIDGE_OK);
}

/* Structs of programs that were compiled with an earlier or a later header, or forgot the size. */
static void sizes(void) {
  struct {
    struct mebridge_options known;
    size_t later[4];
  } options = {.known = {.size = sizeof options}};
  options.known.process = getenv("CUDACPP_RUNTIME_PROCESS");
  options.known.backend = "cpu";
  options.known.cache = "off";
  struct mebridge_bridge *bridge = NULL;
  CHECK(mebridge_create(&options.known, 1, &bridge) == MEBRIDGE_OK);
  options.later[2] = 1;
  struct mebridge_bridge *none;
  CHECK(mebridge_create(&options.known, 1, &none) == MEBRIDGE_ERROR && none == NULL);
  CHECK(says("options has members that this version") && says("later library"));
  options.later[2] = 0;
  options.known.size = 0;
  CHECK(mebridge_create(&options.known, 1, &none) == MEBRIDGE_ERROR);
  CHECK(says("options->size is 0") && says("sizeof(struct mebridge_options)"));
  /* A string, where an earlier header had it. */
  options.known.size = (size_t)options.known.process;
  CHECK(mebridge_create(&options.known, 1, &none) == MEBRIDGE_ERROR);
  CHECK(says("which no struct mebridge_options has"));
  options.known.size = offsetof(struct mebridge_options, simd) + 1;
  CHECK(mebridge_create(&options.known, 1, &none) == MEBRIDGE_ERROR);
  /* Without the fields from this one on, which are not looked at. */
  options.known.size = offsetof(struct mebridge_options, simd);
  options.known.simd = options.known.fptype = "nonsense";
  CHECK(mebridge_create(&options.known, 1, &none) == MEBRIDGE_OK);
  CHECK(mebridge_delete(none) == MEBRIDGE_OK);

  struct {
    struct mebridge_sample known;
    size_t later[4];
  } sample = {.known = {.size = sizeof sample}};
  sample.known.events = 1;
  sample.known.momenta = momenta[0][0];
  sample.known.momenta_strides[1] = 4;
  sample.known.momenta_strides[2] = 1;
  sample.known.matrix_elements = matrix_elements;
  sample.known.bad_events = 7;
  CHECK(mebridge_evaluate(bridge, &sample.known) == MEBRIDGE_OK && matrix_elements[0] > 0);
  CHECK(sample.known.bad_events == 0);
  sample.later[0] = 1;
  CHECK(mebridge_evaluate(bridge, &sample.known) == MEBRIDGE_ERROR && says("sample has members"));
  sample.known.size = offsetof(struct mebridge_sample, helicity);
  sample.known.helicity = (int32_t *)8;
  sample.known.bad_events = 7;
  matrix_elements[0] = 0;
  CHECK(mebridge_evaluate(bridge, &sample.known) == MEBRIDGE_OK && matrix_elements[0] > 0);
  CHECK(sample.known.bad_events == 7);
  sample.known.size = 0;
  CHECK(mebridge_evaluate(bridge, &sample.known) == MEBRIDGE_ERROR && says("sample->size is 0"));
  CHECK(mebridge_evaluate_on_device(bridge, &sample.known, NULL) == MEBRIDGE_ERROR);
  CHECK(says("sample->size is 0"));
  CHECK(mebridge_evaluate(bridge, NULL) == MEBRIDGE_ERROR && says("sample is a null pointer"));
  CHECK(mebridge_delete(bridge) == MEBRIDGE_OK);
}

/* Arrays of which one is written and shares bytes with another: each pair is named, and nothing is written. What lies
 * between the numbers of an array is free. */
static void overlaps(void) {
  enum { N = 8 };
  struct mebridge_bridge *bridge = create(N);
  static double d[5][N * LEGS * 4];
  static int32_t n[4][N];
  const double *p = momenta[0][0];
  void *const first = d[0], *const second = d[1];
#define RUN(momenta, g, mes, hel, col)                                                                              \
  mebridge_run(bridge, N, momenta, g, random_number, random_number, channels, NULL, (double *)(mes),                \
               (int32_t *)(hel), (int32_t *)(col))
  memcpy(d[0], p, N * LEGS * 4 * sizeof *p);
  memcpy(d[1], g_s, N * sizeof *g_s);
  CHECK(RUN(d[0], d[1], d[2], n[0], n[1]) == MEBRIDGE_OK);
  CHECK(RUN(d[0], d[1], d[0], n[0], n[1]) == MEBRIDGE_ERROR && says("momenta and matrix_elements overlap"));
  CHECK(RUN(d[0], d[1], &d[0][N * LEGS * 4 - 1], n[0], n[1]) == MEBRIDGE_ERROR && says("overlap"));
  CHECK(RUN(d[0], d[1], d[2], second, n[1]) == MEBRIDGE_ERROR && says("g_s and helicity overlap"));
  CHECK(RUN(d[0], d[1], d[2], n[0], n[0]) == MEBRIDGE_ERROR && says("helicity and color overlap"));
  CHECK(RUN(d[0], d[1], d[2], n[0], channels) == MEBRIDGE_ERROR && says("channels and color overlap"));
  CHECK(memcmp(d[0], p, N * LEGS * 4 * sizeof *p) == 0 && channels[0] == 1);

  CHECK(mebridge_one_event(bridge, d[0], 1.2, false, d[1], d[1], NULL) == MEBRIDGE_ERROR);
  CHECK(says("contributions and amp2 overlap"));
  CHECK(mebridge_one_event(bridge, d[0], 1.2, false, NULL, NULL, first) == MEBRIDGE_ERROR);
  CHECK(says("momenta and jamp2 overlap"));
  CHECK(memcmp(d[0], p, N * LEGS * 4 * sizeof *p) == 0);

  struct mebridge_sample sample = {.size = sizeof sample};
  sample.events = N;
  sample.momenta = d[0];
  sample.momenta_strides[0] = LEGS * 4;
  sample.momenta_strides[1] = 4;
  sample.momenta_strides[2] = 1;
  sample.matrix_elements = d[1];
  sample.helicity = n[0];
  CHECK(mebridge_evaluate(bridge, &sample) == MEBRIDGE_OK && sample.bad_events == 0);
  sample.matrix_elements = &d[0][7];
  CHECK(mebridge_evaluate(bridge, &sample) == MEBRIDGE_ERROR && says("momenta and matrix_elements overlap"));
  sample.matrix_elements = (double *)&sample.events;
  CHECK(mebridge_evaluate(bridge, &sample) == MEBRIDGE_ERROR && says("sample and matrix_elements overlap"));
  sample.matrix_elements = d[1];
  sample.amp2 = &d[1][N - 1];
  sample.amp2_stride = N;
  CHECK(mebridge_evaluate(bridge, &sample) == MEBRIDGE_ERROR && says("matrix_elements and amp2 overlap"));
  sample.amp2 = NULL;
  sample.fixed_helicity = sample.helicity;
  CHECK(mebridge_evaluate(bridge, &sample) == MEBRIDGE_ERROR && says("fixed_helicity and helicity overlap"));
  sample.fixed_helicity = NULL;
  sample.alpha_s = sample.matrix_elements;
  CHECK(mebridge_evaluate(bridge, &sample) == MEBRIDGE_ERROR && says("alpha_s and matrix_elements overlap"));
  sample.alpha_s = NULL;
  /* Component by component, 3 N numbers from one to the next, whose second N are the answers of all. */
  static double by_component[LEGS * 4][3][N];
  for (int i = 0; i < LEGS * 4; i++)
    for (int e = 0; e < N; e++) by_component[i][0][e] = momenta[e][i / 4][i % 4];
  sample.momenta = by_component[0][0];
  sample.momenta_strides[0] = 1;
  sample.momenta_strides[1] = 12 * N;
  sample.momenta_strides[2] = 3 * N;
  sample.matrix_elements = by_component[2][1];
  sample.amp2 = by_component[3][2];
  sample.amp2_stride = 3 * N;
  CHECK(mebridge_evaluate(bridge, &sample) == MEBRIDGE_OK && sample.bad_events == 0);
  CHECK(fabs(by_component[2][1][N - 1] / d[1][N - 1] - 1) < 1e-12);
  sample.matrix_elements++;
  CHECK(mebridge_evaluate(bridge, &sample) == MEBRIDGE_OK);
  sample.matrix_elements = &by_component[2][0][N - 1];
  CHECK(mebridge_evaluate(bridge, &sample) == MEBRIDGE_ERROR && says("momenta and matrix_elements overlap"));
  /* The events the other way round: the last one of each component comes first. */
  sample.momenta = &by_component[0][0][N - 1];
  sample.momenta_strides[0] = -1;
  CHECK(mebridge_evaluate(bridge, &sample) == MEBRIDGE_ERROR && says("momenta and matrix_elements overlap"));
  sample.matrix_elements = by_component[2][1];
  CHECK(mebridge_evaluate(bridge, &sample) == MEBRIDGE_OK && sample.bad_events == 0);
  CHECK(mebridge_delete(bridge) == MEBRIDGE_OK);

  static char text[MEBRIDGE_LHE_EVENT_BYTES + MEBRIDGE_LHE_PARTICLE_BYTES];
  size_t written = 0;
  CHECK(mebridge_lhe_events(text, 1, 1, 1, text, sizeof text, &written) == MEBRIDGE_ERROR);
  CHECK(says("records and text overlap"));
  CHECK(mebridge_lhe_events(d, 1, 1, 1, text, sizeof text, (size_t *)&text[8]) == MEBRIDGE_ERROR);
  CHECK(says("text and written overlap"));
}

/* What is no bool of C's counts as true, and places for answers may lie anywhere. */
static void odd_places(void) {
  struct mebridge_options options = {.size = sizeof options};
  const unsigned char true_elsewhere = 255;
  char place[2 * sizeof(void *)] = {0};
  struct mebridge_bridge *bridge;
  size_t good;
  options.process = getenv("CUDACPP_RUNTIME_PROCESS");
  options.backend = "cpu";
  options.cache = "off";
  memcpy(&options.all_helicities, &true_elsewhere, 1);
  CHECK(mebridge_create(&options, 1, (void *)(place + 1)) == MEBRIDGE_OK);
  memcpy(&bridge, place + 1, sizeof bridge);
  CHECK(mebridge_find_good_helicities(bridge, 1, momenta[0][0], g_s, (void *)(place + 1)) == MEBRIDGE_OK);
  memcpy(&good, place + 1, sizeof good);
  CHECK((int64_t)good == mebridge_helicities(bridge));
  CHECK(mebridge_delete(bridge) == MEBRIDGE_OK);
}

static void *page;
static volatile int handled;

/* The call that is under way reads momenta that may not be read: it is interrupted in any case. */
static void call_again(int signal) {
  (void)signal;
  handled = mebridge_legs(busy) == -1 && says("a signal handler called the library") &&
            run(busy, NULL) == MEBRIDGE_ERROR && run(idle, NULL) == MEBRIDGE_ERROR &&
            umami_get_meta(UMAMI_META_DEVICE, page) == UMAMI_ERROR && says("a signal handler called the library");
  mprotect(page, sizeof momenta, PROT_READ | PROT_WRITE);
}

/* A call from a signal handler that interrupted a call of the same thread is an error of that call alone. */
static void signals(void) {
  busy = create(NEVT);
  idle = create(NEVT);
  page = mmap(NULL, sizeof momenta, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(page != MAP_FAILED && signal(SIGSEGV, call_again) != SIG_ERR);
  memcpy(page, momenta, sizeof momenta);
  for (int i = 0; i < 2; i++) {
    handled = 0;
    CHECK(mprotect(page, sizeof momenta, PROT_NONE) == 0);
    CHECK(mebridge_run(busy, NEVT, page, g_s, random_number, random_number, NULL, NULL, matrix_elements, helicity,
                       color) == MEBRIDGE_OK);
    CHECK(handled && matrix_elements[NEVT - 1] > 0);
  }
  CHECK(signal(SIGSEGV, SIG_DFL) != SIG_ERR);
  /* Errors of later calls are told as ever. */
  CHECK(mebridge_delete((struct mebridge_bridge *)12345) == MEBRIDGE_ERROR && says("not an open bridge"));
  CHECK(mebridge_delete(busy) == MEBRIDGE_OK && mebridge_delete(idle) == MEBRIDGE_OK);
}

static void parameters(void) {
  struct mebridge_bridge *bridge = create(1);
  static const double bad[] = {NAN, INFINITY, -INFINITY};
  for (size_t number = 0; mebridge_parameter_name(bridge, number) != NULL; number++) {
    const char *name = mebridge_parameter_name(bridge, number);
    double before, behind;
    CHECK(mebridge_parameter(bridge, name, &before) == MEBRIDGE_OK);
    for (int i = 0; i < 3; i++) {
      CHECK(mebridge_set_parameter(bridge, name, bad[i]) == MEBRIDGE_ERROR);
      CHECK(says(name));
      CHECK(mebridge_parameter(bridge, name, &behind) == MEBRIDGE_OK);
      CHECK(behind == before);
    }
  }
  CHECK(mebridge_delete(bridge) == MEBRIDGE_OK);
}

static volatile int stop;

/* The last channel is none in every other moment, which begins anywhere in a call. */
static void *scribble(void *unused) {
  volatile int32_t *const channel = &channels[NEVT - 1];
  while (!stop) {
    *channel = *channel == 1 ? 2147483647 : 1;
    usleep(30);
  }
  *channel = 1;
  return unused;
}

static void scribbled_channels(void) {
  struct mebridge_bridge *bridge = create(NEVT);
  pthread_t thread;
  stop = 0;
  CHECK(pthread_create(&thread, NULL, scribble, NULL) == 0);
  for (int i = 0; i < 3000; i++)
    if (run(bridge, channels) != MEBRIDGE_OK)
      CHECK(says("there is no channel"));
  stop = 1;
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK(run(bridge, NULL) == MEBRIDGE_OK);
  CHECK(mebridge_delete(bridge) == MEBRIDGE_OK);
}

static pthread_key_t key;

static void at_the_end(void *unused) {
  (void)unused;
  mebridge_delete((struct mebridge_bridge *)12345);
  CHECK(strlen(mebridge_last_error()) > 0);
}

static void *fails_and_ends(void *unused) {
  CHECK(mebridge_delete((struct mebridge_bridge *)12345) == MEBRIDGE_ERROR);
  CHECK(says("not an open bridge"));
  CHECK(pthread_setspecific(key, &key) == 0);
  return unused;
}

static void ending_threads(void) {
  pthread_t thread;
  CHECK(pthread_key_create(&key, at_the_end) == 0);
  CHECK(pthread_create(&thread, NULL, fails_and_ends, NULL) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
}

static void *evaluate(void *unused) {
  while (!stop)
    CHECK(run(busy, NULL) == MEBRIDGE_OK);
  return unused;
}

/* How a child ends; one that waits for ever is ended by its alarm. */
static int child(void (*work)(void)) {
  int status;
  fflush(stdout);
  const pid_t pid = fork();
  CHECK(pid >= 0);
  if (pid == 0) {
    alarm(60);
    work();
    _exit(7);
  }
  CHECK(waitpid(pid, &status, 0) == pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void in_a_child(void) {
  static double own[NEVT];
  int32_t rows[NEVT], flows[NEVT];
  CHECK(mebridge_run(idle, NEVT, momenta[0][0], g_s, random_number, random_number, NULL, NULL, own, rows,
                     flows) == MEBRIDGE_OK);
  if (mebridge_legs(busy) != LEGS)
    CHECK(says("forked"));
  CHECK(mebridge_delete(busy) == MEBRIDGE_OK);
  struct mebridge_bridge *fresh = create(NEVT);
  CHECK(run(fresh, NULL) == MEBRIDGE_OK);
}

static void forks(void) {
  pthread_t thread;
  busy = create(NEVT);
  idle = create(NEVT);
  CHECK(run(idle, NULL) == MEBRIDGE_OK);
  stop = 0;
  CHECK(pthread_create(&thread, NULL, evaluate, NULL) == 0);
  for (int i = 0; i < 20; i++)
    CHECK(child(in_a_child) == 7);
  stop = 1;
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK(mebridge_delete(busy) == MEBRIDGE_OK);
}

static void *initialize(void *unused) {
  while (!stop) {
    void *instance;
    CHECK(umami_initialize(&instance, NULL) == UMAMI_SUCCESS);
    CHECK(umami_free(instance) == UMAMI_SUCCESS);
  }
  return unused;
}

static void initializes_in_a_child(void) {
  void *instance;
  double masses[LEGS];
  CHECK(umami_initialize(&instance, NULL) == UMAMI_SUCCESS);
  CHECK(umami_get_meta(UMAMI_META_MASSES, masses) == UMAMI_SUCCESS && masses[3] == 173);
  CHECK(umami_free(instance) == UMAMI_SUCCESS);
}

/* While a thread is in umami_initialize, where it makes plans under a lock: from the first time on. */
static void forks_while_it_is_initialized(void) {
  pthread_t thread;
  stop = 0;
  CHECK(pthread_create(&thread, NULL, initialize, NULL) == 0);
  for (int i = 0; i < 40; i++) {
    usleep(500 * (i % 9));
    CHECK(child(initializes_in_a_child) == 7);
  }
  stop = 1;
  CHECK(pthread_join(thread, NULL) == 0);
}

static const double s = 1e8;
static const char odd[32];
static const int32_t one = 1;

static void null_strategy(void) { mebridge_set_sde_strategy_(&idle, NULL, &s); }
static void wild_strategy(void) { mebridge_set_sde_strategy_(&idle, (const void *)0x1001, &s); }
static void wild_handle(void) { mebridge_set_sde_strategy_((const void *)0x7, &one, &s); }
static void odd_strategy(void) {
  int32_t two = 2;
  char at[16] = {0};
  double there = s;
  memcpy(at + 1, &two, sizeof two);
  memcpy(at + 5, &there, sizeof there);
  mebridge_set_sde_strategy_(&idle, at + 1, at + 5);
}
static void no_strategy(void) { mebridge_set_sde_strategy_(&idle, odd + 1, &s); }

int main(void) {
  setvbuf(stdout, NULL, _IONBF, 0);
  for (int i = 0; i < NEVT; i++) {
    /* Massless gluons to top quarks of the default card. */
    const double energy = 500, mass = 173, p = sqrt(energy * energy - mass * mass);
    const double z = p * (2 * (i + 0.5) / NEVT - 1), x = sqrt(p * p - z * z);
    const double event[LEGS][4] = {
        {energy, 0, 0, energy}, {energy, 0, 0, -energy}, {energy, x, 0, z}, {energy, -x, 0, -z}};
    memcpy(momenta[i], event, sizeof event);
    g_s[i] = 1.2;
    random_number[i] = 0.5;
    channels[i] = 1;
  }
  forks_while_it_is_initialized();
  counts();
  sizes();
  overlaps();
  odd_places();
  signals();
  parameters();
  scribbled_channels();
  ending_threads();
  forks();
  CHECK(child(null_strategy) == 1);
  CHECK(child(wild_strategy) == 1);
  CHECK(child(wild_handle) == 1);
  CHECK(child(no_strategy) == 1);
  CHECK(child(odd_strategy) == 7);
  puts("all good");
  return 0;
}
