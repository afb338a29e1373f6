/* The entry points of NVML. */
#include "fakenvml.h"

static int idx_of(void *h) {
  Handle *p = h;
  if (p < handles || p >= handles + MAXPART * MAXGPU) return -1;
  return (int)(p - handles) % MAXGPU;
}
static int part_of(void *h) { return (int)((Handle *)h - handles) / MAXGPU; }
#define DEV(h) \
  if (!refs) return UNINIT; \
  int i_ = idx_of(h); if (i_ < 0) return INVAL; \
  { R r_ = gate(i_, __func__, 0); if (r_) return r_; } \
  Gpu g_ = snap(i_); Gpu *g = &g_; (void)g;

static double jit(Gpu *g, int metric, double base, double amp, double lo, double hi) {
  if (g->jitter <= 0 || amp <= 0) return base;
  unsigned x = (unsigned)(now() * 2) * 2654435761u ^ (unsigned)(g->idx * 40503 + metric * 977);
  x ^= x >> 13; x *= 0x5bd1e995; x ^= x >> 15;
  double v = base + ((x % 2001) / 1000.0 - 1.0) * amp;
  return v < lo ? lo : v > hi ? hi : v;
}

/* ---------- library ---------- */
static R do_init(const char *fn) {
  count(fn);
  for (;;) {
    pthread_mutex_lock(&mu); refresh(); int code = S.init_code, ms = S.init_ms; pthread_mutex_unlock(&mu);
    if (ms < 0) { msleep(50); continue; }
    if (ms > 0) msleep(ms);
    if (code) return code;
    break;
  }
  if (!refs) { static int once; if (!once) { once = 1; t0 = now(); atexit(dump_counts); } }
  if (!refs) opened_at_load = S.load;
  if (!refs) for (int i = 0; i < MAXGPU; i++) opened_at_reset[i] = S.g[i].resets;
  refs++;
  return OK;
}
API R nvmlInit(void) { return do_init(__func__); }
API R nvmlInit_v2(void) { return do_init(__func__); }
API R nvmlInitWithFlags(unsigned f) { (void)f; return do_init(__func__); }
API R nvmlShutdown(void) { if (!refs) return UNINIT; refs--; return OK; }
API const char *nvmlErrorString(R r) {
  switch (r) {
    case OK: return "Success"; case UNINIT: return "Uninitialized"; case INVAL: return "Invalid Argument";
    case NOTSUPP: return "Not Supported"; case NOPERM: return "Insufficient Permissions"; case NOTFOUND: return "Not Found";
    case SMALL: return "Insufficient Size"; case NODRIVER: return "Driver Not Loaded"; case TIMEOUT: return "Timeout";
    case LOST: return "GPU is lost"; case RESET: return "GPU requires reset"; case MISMATCH: return "Driver/library version mismatch";
    case NODATA: return "No data"; default: return "Unknown Error";
  }
}
static R put(char *d, unsigned n, const char *s) { if (!d) return INVAL; if (strlen(s) + 1 > n) return SMALL; strcpy(d, s); return OK; }
static State *st(void) { pthread_mutex_lock(&mu); refresh(); pthread_mutex_unlock(&mu); return &S; }
API R nvmlSystemGetDriverVersion(char *d, unsigned n) { if (!refs) return UNINIT; count(__func__); return put(d, n, st()->driver); }
API R nvmlSystemGetNVMLVersion(char *d, unsigned n) { if (!refs) return UNINIT; count(__func__); return put(d, n, st()->nvml); }
API R nvmlSystemGetCudaDriverVersion(int *v) { if (!refs) return UNINIT; count(__func__); *v = st()->cuda; return OK; }
API R nvmlSystemGetCudaDriverVersion_v2(int *v) { if (!refs) return UNINIT; count(__func__); *v = st()->cuda; return OK; }
API R nvmlSystemGetProcessName(unsigned pid, char *d, unsigned n) {
  char p[64], b[1024]; snprintf(p, sizeof p, "/proc/%u/cmdline", pid);
  int fd = open(p, O_RDONLY | O_CLOEXEC); if (fd < 0) return NOTFOUND;
  ssize_t k = read(fd, b, sizeof b - 1); close(fd); b[k > 0 ? k : 0] = 0;
  return put(d, n, b);
}
API R nvmlUnitGetCount(unsigned *n) { *n = 0; return OK; }

