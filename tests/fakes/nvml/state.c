/* The state file: what the stand-in GPUs are, as README.md describes it. */
#include "fakenvml.h"

Handle handles[MAXPART * MAXGPU];
State S;
pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
int refs, opened_at_load, opened_at_reset[MAXGPU];
double t0;
static struct stat last_st;
static int loaded;

double now(void) {
  struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + t.tv_nsec / 1e9;
}
void msleep(long ms) {
  struct timespec t = { ms / 1000, (ms % 1000) * 1000000L };
  while (nanosleep(&t, &t) && errno == EINTR) {}
}

static void gpu_defaults(Gpu *g, int i) {
  memset(g, 0, sizeof *g);
  g->idx = i;
  snprintf(g->name, sizeof g->name, "NVIDIA H100 80GB HBM3");
  snprintf(g->uuid, sizeof g->uuid, "GPU-fa4e0000-0000-4000-8000-%012x", i);
  snprintf(g->serial, sizeof g->serial, "16500000%05d", i);
  g->util = 95; g->mem_util = 40; g->temp = 55; g->mem_temp = 62; g->fan = -1;
  g->power = 520; g->power_limit = 700; g->sm_clk = 1755; g->mem_clk = 2619;
  g->sm_clk_max = 1980; g->mem_clk_max = 2619; g->pcie_tx = 120000; g->pcie_rx = 90000;
  g->mem_total_mib = 81559; g->mem_used_mib = 61440; g->mem_reserved_mib = 551;
  g->bar1_total = 131072; g->bar1_used = 5; g->pcie_gen = 5; g->pcie_width = 16;
  g->nvlinks = 18; g->nvlink_kib_s = 1000000; g->ecc = 1; g->persistence = 1;
  g->cc_major = 9; g->jitter = 0;
}
static int err_code(const char *s, int *kind, int *ms) {
  *kind = F_ERR; *ms = 0;
  if (!strcmp(s, "none") || !strcmp(s, "ok")) { *kind = F_NONE; return OK; }
  if (!strcmp(s, "hang")) { *kind = F_HANG; return OK; }
  if (!strcmp(s, "hang_d")) { *kind = F_HANG_D; return OK; }
  if (!strcmp(s, "hang_file")) { *kind = F_HANG_FILE; return OK; }
  if (!strncmp(s, "slow:", 5)) { *kind = F_SLOW; *ms = atoi(s + 5); return OK; }
  if (!strcmp(s, "lost")) return LOST;
  if (!strcmp(s, "unknown")) return UNKNOWN;
  if (!strcmp(s, "notsupported")) return NOTSUPP;
  if (!strcmp(s, "timeout")) return TIMEOUT;
  if (!strcmp(s, "reset")) return RESET;
  if (!strcmp(s, "noperm")) return NOPERM;
  if (!strcmp(s, "nodata")) return NODATA;
  if (!strcmp(s, "driver_not_loaded")) return NODRIVER;
  if (!strcmp(s, "mismatch")) return MISMATCH;
  return atoi(s) ? atoi(s) : UNKNOWN;
}
static void unscore(char *d, size_t n, const char *s) {
  snprintf(d, n, "%s", s);
  for (; *d; d++) if (*d == '_') *d = ' ';
}
static void set_kv(Gpu *g, const char *k, const char *v) {
  double x = atof(v);
#define NUM(n) if (!strcmp(k, #n)) { g->n = x; return; }
  NUM(util) NUM(mem_util) NUM(enc) NUM(dec) NUM(temp) NUM(mem_temp) NUM(fan) NUM(power)
  NUM(power_limit) NUM(sm_clk) NUM(mem_clk) NUM(sm_clk_max) NUM(mem_clk_max) NUM(pcie_tx)
  NUM(pcie_rx) NUM(mem_total_mib) NUM(mem_used_mib) NUM(mem_reserved_mib) NUM(bar1_total)
  NUM(bar1_used) NUM(pcie_gen) NUM(pcie_width) NUM(jitter) NUM(nvlinks) NUM(nvlink_kib_s)
  NUM(ecc_corr) NUM(ecc_uncorr) NUM(retired) NUM(ecc) NUM(pstate) NUM(persistence) NUM(mig) NUM(mig_parts)
  NUM(cc_major) NUM(cc_minor) NUM(compute_mode) NUM(resets)
#undef NUM
  if (!strcmp(k, "throttle")) g->throttle = strtoull(v, NULL, 0);
  else if (!strcmp(k, "name")) unscore(g->name, sizeof g->name, v);
  else if (!strcmp(k, "uuid")) snprintf(g->uuid, sizeof g->uuid, "%s", v);
  else if (!strcmp(k, "fail_in")) snprintf(g->fail_in, sizeof g->fail_in, "%s", v);
  else if (!strcmp(k, "fail")) g->fail_code = err_code(v, &g->fail, &g->fail_ms);
}
static int sel_range(const char *s, int n, int *a, int *b) {
  if (!strcmp(s, "*")) { *a = 0; *b = n - 1; return 1; }
  if (sscanf(s, "%d-%d", a, b) == 2) return 1;
  if (sscanf(s, "%d", a) == 1) { *b = *a; return 1; }
  return 0;
}
static void parse(FILE *f) {
  static State N;
  memset(&N, 0, sizeof N);
  N.ngpu = 8; N.cuda = 12080;
  strcpy(N.driver, "570.124.06"); strcpy(N.nvml, "12.570.124.06");
  for (int i = 0; i < MAXGPU; i++) gpu_defaults(&N.g[i], i);
  char line[2048];
  while (f && fgets(line, sizeof line, f)) {
    char *h = strchr(line, '#'); if (h) *h = 0;
    char *sv, *w = strtok_r(line, " \t\r\n", &sv), *a, *t;
    if (!w) continue;
    a = strtok_r(NULL, " \t\r\n", &sv);
    if (!a) continue;
    int lo, hi, kind, ms;
    if (!strcmp(w, "gpus")) { N.ngpu = atoi(a); if (N.ngpu > MAXGPU) N.ngpu = MAXGPU; if (N.ngpu < 0) N.ngpu = 0; }
    else if (!strcmp(w, "driver")) snprintf(N.driver, sizeof N.driver, "%s", a);
    else if (!strcmp(w, "cuda")) N.cuda = atoi(a);
    else if (!strcmp(w, "latency_us")) N.latency_us = atol(a);
    else if (!strcmp(w, "load")) N.load = atoi(a);
    else if (!strcmp(w, "global_lock")) N.global_lock = atoi(a);
    else if (!strcmp(w, "init")) { N.init_code = err_code(a, &kind, &ms); N.init_ms = IS_HANG(kind) ? -1 : ms; }
    else if (!strcmp(w, "gpu") && sel_range(a, N.ngpu, &lo, &hi)) {
      while ((t = strtok_r(NULL, " \t\r\n", &sv))) {
        char *e = strchr(t, '='); if (!e) continue; *e = 0;
        for (int i = lo; i <= hi && i < MAXGPU; i++) if (i >= 0) set_kv(&N.g[i], t, e + 1);
      }
    } else if (!strcmp(w, "proc") && sel_range(a, N.ngpu, &lo, &hi)) {
      Proc p = { .mem_mib = 0, .sm = 0, .type = 'C' };
      char *q = strtok_r(NULL, " \t\r\n", &sv);
      if (!q) continue;
      p.pid = !strcmp(q, "self") ? (unsigned)getpid() : (unsigned)strtoul(q, NULL, 10);
      while ((t = strtok_r(NULL, " \t\r\n", &sv))) {
        char *e = strchr(t, '='); if (!e) continue; *e++ = 0;
        if (!strcmp(t, "mem_mib")) p.mem_mib = !strcmp(e, "na") ? -1 : atoll(e);
        else if (!strcmp(t, "sm")) p.sm = atoi(e);
        else if (!strcmp(t, "mem")) p.mm = atoi(e);
        else if (!strcmp(t, "type")) p.type = *e;      /* C, G, B(oth), M(ps) */
      }
      for (int i = lo; i <= hi && i < MAXGPU; i++)
        if (i >= 0 && N.g[i].nproc < MAXPROC) N.g[i].proc[N.g[i].nproc++] = p;
    } else if (!strcmp(w, "xid") && N.nxid < MAXXID) {
      t = strtok_r(NULL, " \t\r\n", &sv);
      N.xid[N.nxid].gpu = atoi(a); N.xid[N.nxid++].code = t ? strtoull(t, NULL, 0) : 79;
    }
  }
  S = N;
}
void refresh(void) {               /* call with mu held */
  const char *p = getenv("FAKENVML_STATE");
  struct stat st;
  if (!p || stat(p, &st)) { if (!loaded) { parse(NULL); loaded = 1; } return; }
  if (loaded && st.st_mtim.tv_sec == last_st.st_mtim.tv_sec && st.st_mtim.tv_nsec == last_st.st_mtim.tv_nsec &&
      st.st_size == last_st.st_size && st.st_ino == last_st.st_ino) return;
  FILE *f = fopen(p, "re");
  if (!f) return;
  parse(f); fclose(f);
  last_st = st; loaded = 1;
}
Gpu snap(int i) { pthread_mutex_lock(&mu); refresh(); Gpu g = S.g[i]; pthread_mutex_unlock(&mu); return g; }
