/* SPDX-License-Identifier: BSD-3-Clause */
/* Options of the fake driver from the environment (README.md lists them), and fatal errors. */
#ifndef FAKECUDA_OPTIONS_H
#define FAKECUDA_OPTIONS_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace fake
{

enum peer_mode { PEER_ALL, PEER_PAIRS, PEER_NONE };
enum ipc_mode { IPC_ALL, IPC_SEEN, IPC_UNOPENED, IPC_NONE };
enum nic_mode { NIC_LATE, NIC_UNFLUSHED, NIC_ORDERED, NIC_NONE };
enum order { ORDER_FORWARD, ORDER_REVERSE, ORDER_RANDOM, ORDER_LAG };

constexpr int MAX_DEVICES = 16;

struct options {
    int devices;              /* of the machine */
    std::vector<int> visible; /* ordinal -> number on the machine */
    peer_mode peer;
    int mig; /* instances of a GPU, each of which is a device; 0: devices are GPUs */
    ipc_mode ipc;
    nic_mode nic;
    uint64_t nic_seed;
    bool reuse, sync_alloc;
    size_t memory; /* bytes per device and process */
    int sms;
    bool mps; /* what the driver says; kernels of all processes run together anyway */
    int version;
    bool delayed;
    uint64_t delay_seed;
    double rate; /* bytes per second of copies between host and device; 0: they take no time */
    order threads;
    uint64_t order_seed, weak_seed, jitter_seed;
    double timeout; /* seconds */
    uint64_t session;
    std::string log, kernels;
    bool ptx;             /* interpret PTX where g++ compiled the kernel, too */
    std::string ptx_file; /* instead of the image's */
};

/* Read at the first use. */
const options &opt();

/* A pseudo-random number; the state must not be 0. */
static inline uint64_t draw(uint64_t &state)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

/* A state to draw from, out of what tells users apart. Never 0. */
static inline uint64_t seed(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t s = (a + 1) * 0x9e3779b97f4a7c15u ^ (b + 7) * 0xbf58476d1ce4e5b9u ^
                 (c + 3) * 0x94d049bb133111ebu;
    s ^= s >> 29;
    return 0 == s ? 1 : s;
}

double seconds();

/* A line to FAKECUDA_LOG. */
void note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A line to stderr. die() aborts. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
[[noreturn]] void die(const char *format, ...) __attribute__((format(printf, 1, 2)));

} /* namespace fake */

#endif