/* ---------- handles ---------- */
static R cnt_(unsigned *n) { if (!refs) return UNINIT; *n = (unsigned)st()->ngpu; return OK; }
API R nvmlDeviceGetCount(unsigned *n) { count(__func__); return cnt_(n); }
API R nvmlDeviceGetCount_v2(unsigned *n) { count(__func__); return cnt_(n); }
static R byidx(unsigned i, void **h, const char *fn) {
  if (!refs) return UNINIT;
  if (i >= (unsigned)st()->ngpu) return INVAL;
  R r = gate((int)i, fn, 1); if (r) return r;
  *h = &handles[i]; return OK;
}
API R nvmlDeviceGetHandleByIndex(unsigned i, void **h) { return byidx(i, h, __func__); }
API R nvmlDeviceGetHandleByIndex_v2(unsigned i, void **h) { return byidx(i, h, __func__); }
API R nvmlDeviceGetHandleByUUID(const char *u, void **h) {
  if (!refs) return UNINIT;
  for (int i = 0; i < st()->ngpu; i++) if (!strcmp(S.g[i].uuid, u)) return byidx((unsigned)i, h, __func__);
  return NOTFOUND;
}
static void busid(int i, char *b, size_t n, int wide) { snprintf(b, n, wide ? "%08X:%02X:00.0" : "%04X:%02X:00.0", 0, 0x18 + i * 0x11 % 0xd0); }
API R nvmlDeviceGetHandleByPciBusId_v2(const char *u, void **h) {
  if (!refs) return UNINIT;
  for (int i = 0; i < st()->ngpu; i++) { char b[40]; busid(i, b, 40, 1); if (!strcasecmp(b, u)) return byidx((unsigned)i, h, __func__); }
  return NOTFOUND;
}
API R nvmlDeviceGetIndex(void *h, unsigned *o) { DEV(h) *o = (unsigned)i_; return OK; }
API R nvmlDeviceGetMinorNumber(void *h, unsigned *o) { DEV(h) *o = (unsigned)i_; return OK; }
API R nvmlDeviceGetName(void *h, char *d, unsigned n) {
  DEV(h) if (!part_of(h)) return put(d, n, g->name);
  char b[128]; snprintf(b, sizeof b, "%.80s MIG 1g.10gb", g->name); return put(d, n, b);
}
API R nvmlDeviceGetUUID(void *h, char *d, unsigned n) {
  DEV(h) if (!part_of(h)) return put(d, n, g->uuid);
  char b[128]; snprintf(b, sizeof b, "MIG-%d-%d", i_, part_of(h)); return put(d, n, b);
}
API R nvmlDeviceGetSerial(void *h, char *d, unsigned n) { DEV(h) return put(d, n, g->serial); }
typedef struct { char legacy[16]; unsigned domain, bus, device, dev_id, sub_id; char busid[32]; } Pci3;
typedef struct { char busid[16]; unsigned domain, bus, device, dev_id, sub_id, res[4]; } Pci2;
API R nvmlDeviceGetPciInfo_v3(void *h, Pci3 *p) {
  DEV(h) memset(p, 0, sizeof *p); busid(i_, p->legacy, 16, 0); busid(i_, p->busid, 32, 1);
  p->bus = (unsigned)(0x18 + i_ * 0x11 % 0xd0); p->dev_id = 0x233010DE; p->sub_id = 0x16C110DE; return OK;
}
API R nvmlDeviceGetPciInfo_v2(void *h, Pci2 *p) {
  DEV(h) memset(p, 0, sizeof *p); busid(i_, p->busid, 16, 0);
  p->bus = (unsigned)(0x18 + i_ * 0x11 % 0xd0); p->dev_id = 0x233010DE; return OK;
}

