/* A stand-in for libnvidia-ml.so.1, for tests and measurements: shared by its three parts.
 *
 * It talks to no driver. It serves the values of a plain text state file ($FAKENVML_STATE), which it reads again on every
 * call when the file changed, and it fails the way drivers do. Written from the public NVML names, numbers and layouts.
 */
#ifndef FAKENVML_H
#define FAKENVML_H
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define API __attribute__((visibility("default")))
typedef int R;
typedef unsigned long long ull;
enum { OK = 0, UNINIT = 1, INVAL = 2, NOTSUPP = 3, NOPERM = 4, NOTFOUND = 6,
       SMALL = 7, NODRIVER = 9, TIMEOUT = 10, LOST = 15, RESET = 16,
       MISMATCH = 18, NODATA = 21, ARGVER = 25, UNKNOWN = 999 };

#define MAXGPU 64
#define MAXPROC 64
#define MAXXID 256

typedef struct { unsigned pid; long long mem_mib; int sm, mm, enc, dec; char type; } Proc;
enum { F_NONE, F_HANG, F_HANG_D, F_HANG_FILE, F_ERR, F_SLOW };
#define IS_HANG(k) ((k) == F_HANG || (k) == F_HANG_D || (k) == F_HANG_FILE)
typedef struct {
  int idx;
  char name[96], uuid[96], serial[32], fail_in[64];
  double util, mem_util, enc, dec, temp, mem_temp, fan, power, power_limit;
  double sm_clk, mem_clk, sm_clk_max, mem_clk_max, pcie_tx, pcie_rx;
  double mem_total_mib, mem_used_mib, mem_reserved_mib, bar1_total, bar1_used;
  double pcie_gen, pcie_width, jitter, nvlinks, nvlink_kib_s, energy_mj;
  ull ecc_corr, ecc_uncorr, throttle, retired;
  int ecc, pstate, persistence, mig, mig_parts, cc_major, cc_minor, compute_mode;
  int fail, fail_code, fail_ms, resets; /* resets: how often it was reset */
  int nproc;
  Proc proc[MAXPROC];
} Gpu;

typedef struct {
  int ngpu, cuda, init_code, init_ms, global_lock, load; /* load: how often the driver was loaded */
  long latency_us;
  char driver[80], nvml[80];
  Gpu g[MAXGPU];
  int nxid;
  struct { int gpu; ull code; } xid[MAXXID];
} State;

/* A handle says by its place which GPU it is, and which MIG part of it (0: the whole), so it stays valid across reloads. */
#define MAXPART 8
typedef struct { int used; } Handle;
extern Handle handles[MAXPART * MAXGPU];
extern State S;
extern pthread_mutex_t mu; /* guards S */
extern int refs, opened_at_load, opened_at_reset[MAXGPU];
extern double t0;

double now(void);
void msleep(long ms);
void refresh(void); /* call with mu held */
Gpu snap(int i);
void count(const char *fn); /* one call more, for $FAKENVML_COUNTS */
void dump_counts(void);
R gate(int i, const char *fn, int is_handle); /* every device call: count, latency, then the failure asked for */
#endif
