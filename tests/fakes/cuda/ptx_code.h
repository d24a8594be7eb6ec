/* SPDX-License-Identifier: BSD-3-Clause */
/* Decoded PTX: instructions, functions, modules, and the state of threads that run them. */
#ifndef FAKECUDA_PTX_CODE_H
#define FAKECUDA_PTX_CODE_H

#include "block.h"
#include "launch.h"
#include "ptx.h"

#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace fake
{
namespace ptx
{

enum type : uint8_t {
    NONE,
    PRED,
    B8,
    B16,
    B32,
    B64,
    B128,
    U8,
    U16,
    U32,
    U64,
    S8,
    S16,
    S32,
    S64,
    F16,
    BF16,
    F16X2,
    BF16X2,
    F32,
    F64
};
enum space : uint8_t { GENERIC, GLOBAL, SHARED, LOCAL, PARAM, CONST };

unsigned type_bytes(type t);
bool type_signed(type t);
type type_named(const std::string &word); /* NONE: no type */

/* Generic addresses of what is not global memory: the space's bit, and the address in it. */
constexpr uint64_t SHARED_BIT = 1ull << 56, LOCAL_BIT = 1ull << 57, PARAM_BIT = 1ull << 58,
                   SPACE_BITS = SHARED_BIT | LOCAL_BIT | PARAM_BIT;

struct frame;
struct insn;
using handler = const insn *(*) (frame &, const insn *);

/* d, a, b, c, e: slots of the frame, -1: none. */
struct insn {
    handler go;
    int32_t d, e, a, b, c;
    int32_t to;       /* index of the instruction that it jumps to */
    int64_t off;      /* displacement, or what the instruction wants */
    const int32_t *v; /* slots of a vector, of a table */
    uint8_t n;        /* of them */
    uint8_t mod[3];   /* as the instruction wants */
    uint32_t line;
    const void *more;
};

/* A variable, or a parameter. */
struct variable {
    std::string name;
    space where;
    uint64_t offset; /* in its space; of a global: number in the module */
    size_t bytes, align;
};

/* A slot that is filled when a frame is made: neither a register nor a constant. */
struct special {
    enum what {
        TID_X,
        TID_Y,
        TID_Z,
        CTAID_X,
        CTAID_Y,
        CTAID_Z,
        NTID_X,
        NTID_Y,
        NTID_Z,
        NCTAID_X,
        NCTAID_Y,
        NCTAID_Z,
        LANE,
        WARP,
        WARPS,
        SM,
        SMS,
        MASK_EQ,
        MASK_LE,
        MASK_LT,
        MASK_GE,
        MASK_GT,
        DYNAMIC_BYTES,
        SHARED_BYTES,
        LOCAL_ADDRESS,
        DYNAMIC_ADDRESS,
        VARIABLE_ADDRESS
    } kind;
    uint64_t add;
    unsigned number;
    int32_t slot;
};

/* A parameter that a call hands over. */
struct passed {
    uint64_t from, to;
    size_t bytes;
};
struct call_site {
    function *callee;
    std::string name; /* of a function that the module does not define */
    std::vector<passed> in, out;
};

struct function {
    module *owner;
    std::string name;
    bool entry;
    size_t head, body, end; /* where it stands in the text: '(' or '{', '{', behind '}' */
    std::vector<variable> in, out;
    size_t in_bytes, out_bytes;
    std::vector<size_t> in_sizes;
    unsigned threads;
    std::once_flag once;

    std::vector<insn> code;
    std::vector<uint64_t> constants;
    std::vector<special> specials;
    int32_t registers, slots;
    size_t pass_bytes; /* parameters that it hands over, and its own results */
    size_t local_bytes, shared_end;
    bool dynamic;
    std::deque<std::vector<int32_t>> vectors;
    std::deque<call_site> calls;
};

/* A variable in global or constant memory. */
struct global {
    std::string name;
    size_t bytes, align;
    std::vector<unsigned char> initial;
    struct address_of {
        size_t at;
        std::string name;
        uint64_t add;
    };
    std::vector<address_of> addresses; /* words that are addresses of others */
};

struct module {
    std::string text;
    std::map<std::string, std::unique_ptr<function>> functions;
    std::map<std::string, variable> variables; /* of the module: shared, global, constant */
    std::vector<global> globals;
    size_t shared_end;
    std::mutex mutex;
    std::vector<uintptr_t> placed[MAX_DEVICES]; /* addresses of globals */
};

unsigned line_of(const module &m, size_t at);
/* Dies: "PTX line N: what: text". */
[[noreturn]] void reject(const module &m, size_t at, const std::string &what);
void decode_function(function &f);

/* ---- threads ---- */

/* What a flag held when this thread last looked. */
struct seen_flag {
    const insn *by;
    uint64_t at, value[2];
};

struct thread_state {
    unsigned flat;
    int fuel;           /* backward jumps until others may have a turn */
    uint64_t stored;    /* stores so far, */
    uint64_t stored_at; /* and when it ran out of fuel */
    const insn *now;    /* where it was last seen */
    unsigned depth;
    bool exited;
    seen_flag seen[16];
    /* a load or store of 16 bytes that other lanes may join */
    struct {
        const insn *by;
        uint64_t *at; /* where it lies */
        uint64_t address, value[2];
        bool waits;
        uint32_t turns[8];
    } joint;
};

struct block_state {
    const function *kernel;
    std::vector<unsigned char> shared;
    std::vector<thread_state> threads;
    std::vector<unsigned char> params;
    unsigned char *frames; /* of the kernel's own */
};

/* A function that runs. */
struct frame {
    uint64_t *r;
    const insn *code;
    unsigned char *params;
    unsigned char *pass;
    unsigned char *local;
    const function *f;
    thread_state *t;
    block_state *b;
    frame *caller;
};

/* The value of a slot, as a T; and the other way: the sign goes on to 64 bits. */
template <class T> static inline T get(const frame &f, int32_t slot)
{
    T v;
    memcpy(&v, &f.r[slot], sizeof(T));
    return v;
}
template <class T> static inline void put(frame &f, int32_t slot, T value)
{
    if constexpr (std::is_integral<T>::value && std::is_signed<T>::value) {
        f.r[slot] = (uint64_t) (int64_t) value;
    } else {
        uint64_t bits = 0;
        memcpy(&bits, &value, sizeof(T));
        f.r[slot] = bits;
    }
}

/* Ends the process: kernel, block, thread and line. */
[[noreturn]] void trap(const frame &f, const insn *i, const char *what);
/* Others may have a turn; waits: this thread has nothing to do before they did something. */
void yield(frame &f, bool waits);
const insn *start_call(frame &f, const insn *i);

/* ---- decoding ---- */

/* An operand as it is written. */
struct operand {
    enum what { SLOT, ADDRESS, VECTOR, NAME, SINK } kind;
    int32_t slot, second; /* second: of p|q, -1 */
    int64_t off;
    std::string name;    /* NAME; ADDRESS: of a parameter */
    const variable *var; /* ADDRESS in the space of parameters */
    bool incoming;       /* the variable is a parameter of this function */
    std::vector<operand> list;
};

/* A statement: its opcode's words, of which decoders take what they know, and operands. */
struct statement {
    function *f;
    size_t at; /* in the text */
    std::vector<std::string> words;
    std::vector<operand> args;
    std::string text;
    int32_t (*constant)(function &, uint64_t) = nullptr;

    const std::string &name() const
    {
        return words[0];
    }
    /* Take a word away; false: it is not there. */
    bool take(const char *word);
    /* Take the first of these; -1: none is there. */
    int take_of(std::initializer_list<const char *> list);
    /* Take the first word that names a type. */
    type take_type();
    void need(bool condition, const char *what = "not known") const;
    int32_t slot(size_t i) const; /* of operand i, which must have one */
    const int32_t *vector(const operand &o, uint8_t *n, uint8_t most) const;
};

/* Each decodes what is its own: true; or leaves it alone: false. */
bool decode_int(statement &s, insn &i);
bool decode_compare(statement &s, insn &i);
bool decode_float(statement &s, insn &i);
bool decode_convert(statement &s, insn &i);
bool decode_memory(statement &s, insn &i);
bool decode_fence(statement &s, insn &i);
bool decode_atomic(statement &s, insn &i);
bool decode_flow(statement &s, insn &i);
bool decode_move(statement &s, insn &i);

} /* namespace ptx */
} /* namespace fake */

#endif
