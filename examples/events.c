/* Events of e+ e- > t t~ at 500 GeV by entries of a run card, by the C interface. After `make build`:
 *
 *     cc examples/events.c -Iinclude -Ltarget/release -lmebridge -o build/events
 *     LD_LIBRARY_PATH=target/release build/events build
 *
 * The argument is the folder where Events/run_NN goes; docs/engine.md says what the request and the answer have. */
#include <mebridge.h>
#include <stdio.h>
#include <string.h>

static const char *const request =
    "{\"spec\": {\"process\": \"e+ e- > t t~\", \"events\": 1000, \"seed\": 1, \"conditions\": {\"run_card\": {"
    "\"changed\": [[\"ebeam1\", \"250\"], [\"ebeam2\", \"250\"], [\"use_syst\", \"False\"]], \"folder\": \"%s\"}}},"
    " \"cards\": {}}";

/* How far the run is, and what a user should know of it. Anything but 0 would end the run. */
static int32_t tell(void *context, const char *message) {
  (void)context;
  return fprintf(stderr, "%s\n", message) < 0;
}

/* What was made, as JSON, which is there as long as this call. */
static void take(void *context, const char *made) {
  (void)context;
  puts(made);
}

int main(int argc, char **argv) {
  const char *folder = argc > 1 ? argv[1] : ".";
  char text[1024];
  const int length = snprintf(text, sizeof text, request, folder);
  if (length < 0 || (size_t)length >= sizeof text || strpbrk(folder, "\"\\")) {
    fprintf(stderr, "the name of the folder is too long, or has a quote or a backslash\n");
    return 1;
  }
  struct mebridge_run_hooks hooks = {.size = sizeof hooks, .tell = tell};
  if (mebridge_make_events(text, &hooks, take, NULL) != MEBRIDGE_OK) {
    fprintf(stderr, "%s\n", mebridge_last_error());
    return 1;
  }
  return 0;
}