/* ---------- metrics ---------- */
API R nvmlDeviceGetUtilizationRates(void *h, unsigned *u) {
  DEV(h) if (g->mig > 0) return NOTSUPP;
  u[0] = (unsigned)jit(g, 1, g->util, g->jitter, 0, 100); u[1] = (unsigned)jit(g, 2, g->mem_util, g->jitter, 0, 100); return OK;
}
API R nvmlDeviceGetEncoderUtilization(void *h, unsigned *u, unsigned *p) { DEV(h) *u = (unsigned)g->enc; *p = 167000; return OK; }
API R nvmlDeviceGetDecoderUtilization(void *h, unsigned *u, unsigned *p) { DEV(h) *u = (unsigned)g->dec; *p = 167000; return OK; }
#define MIB 1048576.0
static ull used_b(Gpu *g) { return (ull)jit(g, 3, g->mem_used_mib * MIB, g->jitter * 8 * MIB, 0, (g->mem_total_mib - g->mem_reserved_mib) * MIB); }
typedef struct { ull total, free, used; } Mem1;
typedef struct { unsigned version; ull total, reserved, free, used; } Mem2;
API R nvmlDeviceGetMemoryInfo(void *h, Mem1 *m) {
  DEV(h) ull t = (ull)(g->mem_total_mib * MIB), r = (ull)(g->mem_reserved_mib * MIB), u = used_b(g);
  if (part_of(h)) { t /= 7; r /= 7; u /= 7; }
  m->total = t; m->used = u + r; m->free = t - m->used; return OK;
}
API R nvmlDeviceGetMemoryInfo_v2(void *h, Mem2 *m) {
  DEV(h) if (m->version != 0x02000028) return ARGVER;
  ull t = (ull)(g->mem_total_mib * MIB), r = (ull)(g->mem_reserved_mib * MIB), u = used_b(g);
  m->total = t; m->reserved = r; m->used = u; m->free = t - r - u; return OK;
}
API R nvmlDeviceGetBAR1MemoryInfo(void *h, ull *m) {
  DEV(h) m[0] = (ull)(g->bar1_total * MIB); m[2] = (ull)(g->bar1_used * MIB); m[1] = m[0] - m[2]; return OK;
}
static unsigned tempv(Gpu *g) { return (unsigned)jit(g, 4, g->temp, g->jitter > 1 ? 1.5 : g->jitter, 0, 120); }
API R nvmlDeviceGetTemperature(void *h, int s, unsigned *t) { (void)s; DEV(h) *t = tempv(g); return OK; }
typedef struct { unsigned version; int sensor; int temp; } Temp1;
API R nvmlDeviceGetTemperatureV(void *h, Temp1 *t) { DEV(h) if (t->version != 0x100000C) return ARGVER; t->temp = (int)tempv(g); return OK; }
API R nvmlDeviceGetTemperatureThreshold(void *h, int k, unsigned *t) { DEV(h) static const unsigned v[] = { 92, 89, 95, 87 }; if (k < 0 || k > 3) return NOTSUPP; *t = v[k]; return OK; }
API R nvmlDeviceGetFanSpeed(void *h, unsigned *v) { DEV(h) if (g->fan < 0) return NOTSUPP; *v = (unsigned)g->fan; return OK; }
API R nvmlDeviceGetFanSpeed_v2(void *h, unsigned k, unsigned *v) { (void)k; DEV(h) if (g->fan < 0) return NOTSUPP; *v = (unsigned)g->fan; return OK; }
API R nvmlDeviceGetNumFans(void *h, unsigned *v) { DEV(h) *v = g->fan < 0 ? 0 : 1; return OK; }
API R nvmlDeviceGetPowerUsage(void *h, unsigned *v) { DEV(h) *v = (unsigned)(1000 * jit(g, 5, g->power, g->jitter * 4, 0, g->power_limit)); return OK; }
API R nvmlDeviceGetPowerManagementLimit(void *h, unsigned *v) { DEV(h) *v = (unsigned)(1000 * g->power_limit); return OK; }
API R nvmlDeviceGetEnforcedPowerLimit(void *h, unsigned *v) { DEV(h) *v = (unsigned)(1000 * g->power_limit); return OK; }
API R nvmlDeviceGetPowerManagementLimitConstraints(void *h, unsigned *a, unsigned *b) { DEV(h) *a = 200000; *b = (unsigned)(1000 * g->power_limit); return OK; }
API R nvmlDeviceGetTotalEnergyConsumption(void *h, ull *v) { DEV(h) *v = (ull)((now() - t0) * g->power * 1000) + 1000000000ULL; return OK; }
API R nvmlDeviceGetPerformanceState(void *h, int *v) { DEV(h) *v = g->pstate; return OK; }
API R nvmlDeviceGetPowerState(void *h, int *v) { DEV(h) *v = g->pstate; return OK; }
static R clk(Gpu *g, int t, unsigned *v, int mx) {
  if (t == 2) *v = (unsigned)(mx ? g->mem_clk_max : g->mem_clk);
  else *v = (unsigned)(mx ? g->sm_clk_max : jit(g, 6, g->sm_clk, g->jitter * 3, 0, g->sm_clk_max));
  return OK;
}
API R nvmlDeviceGetClockInfo(void *h, int t, unsigned *v) { DEV(h) return clk(g, t, v, 0); }
API R nvmlDeviceGetMaxClockInfo(void *h, int t, unsigned *v) { DEV(h) return clk(g, t, v, 1); }
API R nvmlDeviceGetApplicationsClock(void *h, int t, unsigned *v) { DEV(h) return clk(g, t, v, 1); }
API R nvmlDeviceGetCurrentClocksThrottleReasons(void *h, ull *v) { DEV(h) *v = g->throttle; return OK; }
API R nvmlDeviceGetCurrentClocksEventReasons(void *h, ull *v) { DEV(h) *v = g->throttle; return OK; }
API R nvmlDeviceGetSupportedClocksThrottleReasons(void *h, ull *v) { DEV(h) *v = 0x1FF; return OK; }
API R nvmlDeviceGetPcieThroughput(void *h, int c, unsigned *v) { DEV(h) double b = c == 0 ? g->pcie_tx : g->pcie_rx; *v = (unsigned)jit(g, 7 + c, b, b * g->jitter / 100, 0, 6e7); return OK; }
API R nvmlDeviceGetMaxPcieLinkGeneration(void *h, unsigned *v) { DEV(h) *v = (unsigned)g->pcie_gen; return OK; }
API R nvmlDeviceGetCurrPcieLinkGeneration(void *h, unsigned *v) { DEV(h) *v = (unsigned)g->pcie_gen; return OK; }
API R nvmlDeviceGetMaxPcieLinkWidth(void *h, unsigned *v) { DEV(h) *v = (unsigned)g->pcie_width; return OK; }
API R nvmlDeviceGetCurrPcieLinkWidth(void *h, unsigned *v) { DEV(h) *v = (unsigned)g->pcie_width; return OK; }
API R nvmlDeviceGetPcieReplayCounter(void *h, unsigned *v) { DEV(h) *v = 0; return OK; }
API R nvmlDeviceGetEccMode(void *h, int *a, int *b) { DEV(h) *a = *b = g->ecc; return OK; }
API R nvmlDeviceGetTotalEccErrors(void *h, int t, int c, ull *v) { (void)c; DEV(h) if (!g->ecc) return NOTSUPP; *v = t == 0 ? g->ecc_corr : g->ecc_uncorr; return OK; }
API R nvmlDeviceGetMemoryErrorCounter(void *h, int t, int c, int l, ull *v) { (void)c; (void)l; DEV(h) if (!g->ecc) return NOTSUPP; *v = t == 0 ? g->ecc_corr : g->ecc_uncorr; return OK; }
API R nvmlDeviceGetRetiredPagesPendingStatus(void *h, int *v) { DEV(h) *v = 0; return OK; }
API R nvmlDeviceGetRemappedRows(void *h, unsigned *a, unsigned *b, unsigned *c, unsigned *d) { DEV(h) *a = 0; *b = (unsigned)g->retired; *c = 0; *d = 0; return OK; }
API R nvmlDeviceGetPersistenceMode(void *h, int *v) { DEV(h) *v = g->persistence; return OK; }
API R nvmlDeviceGetDisplayMode(void *h, int *v) { DEV(h) *v = 0; return OK; }
API R nvmlDeviceGetDisplayActive(void *h, int *v) { DEV(h) *v = 0; return OK; }
API R nvmlDeviceGetComputeMode(void *h, int *v) { DEV(h) *v = g->compute_mode; return OK; }
API R nvmlDeviceGetMigMode(void *h, unsigned *a, unsigned *b) { DEV(h) if (g->mig < 0) return NOTSUPP; *a = *b = (unsigned)g->mig; return OK; }
API R nvmlDeviceGetMaxMigDeviceCount(void *h, unsigned *v) { DEV(h) *v = g->mig < 0 ? 0 : 7; return OK; }
API R nvmlDeviceGetMigDeviceHandleByIndex(void *h, unsigned n, void **part) {
  DEV(h) if (n >= (unsigned)g->mig_parts || n >= MAXPART - 1) return NOTFOUND;
  *part = &handles[(n + 1) * MAXGPU + (unsigned)i_]; return OK;
}
API R nvmlDeviceGetGpuInstanceId(void *h, unsigned *v) { DEV(h) *v = (unsigned)part_of(h); return part_of(h) ? OK : NOTSUPP; }
API R nvmlDeviceIsMigDeviceHandle(void *h, unsigned *v) { DEV(h) *v = part_of(h) != 0; return OK; }
API R nvmlDeviceGetCudaComputeCapability(void *h, int *a, int *b) { DEV(h) *a = g->cc_major; *b = g->cc_minor; return OK; }
API R nvmlDeviceGetArchitecture(void *h, unsigned *v) { DEV(h) *v = 9; return OK; }
API R nvmlDeviceGetBrand(void *h, unsigned *v) { DEV(h) *v = 2; return OK; }
API R nvmlDeviceGetNumGpuCores(void *h, unsigned *v) { DEV(h) *v = 16896; return OK; }
API R nvmlDeviceGetMemoryBusWidth(void *h, unsigned *v) { DEV(h) *v = 5120; return OK; }

