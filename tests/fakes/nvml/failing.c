/* Counting calls, and failing as drivers fail: errors, slowness, hangs, uninterruptible sleep. */
#include "fakenvml.h"

static pthread_mutex_t rm = PTHREAD_MUTEX_INITIALIZER; /* the "driver lock" */

/* ---------- call counters: $FAKENVML_COUNTS -> <that>.<pid> ---------- */
#define MAXFN 256
static struct { const char *fn; ull n; } cnt[MAXFN];
static int ncnt;
static pthread_mutex_t cmu = PTHREAD_MUTEX_INITIALIZER;
static double last_dump;
void dump_counts(void) {
  const char *p = getenv("FAKENVML_COUNTS");
  if (!p) return;
  char path[512], fresh[512]; /* one jump, never half of it: who reads may come at any time */
  snprintf(path, sizeof path, "%s.%d", p, (int)getpid());
  snprintf(fresh, sizeof fresh, "%s-%d", p, (int)getpid());
  FILE *f = fopen(fresh, "w");
  if (!f) return;
  ull tot = 0;
  for (int i = 0; i < ncnt; i++) tot += cnt[i].n;
  fprintf(f, "elapsed %.3f\ntotal %llu\n", now() - t0, tot);
  for (int i = 0; i < ncnt; i++) fprintf(f, "%llu %s\n", cnt[i].n, cnt[i].fn);
  fclose(f);
  rename(fresh, path);
}
void count(const char *fn) {
  if (!getenv("FAKENVML_COUNTS")) return;
  pthread_mutex_lock(&cmu);
  int i = 0;
  while (i < ncnt && strcmp(cnt[i].fn, fn)) i++;
  if (i < MAXFN) { if (i == ncnt) { cnt[i].fn = fn; ncnt++; } cnt[i].n++; }
  double t = now();
  if (t - last_dump > 1.0) { last_dump = t; dump_counts(); }
  pthread_mutex_unlock(&cmu);
}

/* Wait in D state (TASK_KILLABLE) for up to 200 ms: a vfork parent is suspended
 * until the child exits; only a fatal signal gets it out, as with a stuck ioctl. */
static void dstate_nap(void) {
  pid_t me = getpid();
  pid_t c = vfork();
  if (c == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int i = 0; i < 4 && getppid() == me; i++) { struct timespec t = { 0, 50000000L }; nanosleep(&t, NULL); }
    _exit(0);
  }
  if (c > 0) while (waitpid(c, NULL, __WALL) < 0 && errno == EINTR) {}
  if (c < 0) msleep(200);
}

/* The real thing: one write to $FAKENVML_DFILE.  With that file on a filesystem
 * frozen by fsfreeze(8) the thread sleeps in D state and not even SIGKILL gets
 * it (or its process) out until the filesystem is thawed. */
static void file_nap(void) {
  const char *p = getenv("FAKENVML_DFILE");
  int fd = p ? open(p, O_WRONLY | O_CLOEXEC) : -1;
  if (fd < 0) { msleep(50); return; }
  if (pwrite(fd, "x", 1, 0) < 0) msleep(50);
  close(fd);
  msleep(20);
}

/* Every device call goes through here: count, latency, then the failure mode. */
R gate(int i, const char *fn, int is_handle) {
  count(fn);
  pthread_mutex_lock(&mu); refresh();
  long lat = S.latency_us; int glock = S.global_lock, n = S.ngpu, stale = S.load != opened_at_load;
  Gpu *g = &S.g[i];
  int was_reset = g->resets != opened_at_reset[i];
  int kind = g->fail, code = g->fail_code, ms = g->fail_ms;
  char in[64]; memcpy(in, g->fail_in, sizeof in);
  pthread_mutex_unlock(&mu);
  if (stale) return UNKNOWN; /* opened below a driver that is gone */
  if (i >= n) return INVAL;
  if (was_reset) return LOST;
  if (glock) { pthread_mutex_lock(&rm); }
  R r = OK;
  if (lat > 0) { struct timespec t = { lat / 1000000, (lat % 1000000) * 1000 }; nanosleep(&t, NULL); }
  int hit = kind != F_NONE && (in[0] ? strstr(fn, in) != NULL : !(is_handle && kind != F_ERR));
  if (hit) {
    if (kind == F_ERR) r = code;
    else if (kind == F_SLOW) msleep(ms);
    else for (;;) {
      if (kind == F_HANG_D) dstate_nap(); else if (kind == F_HANG_FILE) file_nap(); else msleep(50);
      Gpu s = snap(i);
      if (IS_HANG(s.fail)) continue;
      if (s.fail == F_ERR) r = s.fail_code;
      break;
    }
  }
  if (glock) pthread_mutex_unlock(&rm);
  return r;
}
