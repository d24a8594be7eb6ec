/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads that run decoded PTX: their frames, calls, and how the driver starts them. */
#include "ptx_code.h"

#include "memory.h"

#include <cstdlib>

namespace fake
{
namespace ptx
{

void trap(const frame &f, const insn *i, const char *what)
{
    f.t->now = i;
    block_fault(what);
}

void yield(frame &, bool waits)
{
    block_here()->progress += !waits;
    emu::spin();
}

/* Where a thread is in the PTX. */
static unsigned line_of(const block_state *b, const insn *i)
{
    return nullptr == i ? 0 : ptx::line_of(*b->kernel->owner, i->line);
}

unsigned thread_line(const block_state *b, unsigned flat)
{
    return line_of(b, b->threads[flat].now);
}

bool same_place(const block_state *b, unsigned one, unsigned other)
{
    return b->threads[one].now == b->threads[other].now;
}

/* ---- frames ---- */

static uint64_t special_value(const frame &f, const special &s)
{
    const emu::context &c = block_here()->now->context;
    const unsigned lane = c.flat % 32;
    const launch_job *job = (const launch_job *) block_here()->job;

    switch (s.kind) {
    case special::TID_X:
        return c.tid.x;
    case special::TID_Y:
        return c.tid.y;
    case special::TID_Z:
        return c.tid.z;
    case special::CTAID_X:
        return c.bid.x;
    case special::CTAID_Y:
        return c.bid.y;
    case special::CTAID_Z:
        return c.bid.z;
    case special::NTID_X:
        return c.bdim.x;
    case special::NTID_Y:
        return c.bdim.y;
    case special::NTID_Z:
        return c.bdim.z;
    case special::NCTAID_X:
        return c.gdim.x;
    case special::NCTAID_Y:
        return c.gdim.y;
    case special::NCTAID_Z:
        return c.gdim.z;
    case special::LANE:
        return lane;
    case special::WARP:
        return c.flat / 32;
    case special::WARPS:
        return (f.b->threads.size() + 31) / 32;
    case special::SM:
        return c.bid.x % (unsigned) opt().sms;
    case special::SMS:
        return (unsigned) opt().sms;
    case special::MASK_EQ:
        return 1u << lane;
    case special::MASK_LT:
        return (1u << lane) - 1;
    case special::MASK_LE:
        return (2ull << lane) - 1;
    case special::MASK_GT:
        return (uint32_t) ~((2ull << lane) - 1);
    case special::MASK_GE:
        return (uint32_t) ~((1u << lane) - 1);
    case special::DYNAMIC_BYTES:
        return job->shared;
    case special::SHARED_BYTES:
        return f.b->shared.size();
    case special::LOCAL_ADDRESS:
        return (uint64_t) f.local + s.add;
    case special::DYNAMIC_ADDRESS:
        return f.b->shared.size() - job->shared;
    default:
        return f.f->owner->placed[job->context->device][s.number];
    }
}

constexpr size_t round_up(size_t bytes)
{
    return (bytes + 15) / 16 * 16;
}

/* Bytes of a frame: registers, constants and specials; local memory; what it hands over. */
static size_t frame_bytes(const function &f)
{
    return round_up((size_t) f.slots * 8) + round_up(f.local_bytes) + round_up(f.pass_bytes);
}

static void frame_begin(frame &f, const function &fn, unsigned char *at, frame *caller)
{
    f.r = (uint64_t *) at;
    f.code = fn.code.data();
    f.local = at + round_up((size_t) fn.slots * 8);
    f.pass = f.local + round_up(fn.local_bytes);
    f.f = &fn;
    f.caller = caller;
    if (!fn.constants.empty()) {
        memcpy(f.r + fn.registers, fn.constants.data(), fn.constants.size() * 8);
    }
    for (const special &s : fn.specials) {
        f.r[s.slot] = special_value(f, s);
    }
}

static void run(frame &f)
{
    const insn *i = f.code;

    while (nullptr != i) {
        i = i->go(f, i);
    }
}

/* Each call takes a part of a fiber's stack. */
constexpr unsigned DEPTH = 48;

const insn *start_call(frame &f, const insn *i)
{
    const call_site &site = *(const call_site *) i->more;
    frame callee {};

    if (nullptr == site.callee) {
        trap(f, i, ("a call of " + site.name + ", which is not defined").c_str());
    }
    if (++f.t->depth > DEPTH) {
        trap(f, i, "too many calls in each other");
    }
    decode_function(*site.callee);
    const function &fn = *site.callee;
    unsigned char *memory = (unsigned char *) malloc(frame_bytes(fn) + round_up(fn.in_bytes));
    callee.t = f.t;
    callee.b = f.b;
    callee.params = memory + frame_bytes(fn);
    frame_begin(callee, fn, memory, &f);
    for (const passed &p : site.in) {
        memcpy(callee.params + p.to, f.pass + p.from, p.bytes);
    }
    run(callee);
    for (const passed &p : site.out) {
        memcpy(f.pass + p.to, callee.pass + p.from, p.bytes);
    }
    free(memory);
    f.t->depth--;
    return f.t->exited ? nullptr : i + 1;
}

/* ---- blocks ---- */

static void run_thread(void **)
{
    block_state *b = block_here()->ptx;
    const unsigned flat = block_here()->now->context.flat;
    frame f {};

    f.t = &b->threads[flat];
    f.b = b;
    f.params = b->params.data();
    frame_begin(f, *b->kernel, b->frames + flat * frame_bytes(*b->kernel), nullptr);
    run(f);
}

block_state *block_begin(const block &b)
{
    const function &kernel = *b.job->ptx;
    const launch_job *job = (const launch_job *) b.job;
    block_state *s = new block_state;

    s->kernel = &kernel;
    s->shared.assign((kernel.shared_end + 15) / 16 * 16 + job->shared, 0xff);
    s->params.resize(kernel.in_bytes);
    for (size_t k = 0; k < kernel.in.size(); k++) {
        memcpy(&s->params[kernel.in[k].offset], job->args[k], kernel.in[k].bytes);
    }
    s->threads.resize(b.threads.size());
    for (size_t k = 0; k < s->threads.size(); k++) {
        s->threads[k].flat = (unsigned) k;
    }
    s->frames = (unsigned char *) malloc(frame_bytes(kernel) * s->threads.size() + 1);
    if (nullptr == s->frames) {
        die("no memory for the registers of %zu threads", s->threads.size());
    }
    return s;
}

void block_end(block_state *s)
{
    free(s->frames);
    delete s;
}

/* ---- what the driver asks ---- */

const function *find(module &m, const std::string &name)
{
    const auto found = m.functions.find(name);

    if (m.functions.end() == found || !found->second->entry) {
        return nullptr;
    }
    decode_function(*found->second);
    return found->second.get();
}

static void prepare()
{
}

emu::kernel describe(const function &kernel)
{
    return emu::kernel {run_thread, prepare, (int) kernel.in.size(), kernel.in_sizes.data()};
}

size_t shared_bytes(const function &kernel)
{
    return kernel.shared_end;
}

unsigned most_threads(const function &kernel)
{
    return kernel.threads;
}

/* ---- variables in global memory ---- */

CUresult place_variables(module &m, CUcontext context)
{
    std::lock_guard<std::mutex> lock(m.mutex);
    std::vector<uintptr_t> &placed = m.placed[context->device], fresh;

    if (placed.size() == m.globals.size() &&
        (placed.empty() || nullptr != memory_find(placed[0]))) {
        return CUDA_SUCCESS; /* they go with their context */
    }
    for (const global &g : m.globals) {
        region_ref r;
        CUresult result = memory_alloc(context, KIND_DEVICE, 0 == g.bytes ? 1 : g.bytes, &r);
        if (CUDA_SUCCESS != result) {
            return result;
        }
        memcpy(emu::host((unsigned char *) r->base), g.initial.data(), g.bytes);
        fresh.push_back(r->base);
    }
    for (size_t k = 0; k < m.globals.size(); k++) {
        for (const global::address_of &a : m.globals[k].addresses) {
            const auto found = m.variables.find(a.name);
            if (m.variables.end() == found || SHARED == found->second.where) {
                die("PTX: %s holds the address of %s, which is not known",
                    m.globals[k].name.c_str(), a.name.c_str());
            }
            const uint64_t value = fresh[found->second.offset] + a.add;
            memcpy(emu::host((unsigned char *) fresh[k]) + a.at, &value, sizeof(value));
        }
    }
    placed = fresh;
    return CUDA_SUCCESS;
}

bool find_variable(module &m, CUcontext context, const std::string &name, uintptr_t *at,
                   size_t *bytes)
{
    const auto found = m.variables.find(name);

    if (m.variables.end() == found || SHARED == found->second.where) {
        return false;
    }
    *at = m.placed[context->device][found->second.offset];
    *bytes = found->second.bytes;
    return true;
}

} /* namespace ptx */
} /* namespace fake */