/* ---------- NVLink ---------- */
API R nvmlDeviceGetNvLinkState(void *h, unsigned l, unsigned *v) { DEV(h) if (l >= (unsigned)g->nvlinks) return INVAL; *v = 1; return OK; }
API R nvmlDeviceGetNvLinkErrorCounter(void *h, unsigned l, int c, ull *v) { (void)c; DEV(h) if (l >= (unsigned)g->nvlinks) return INVAL; *v = 0; return OK; }
typedef struct { uint32_t id, scope; int64_t ts, lat; int type; int ret; union { double d; unsigned ui; ull ull_; } v; } Field;
API R nvmlDeviceGetFieldValues(void *h, int n, Field *f) {
  DEV(h)
  for (int k = 0; k < n; k++) {
    f[k].ts = (int64_t)time(NULL) * 1000000; f[k].ret = OK; f[k].type = 3; f[k].v.ull_ = 0;
    switch (f[k].id) {
      case 82: f[k].type = 1; f[k].v.ui = (unsigned)g->mem_temp; break;
      case 91: f[k].type = 1; f[k].v.ui = (unsigned)g->nvlinks; break;
      case 90: f[k].type = 1; f[k].v.ui = 26562; break;
      case 3: case 5: f[k].v.ull_ = g->ecc_corr; break;
      case 4: case 6: f[k].v.ull_ = g->ecc_uncorr; break;
      case 138: case 139: case 140: case 141:   /* throughput data/raw tx/rx, KiB */
        if (!g->nvlinks) { f[k].ret = NOTSUPP; break; }
        f[k].v.ull_ = (ull)((now() - t0 + 10) * g->nvlink_kib_s * (f[k].scope == 0xFFFFFFFFu ? g->nvlinks : 1)); break;
      case 185: case 186: f[k].type = 1; f[k].v.ui = (unsigned)(1000 * g->power); break;
      default: f[k].ret = NOTSUPP;
    }
  }
  return OK;
}

