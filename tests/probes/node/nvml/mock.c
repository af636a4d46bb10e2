/* libnvidia-ml.so.1 as a table of values. The file named by NVML_TABLE has a line a value, "GPU KEY VALUE", read at
 * each call so that counters can move; GPU is * for all. A value "!N" is the NVML error N. A key that is not there is
 * NOT_SUPPORTED, as old cards and drivers answer. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef unsigned int u32;
typedef unsigned long long u64;
typedef struct { int index, slot; } *Device;
enum { OK = 0, INVALID = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, TOO_SMALL = 7, TIMEOUT = 10, LOST = 15, WRONG_VERSION = 25 };

static struct { int index, slot; } devices[64];

static int look(const char *gpu, const char *key, char *out) {
    FILE *file = fopen(getenv("NVML_TABLE") ? getenv("NVML_TABLE") : "", "r");
    char line[600], owner[32], name[64], value[500];
    int found = 0;
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "%31s %63s %499[^\n]", owner, name, value) == 3 && !strcmp(owner, gpu) && !strcmp(name, key)) {
            strcpy(out, value);
            found = 1;
        }
    if (file) fclose(file);
    return found;
}

static int text(Device device, const char *key, char *out) {
    char gpu[32] = "host";
    if (device) {
        snprintf(gpu, sizeof gpu, "%d", device->index);
        if (look(gpu, "lost", out)) return LOST;
    }
    if (!look(gpu, key, out) && !(device && look("*", key, out))) return NOT_SUPPORTED;
    return out[0] == '!' ? atoi(out + 1) : OK;
}

static int number(Device device, const char *key, u64 *out) {
    char found[500];
    int code = text(device, key, found);
    if (!code) *out = strtoull(found, NULL, 0);
    return code;
}

static int small(Device device, const char *key, u32 *out) {
    u64 wide = 0;
    int code = number(device, key, &wide);
    if (!code) *out = (u32)wide;
    return code;
}

static int copied(Device device, const char *key, char *out, u32 room) {
    char found[500];
    int code = text(device, key, found);
    if (!code) snprintf(out, room, "%s", found);
    return code;
}

/* The value of a link: "key.LINK" where it is there, else "key". */
static int of_link(Device device, const char *key, u32 link, u64 *out) {
    char own[64];
    snprintf(own, sizeof own, "%s.%u", key, link);
    int code = number(device, own, out);
    return code == NOT_SUPPORTED ? number(device, key, out) : code;
}

