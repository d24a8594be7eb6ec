/* SPDX-License-Identifier: BSD-3-Clause */
/* The environment's words. */
#include "options.h"

#include "cuda_emu.h"

#include <cuda.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fcntl.h>
#include <functional>
#include <unistd.h>

namespace emu
{
unsigned modes;
}

namespace fake
{

static const char *word(const char *name)
{
    const char *value = getenv(name);
    return nullptr != value && '\0' != *value ? value : nullptr;
}

static long number(const char *name, long otherwise)
{
    const char *value = word(name);
    return nullptr == value ? otherwise : strtol(value, nullptr, 0);
}

static bool flag(const char *name, bool otherwise)
{
    return 0 != number(name, otherwise ? 1 : 0);
}

/*
 * CUDA_VISIBLE_DEVICES: numbers or UUIDs (or beginnings of them); what comes after the first bad
 * one is not seen.
 */
static std::vector<int> visible_devices(int devices, const char *kind)
{
    const char *value = getenv("CUDA_VISIBLE_DEVICES");
    std::vector<int> out;

    if (nullptr == value) {
        for (int i = 0; i < devices; i++) {
            out.push_back(i);
        }
        return out;
    }
    for (std::string rest = value; !rest.empty();) {
        size_t comma = rest.find(',');
        std::string item = rest.substr(0, comma);
        int found = -1;

        for (int i = 0; i < devices; i++) {
            char uuid[64];
            snprintf(uuid, sizeof(uuid), "%s-66616b65-6375-6461-0000-0000000000%02x", kind, i + 1);
            if (item == std::to_string(i) ||
                (item.size() > 4 && 0 == std::string(uuid).find(item))) {
                found = i;
            }
        }
        if (found < 0) {
            break;
        }
        out.push_back(found);
        rest = std::string::npos == comma ? "" : rest.substr(comma + 1);
    }
    return out;
}

static void read_order(options &o)
{
    const char *value = word("FAKECUDA_SCHED");
    const char *colon = nullptr == value ? nullptr : strchr(value, ':');
    std::string name = nullptr == value
                           ? "fwd"
                           : std::string(value, nullptr == colon ? strlen(value) : colon - value);

    o.order_seed = nullptr == colon ? 1 : strtoull(colon + 1, nullptr, 0);
    if ("fwd" == name) {
        o.threads = ORDER_FORWARD;
    } else if ("rev" == name) {
        o.threads = ORDER_REVERSE;
    } else if ("rand" == name) {
        o.threads = ORDER_RANDOM;
    } else if ("lag" == name) {
        o.threads = ORDER_LAG;
    } else {
        die("FAKECUDA_SCHED=%s is not one of fwd, rev, rand:SEED, lag:SEED", value);
    }
}

static void read_nic(options &o)
{
    const char *const names[] = {"late", "unflushed", "ordered", "none"};
    const char *value = word("FAKECUDA_NIC");
    std::string text = nullptr == value ? "late" : value, name = text.substr(0, text.find(':'));
    int mode = 0;

    while (mode < 4 && names[mode] != name) {
        mode++;
    }
    if (4 == mode) {
        die("FAKECUDA_NIC=%s is not one of late:SEED, unflushed, ordered, none", value);
    }
    o.nic = (nic_mode) mode;
    o.nic_seed = name == text ? 1 : strtoull(text.c_str() + name.size() + 1, nullptr, 0);
}

static peer_mode read_peer()
{
    std::string value = nullptr == word("FAKECUDA_PEER") ? "all" : word("FAKECUDA_PEER");

    if ("all" != value && "pairs" != value && "none" != value) {
        die("FAKECUDA_PEER=%s is not one of all, pairs, none", value.c_str());
    }
    return "all" == value ? PEER_ALL : "pairs" == value ? PEER_PAIRS : PEER_NONE;
}

static ipc_mode read_ipc()
{
    const char *const names[] = {"all", "seen", "unopened", "none"};
    std::string value = nullptr == word("FAKECUDA_IPC") ? "all" : word("FAKECUDA_IPC");
    int mode = 0;

    while (mode < 4 && names[mode] != value) {
        mode++;
    }
    if (4 == mode) {
        die("FAKECUDA_IPC=%s is not one of all, seen, unopened, none", value.c_str());
    }
    return (ipc_mode) mode;
}

/* Processes that share devices: by default those of one job, or children of one parent. */
static uint64_t read_session()
{
    const char *names[] = {"FAKECUDA_SESSION", "PMIX_NAMESPACE"};

    for (const char *name : names) {
        if (nullptr != word(name)) {
            return std::hash<std::string>()(word(name));
        }
    }
    return (uint64_t) getppid();
}

static options read_all()
{
    options o {};

    o.devices = (int) number("FAKECUDA_DEVICES", 1);
    if (o.devices < 0 || o.devices > MAX_DEVICES) {
        die("FAKECUDA_DEVICES=%d is not in 0..%d", o.devices, MAX_DEVICES);
    }
    o.mig = (int) number("FAKECUDA_MIG", 0);
    o.visible = visible_devices(o.devices, 0 == o.mig ? "GPU" : "MIG");
    if (0 != o.mig && o.visible.size() > 1) {
        o.visible.resize(1);
    }
    o.peer = read_peer();
    read_nic(o);
    o.ipc = read_ipc();
    o.reuse = flag("FAKECUDA_REUSE", false);
    o.sync_alloc = flag("FAKECUDA_SYNC_ALLOC", false);
    o.memory = (size_t) number("FAKECUDA_MEM", 8192) << 20;
    o.sms = (int) number("FAKECUDA_SMS", 16);
    o.mps = 0 != number("FAKECUDA_MPS", 0);
    o.version = (int) number("FAKECUDA_VERSION", CUDA_VERSION);
    o.delayed = nullptr != word("FAKECUDA_DELAY");
    o.delay_seed = (uint64_t) number("FAKECUDA_DELAY", 0);
    o.rate = 1e6 * (double) number("FAKECUDA_RATE", 0);
    read_order(o);
    o.weak_seed = (uint64_t) number("FAKECUDA_WEAK", 0);
    o.jitter_seed = (uint64_t) number("FAKECUDA_JITTER", 0);
    o.timeout = nullptr == word("FAKECUDA_TIMEOUT") ? 60 : atof(word("FAKECUDA_TIMEOUT"));
    o.session = read_session();
    o.log = nullptr == word("FAKECUDA_LOG") ? "" : word("FAKECUDA_LOG");
    o.kernels = nullptr == word("FAKECUDA_KERNELS") ? "" : word("FAKECUDA_KERNELS");
    o.ptx = nullptr != word("FAKECUDA_PTX") && std::string("0") != word("FAKECUDA_PTX");
    o.ptx_file = o.ptx && std::string("1") != word("FAKECUDA_PTX") ? word("FAKECUDA_PTX") : "";
    emu::modes = (flag("FAKECUDA_CHECK", true) ? emu::CHECK : 0) |
                 (nullptr != word("FAKECUDA_WEAK") ? emu::WEAK : 0) |
                 (nullptr != word("FAKECUDA_JITTER") ? emu::JITTER : 0);
    return o;
}

const options &opt()
{
    static const options *all = new options(read_all());
    return *all;
}

double seconds()
{
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec + (double) t.tv_nsec * 1e-9;
}

/* One write: lines of several processes do not mix. */
static void put(int fd, const char *format, va_list list)
{
    char line[1024];
    int n = snprintf(line, sizeof(line), "fakecuda: pid %d ", (int) getpid());

    n += vsnprintf(line + n, sizeof(line) - (size_t) n - 1, format, list);
    n = n < (int) sizeof(line) - 2 ? n : (int) sizeof(line) - 2;
    line[n++] = '\n';
    (void) !write(fd, line, (size_t) n);
}

void note(const char *format, ...)
{
    va_list list;
    int fd;

    if (opt().log.empty()) {
        return;
    }
    fd = open(opt().log.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (fd >= 0) {
        va_start(list, format);
        put(fd, format, list);
        va_end(list);
        close(fd);
    }
}

void complain(const char *format, ...)
{
    va_list list;

    va_start(list, format);
    put(STDERR_FILENO, format, list);
    va_end(list);
}

void die(const char *format, ...)
{
    va_list list;

    va_start(list, format);
    put(STDERR_FILENO, format, list);
    va_end(list);
    abort();
}

} /* namespace fake */