/* ---------- processes ---------- */
typedef struct { unsigned pid; ull mem; } P1;
typedef struct { unsigned pid; ull mem; unsigned gi, ci; } P2;
static int want(Proc *p, int mode) {       /* 0 compute, 1 graphics, 2 mps, 3 all */
  if (mode == 3) return 1;
  if (mode == 0) return p->type == 'C' || p->type == 'B';
  if (mode == 1) return p->type == 'G' || p->type == 'B';
  return p->type == 'M';
}
static ull pmem(Proc *p) { return p->mem_mib < 0 ? ~0ULL : (ull)p->mem_mib << 20; }
static R procs(Gpu *g, int mode, unsigned *n, void *out, int v) {
  unsigned k = 0;
  for (int i = 0; i < g->nproc; i++) k += want(&g->proc[i], mode);
  unsigned room = *n; *n = k;
  if (!k) return OK;
  if (room < k || !out) return SMALL;
  k = 0;
  for (int i = 0; i < g->nproc; i++) {
    Proc *p = &g->proc[i]; if (!want(p, mode)) continue;
    if (v == 1) { P1 *o = out; o[k].pid = p->pid; o[k].mem = pmem(p); }
    else { P2 *o = out; o[k].pid = p->pid; o[k].mem = pmem(p); o[k].gi = o[k].ci = 0xFFFFFFFFu; }
    k++;
  }
  return OK;
}
#define PROCFN(name, mode, v) API R name(void *h, unsigned *n, void *o) { DEV(h) return procs(g, mode, n, o, v); }
PROCFN(nvmlDeviceGetComputeRunningProcesses, 0, 1)
PROCFN(nvmlDeviceGetComputeRunningProcesses_v2, 0, 2)
PROCFN(nvmlDeviceGetComputeRunningProcesses_v3, 0, 3)
PROCFN(nvmlDeviceGetGraphicsRunningProcesses, 1, 1)
PROCFN(nvmlDeviceGetGraphicsRunningProcesses_v2, 1, 2)
PROCFN(nvmlDeviceGetGraphicsRunningProcesses_v3, 1, 3)
PROCFN(nvmlDeviceGetMPSComputeRunningProcesses, 2, 1)
PROCFN(nvmlDeviceGetMPSComputeRunningProcesses_v2, 2, 2)
PROCFN(nvmlDeviceGetMPSComputeRunningProcesses_v3, 2, 3)
typedef struct { unsigned pid; ull ts; unsigned sm, mem, enc, dec; } PU;
API R nvmlDeviceGetProcessUtilization(void *h, PU *o, unsigned *n, ull since) {
  DEV(h) (void)since;
  if (!g->nproc) { *n = 0; return NOTFOUND; }
  if (!o || *n < (unsigned)g->nproc) { *n = (unsigned)g->nproc; return SMALL; }
  *n = (unsigned)g->nproc;
  struct timespec t; clock_gettime(CLOCK_REALTIME, &t);
  for (int i = 0; i < g->nproc; i++) {
    Proc *p = &g->proc[i];
    o[i].pid = p->pid; o[i].ts = (ull)t.tv_sec * 1000000ULL + (ull)t.tv_nsec / 1000;
    o[i].sm = (unsigned)jit(g, 20 + i, p->sm, g->jitter, 0, 100); o[i].mem = (unsigned)p->mm; o[i].enc = o[i].dec = 0;
  }
  return OK;
}