int nvmlInitWithFlags(u32 flags) {
    char found[500];
    (void)flags;
    for (int i = 0; i < 64; i++) { devices[i].index = i; devices[i].slot = -1; }
    return look("host", "init", found) ? atoi(found + 1) : OK;
}
int nvmlInit_v2(void) { return nvmlInitWithFlags(0); }
int nvmlShutdown(void) { return OK; }
const char *nvmlErrorString(int code) {
    switch (code) {
    case 9: return "Driver Not Loaded";
    case 10: return "Timeout";
    case 15: return "GPU is lost";
    case 18: return "Driver/library version mismatch";
    default: return "Unknown Error";
    }
}
int nvmlSystemGetDriverVersion(char *out, u32 room) { return copied(NULL, "driver", out, room); }
int nvmlSystemGetCudaDriverVersion_v2(int *out) { return small(NULL, "cuda", (u32 *)out); }
int nvmlDeviceGetCount_v2(u32 *out) { return small(NULL, "count", out); }
int nvmlDeviceGetHandleByIndex_v2(u32 index, Device *out) {
    char gpu[32], found[500];
    snprintf(gpu, sizeof gpu, "%u", index);
    if (look(gpu, "handle", found)) return atoi(found + 1);
    *out = (Device)&devices[index];
    return OK;
}
int nvmlDeviceGetName(Device d, char *out, u32 room) { return copied(d, "name", out, room); }
typedef struct { char legacy[16]; u32 domain, bus, device, id, subsystem; char address[32]; } Pci;
int nvmlDeviceGetPciInfo_v3(Device d, Pci *out) {
    memset(out, 0, sizeof *out);
    return copied(d, "bus", out->address, sizeof out->address);
}
int nvmlDeviceGetMemoryInfo_v2(Device d, u64 *out) {
    if (*(u32 *)out != (40u | 2u << 24)) return WRONG_VERSION;
    int code = number(d, "memory.total", out + 1);
    if (code) return code;
    out[2] = out[4] = 0;
    number(d, "memory.reserved", out + 2);
    number(d, "memory.used", out + 4);
    out[3] = out[1] - out[2] - out[4];
    return OK;
}
int nvmlDeviceGetBAR1MemoryInfo(Device d, u64 *out) { out[1] = out[2] = 0; return number(d, "bar1", out); }
typedef struct { u32 pid; u64 bytes; u32 gpu_instance, compute_instance; } Process;
int nvmlDeviceGetComputeRunningProcesses_v3(Device d, u32 *count, Process *out) {
    u64 pid = 0;
    int code = number(d, "pid", &pid);
    u32 there = code ? 0 : 1, room = *count;
    *count = there;
    if (code && code != NOT_SUPPORTED) return code;
    if (!there) return OK;
    if (room < there) return TOO_SMALL;
    memset(out, 0, sizeof *out);
    out->pid = (u32)pid;
    number(d, "pid.bytes", &out->bytes);
    return OK;
}
int nvmlDeviceGetUtilizationRates(Device d, u32 *out) { out[1] = 0; return small(d, "use", out); }
int nvmlDeviceGetClockInfo(Device d, int kind, u32 *out) { (void)kind; return small(d, "clock", out); }
int nvmlDeviceGetMaxClockInfo(Device d, int kind, u32 *out) { (void)kind; return small(d, "clock.most", out); }
int nvmlDeviceGetCurrentClocksThrottleReasons(Device d, u64 *out) { return number(d, "throttle", out); }
int nvmlDeviceGetCurrentClocksEventReasons(Device d, u64 *out) { return number(d, "throttle", out); }
int nvmlDeviceGetPerformanceState(Device d, u32 *out) { return small(d, "state", out); }
int nvmlDeviceGetTemperature(Device d, int sensor, u32 *out) { (void)sensor; return small(d, "temperature", out); }
int nvmlDeviceGetTemperatureThreshold(Device d, int kind, u32 *out) { (void)kind; return small(d, "temperature.slow", out); }
int nvmlDeviceGetPowerUsage(Device d, u32 *out) { return small(d, "power", out); }
int nvmlDeviceGetEnforcedPowerLimit(Device d, u32 *out) { return small(d, "power.limit", out); }
int nvmlDeviceGetPowerManagementDefaultLimit(Device d, u32 *out) { return small(d, "power.default", out); }
int nvmlDeviceGetEccMode(Device d, u32 *now, u32 *later) { *later = 1; return small(d, "ecc", now); }
int nvmlDeviceGetTotalEccErrors(Device d, int kind, int counter, u64 *out) {
    char key[32];
    snprintf(key, sizeof key, "ecc.%d.%d", kind, counter);
    return number(d, key, out);
}
int nvmlDeviceGetRemappedRows(Device d, u32 *corrected, u32 *bad, u32 *pending, u32 *failed) {
    *corrected = *pending = *failed = 0;
    small(d, "remap.pending", pending);
    small(d, "remap.failed", failed);
    return small(d, "remap", bad);
}
int nvmlDeviceGetCurrPcieLinkGeneration(Device d, u32 *out) { return small(d, "pcie.gen", out); }
int nvmlDeviceGetMaxPcieLinkGeneration(Device d, u32 *out) { return small(d, "pcie.gen.most", out); }
int nvmlDeviceGetCurrPcieLinkWidth(Device d, u32 *out) { return small(d, "pcie.width", out); }
int nvmlDeviceGetMaxPcieLinkWidth(Device d, u32 *out) { return small(d, "pcie.width.most", out); }
int nvmlDeviceGetPcieReplayCounter(Device d, u32 *out) { return small(d, "pcie.replays", out); }
int nvmlDeviceGetComputeMode(Device d, u32 *out) { return small(d, "mode", out); }
int nvmlDeviceGetPersistenceMode(Device d, u32 *out) { return small(d, "persistence", out); }
int nvmlDeviceGetNvLinkState(Device d, u32 link, u32 *out) {
    u64 links = 0, up = 0;
    int code = number(d, "links", &links);
    if (code) return code;
    if (link >= links) return INVALID;
    code = of_link(d, "link", link, &up);
    *out = (u32)up;
    return code;
}
int nvmlDeviceGetNvLinkRemoteDeviceType(Device d, u32 link, u32 *out) { (void)link; return small(d, "link.remote", out); }
int nvmlDeviceGetNvLinkErrorCounter(Device d, u32 link, int counter, u64 *out) {
    char key[32];
    snprintf(key, sizeof key, "link.errors.%d", counter);
    return of_link(d, key, link, out);
}
int nvmlDeviceGetGpuFabricInfoV(Device d, u32 *out) { /* version, uuid[16], status, clique, state, health */
    if (out[0] != (36u | 2u << 24)) return WRONG_VERSION;
    out[5] = out[6] = out[8] = 0;
    small(d, "fabric.health", out + 8);
    return small(d, "fabric", out + 7);
}
int nvmlDeviceGetMigMode(Device d, u32 *now, u32 *later) { *later = 0; return small(d, "mig", now); }
int nvmlDeviceGetMaxMigDeviceCount(Device d, u32 *out) { (void)d; *out = 7; return OK; }
int nvmlDeviceGetMigDeviceHandleByIndex(Device d, u32 slot, Device *out) {
    u32 made = 0;
    small(d, "mig.made", &made);
    *out = d;
    return slot < made ? OK : NOT_FOUND;
}
int nvmlDeviceGetTopologyCommonAncestor(Device a, Device b, int *out) { (void)b; return small(a, "near", (u32 *)out); }
int nvmlDeviceGetP2PStatus(Device a, Device b, int kind, int *out) { (void)b; (void)kind; return small(a, "peer", (u32 *)out); }
typedef struct { u32 id, scope; long long time, latency; u32 type; int code; u64 value; } Field;
int nvmlDeviceGetFieldValues(Device d, int count, Field *out) {
    char key[32];
    for (int i = 0; i < count; i++) {
        snprintf(key, sizeof key, "field.%u", out[i].id);
        out[i].code = number(d, key, &out[i].value);
    }
    return OK;
}
/* Each line "GPU event CODE" is one event, given once a process; then there is silence. */
int nvmlEventSetCreate(void **out) { *out = devices; return OK; }
int nvmlEventSetFree(void *set) { (void)set; return OK; }
int nvmlDeviceRegisterEvents(Device d, u64 kinds, void *set) {
    char found[500];
    (void)kinds; (void)set;
    int code = text(d, "events", found);
    return code == NOT_SUPPORTED ? OK : code;
}
typedef struct { Device device; u64 kind, data; u32 gpu_instance, compute_instance; } Event;
int nvmlEventSetWait_v2(void *set, Event *out, u32 milliseconds) {
    static int given;
    FILE *file = fopen(getenv("NVML_TABLE") ? getenv("NVML_TABLE") : "", "r");
    char line[600];
    int gpu, code, number = 0;
    (void)set;
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "%d event %d", &gpu, &code) == 2 && number++ == given) {
            given++;
            fclose(file);
            *out = (Event){(Device)&devices[gpu], 8, (u64)code, ~0u, ~0u};
            return OK;
        }
    if (file) fclose(file);
    usleep(milliseconds * 1000);
    return TIMEOUT;
}