/* ---------- events: each "xid" line is delivered once per event set ---------- */
typedef struct { ull seen; char wants[MAXGPU]; } EvSet;
typedef struct { void *dev; ull type, data; unsigned gi, ci; } Ev;
API R nvmlEventSetCreate(EvSet **s) { *s = calloc(1, sizeof **s); return OK; }
API R nvmlEventSetFree(EvSet *s) { free(s); return OK; }
API R nvmlDeviceGetSupportedEventTypes(void *h, ull *t) { DEV(h) *t = 0x8 | 0x1 | 0x2; return OK; }
API R nvmlDeviceRegisterEvents(void *h, ull t, EvSet *s) { (void)t; DEV(h) s->wants[i_] = 1; return OK; }
API R nvmlEventSetWait_v2(EvSet *s, Ev *e, unsigned ms) {
  count(__func__);
  double end = now() + ms / 1000.0;
  for (;;) {
    pthread_mutex_lock(&mu); refresh();
    while ((ull)S.nxid > s->seen && !s->wants[S.xid[s->seen].gpu & (MAXGPU - 1)]) s->seen++;
    int have = (ull)S.nxid > s->seen; int gi = 0; ull code = 0;
    if (have) { gi = S.xid[s->seen].gpu; code = S.xid[s->seen].code; s->seen++; }
    pthread_mutex_unlock(&mu);
    if (have) { memset(e, 0, sizeof *e); e->dev = &handles[gi & (MAXGPU - 1)]; e->type = 0x8; e->data = code; return OK; }
    if (now() >= end) return TIMEOUT;
    msleep(50);
  }
}
API R nvmlEventSetWait(EvSet *s, Ev *e, unsigned ms) { return nvmlEventSetWait_v2(s, e, ms); }
