// The functions of the CUDA runtime that kernels call: printf, malloc, free, and the function that a failed assert
// calls. They are compiled to runtime.ptx (`make ptx`). An import adds it to a program that calls one of them
// (runtime.py).
//
// They talk to the host through one variable, __binalloc_runtime. ISA.md, Device runtime, has its layout and that of
// the data they leave. Lanes of a warp run in lock step, so that no thread waits for another one here. Shared data are
// changed by single atomics, in loops in which at least one lane succeeds each time.

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;

enum { GRANULE = 16, CLASSES = 112, WAYS = 8, LISTS = 896, SMALL = 8, PART = 4 };
enum { NEVER = 0, LIVE = 1, FREED = 2 };                       // what begins at a granule: nothing, or a block
enum { ASSERTION = 1, FREED_TWICE = 2, NOT_ALLOCATED = 3 };    // why the grid was stopped
enum { HEADER = 16, NO_STRING = -1 };

struct Block {           // one for each granule; has a meaning where a block begins
    u32 size;            // bytes asked for
    u32 state;           // LIVE or FREED, and the block's class << 8
    u32 block, thread;   // the thread that asked for it, or freed it
    u32 next;            // if freed: granule + 1 of the block freed before it in its class, or 0
};

struct Runtime {
    u8 *output;          // records of printf
    u64 output_bytes;
    u64 output_used;     // more than output_bytes if not all records had room
    u64 output_lost;     // records without room
    u8 *heap;
    u64 heap_bytes;
    u64 heap_used;       // first byte above all blocks that have ever been
    Block *blocks;
    u32 *live;           // one bit for each granule of the heap: whether a live block has it
    u32 stopped;         // the reason, or 0
    u32 line;
    u64 stop[3];         // for an assertion message, file, function; else the address
    u32 block, thread;   // the thread that stopped it
    u64 free[LISTS];     // for each list granule + 1 of the block freed last; above it a count, against ABA
};

__device__ Runtime __binalloc_runtime;

static __device__ u32 block_number() { return blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z); }

static __device__ u32 thread_number() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }

// Stop the kernel. The first thread that calls this records its reason.
extern "C" __device__ __noinline__ void __binalloc_stop(u32 why, u64 a, u64 b, u64 c, u32 line)
{
    Runtime &r = __binalloc_runtime;
    if (atomicCAS(&r.stopped, 0u, why) == 0) {
        r.line = line;
        r.stop[0] = a;
        r.stop[1] = b;
        r.stop[2] = c;
        r.block = block_number();
        r.thread = thread_number();
    }
    __trap();
}

extern "C" __device__ void __binalloc_assertfail(
    const char *message, const char *file, u32 line, const char *function, u64 char_size)
{
    __binalloc_stop(ASSERTION, (u64)message, (u64)file, (u64)function, line);
}

// ---------------------------------------------------------------------------------------------------------------------
// printf: a record is bytes of it, block, thread, bytes of the format (32 bits each), the format, then the arguments in
// 8 bytes each, a string as its length and its characters. Texts are filled with zeros to a multiple of 8.

struct Writer {          // counts words if `to` is null
    u64 *to;
    u32 words;
    u64 word;
    u32 filled;          // bytes of `word`
};

static __device__ void put_word(Writer &w, u64 word)
{
    if (w.to)
        w.to[w.words] = word;
    w.words += 1;
}

static __device__ void put_char(Writer &w, u32 c)
{
    w.word |= (u64)c << (8 * w.filled);
    w.filled += 1;
    if (w.filled == 8) {
        put_word(w, w.word);
        w.word = 0;
        w.filled = 0;
    }
}

static __device__ void end_text(Writer &w)
{
    if (w.filled)
        put_word(w, w.word);
    w.word = 0;
    w.filled = 0;
}

static __device__ u64 next_argument(const u8 *arguments, u32 &at, u32 size)
{
    at = (at + size - 1) & ~(size - 1);
    u64 value = size == 8 ? *(const u64 *)(arguments + at) : *(const u32 *)(arguments + at);
    at += size;
    return value;
}

static __device__ void put_string(Writer &w, const char *text)
{
    if (!text) {
        put_word(w, (u64)(long long)NO_STRING);
        return;
    }
    u32 length = 0;
    #pragma unroll 1
    while (text[length])
        length += 1;
    put_word(w, length);
    #pragma unroll 1
    for (u32 i = 0; i < length; ++i)
        put_char(w, text[i]);
    end_text(w);
}

static __device__ bool is_one_of(u32 c, const u32 low, const u32 high) { return c - low <= high - low; }

// Return the bytes of a conversion's argument: 0 if it has none, 1 for a string.
static __device__ u32 argument_size(u32 c, bool wide)
{
    switch (c) {
    case 'd': case 'i': case 'u': case 'o': case 'x': case 'X': case 'c':
        return wide ? 8 : 4;
    case 'f': case 'F': case 'e': case 'E': case 'g': case 'G': case 'a': case 'A': case 'p': case 'n':
        return 8;
    case 's':
        return 1;
    }
    return 0;
}

static __device__ u32 put_arguments(Writer &w, const char *format, const u8 *arguments)
{
    u32 at = 0, count = 0;
    for (u32 i = 0; format[i]; ++i) {
        if (format[i] != '%')
            continue;
        i += 1;
        bool wide = false;
        for (;; ++i) {                               // flags, width, precision, size: anything but a conversion
            u32 c = format[i];
            if (c == '*') {
                put_word(w, next_argument(arguments, at, 4));
                count += 1;
            } else if (c == 'l' || c == 'j' || c == 'z' || c == 't') {
                wide = true;
            } else if (!(c == '-' || c == '+' || c == ' ' || c == '#' || c == '.' || c == 'h'
                         || is_one_of(c, '0', '9'))) {
                break;
            }
        }
        if (!format[i])
            break;
        u32 size = argument_size(format[i], wide);
        if (!size)
            continue;
        u64 value = next_argument(arguments, at, size == 1 ? 8 : size);
        if (size == 1)
            put_string(w, (const char *)value);
        else
            put_word(w, value);
        count += 1;
    }
    return count;
}

extern "C" __device__ int __binalloc_vprintf(const char *format, const u8 *arguments)
{
    Runtime &r = __binalloc_runtime;
    if (!format)
        return -1;
    u32 length = 0;
    #pragma unroll 1
    while (format[length])
        length += 1;
    u64 *to = 0;
    u32 count = 0;
    #pragma unroll 1
    for (int pass = 0; pass < 2; ++pass) {           // the first pass finds how much room the record takes
        Writer w = {to, HEADER / 8, 0, 0};
        #pragma unroll 1
        for (u32 i = 0; i < length; ++i)
            put_char(w, format[i]);
        end_text(w);
        count = put_arguments(w, format, arguments);
        u64 bytes = 8ull * w.words;
        if (pass == 0) {
            u64 at = atomicAdd(&r.output_used, bytes);
            if (at + bytes > r.output_bytes) {
                atomicAdd(&r.output_lost, 1ull);
                break;
            }
            to = (u64 *)(r.output + at);
        } else {
            to[1] = (u64)length << 32 | thread_number();
            to[0] = (u64)block_number() << 32 | bytes;
        }
    }
    return count;
}

// ---------------------------------------------------------------------------------------------------------------------
// The heap has blocks of whole granules, in classes of sizes, four to a power of two. Freed blocks are in lists. A
// class has several lists, so that not all threads use the same one. If a thread's own list is empty, its block is cut
// from space that was never used. If there is none, it is taken from any list of its class or of a larger one. No two
// blocks are adjacent, so that a write behind the end of a block is detected.

static __device__ u32 class_of(u32 granules, u32 &units)
{
    if (granules <= SMALL) {
        units = granules;
        return granules - 1;
    }
    u32 m = granules - 1;
    u32 e = 31 - __clz(m);
    u32 shift = e - 2;
    units = ((m >> shift) + 1) << shift;
    return SMALL + (e - 3) * PART + ((m >> shift) & (PART - 1));
}

// Mark granules [first, first + count) as live, or as not live.
static __device__ void mark(u32 first, u32 count, bool live)
{
    u32 *map = __binalloc_runtime.live;
    u32 end = first + count;
    #pragma unroll 1
    while (first < end) {
        u32 bit = first & 31;
        u32 n = min(32 - bit, end - first);
        u32 bits = (n == 32 ? ~0u : (1u << n) - 1) << bit;
        if (live)
            atomicOr(map + first / 32, bits);
        else
            atomicAnd(map + first / 32, ~bits);
        first += n;
    }
}

// Take a freed block from a list and return its granule, or -1.
static __device__ int take_freed(u32 list)
{
    Runtime &r = __binalloc_runtime;
    u64 top = *(volatile u64 *)(r.free + list);
    while ((u32)top) {
        u32 granule = (u32)top - 1;
        u32 next = ((volatile Block *)r.blocks)[granule].next;
        u64 found = atomicCAS(r.free + list, top, ((top >> 32) + 1) << 32 | next);
        if (found == top)
            return granule;
        top = found;
    }
    return -1;
}

// Return the first of so many granules that were never used, or -1.
static __device__ int take_unused(u32 units)
{
    Runtime &r = __binalloc_runtime;
    u64 bytes = (u64)units * GRANULE;
    u64 at = atomicAdd(&r.heap_used, bytes);
    if (at + bytes <= r.heap_bytes)
        return (int)(at / GRANULE);
    u64 used = atomicAdd(&r.heap_used, 0 - bytes) - bytes;    // too much, so undo it; less may be in use now
    while (used + bytes <= r.heap_bytes) {
        u64 found = atomicCAS(&r.heap_used, used, used + bytes);
        if (found == used)
            return (int)(used / GRANULE);
        used = found;
    }
    return -1;
}

extern "C" __device__ void *__binalloc_malloc(u64 size)
{
    Runtime &r = __binalloc_runtime;
    if (size == 0 || size > r.heap_bytes)
        return 0;
    u32 units = 0;
    u32 granules = (u32)((size + GRANULE - 1) / GRANULE);
    u32 c = class_of(granules + 1, units);           // with one granule behind its end that no block has
    u32 way = thread_number() % WAYS;
    int granule = take_freed(c * WAYS + way);
    if (granule < 0)
        granule = take_unused(units);
    for (u32 list = c * WAYS; granule < 0 && list < LISTS; ++list) {
        granule = take_freed(list);
        c = list / WAYS;
    }
    if (granule < 0)
        return 0;
    Block &b = r.blocks[granule];
    b.size = (u32)size;
    b.block = block_number();
    b.thread = thread_number();
    *(volatile u32 *)&b.state = c << 8 | LIVE;
    mark(granule, granules, true);
    return r.heap + (u64)granule * GRANULE;
}

extern "C" __device__ void __binalloc_free(void *p)
{
    Runtime &r = __binalloc_runtime;
    if (!p)
        return;
    u64 offset = (u64)p - (u64)r.heap;
    if (offset >= r.heap_bytes || offset % GRANULE)
        __binalloc_stop(NOT_ALLOCATED, (u64)p, 0, 0, 0);
    u32 granule = (u32)(offset / GRANULE);
    Block &b = r.blocks[granule];
    u32 state = *(volatile u32 *)&b.state;
    u32 freed = (state & ~0xffu) | FREED;
    if ((state & 0xff) != LIVE || atomicCAS(&b.state, state, freed) != state)
        __binalloc_stop((state & 0xff) == NEVER ? NOT_ALLOCATED : FREED_TWICE, (u64)p, 0, 0, 0);
    mark(granule, (b.size + GRANULE - 1) / GRANULE, false);
    b.block = block_number();
    b.thread = thread_number();
    u64 *list = r.free + (state >> 8) * WAYS + thread_number() % WAYS;
    u64 top = *(volatile u64 *)list;
    for (;;) {
        ((volatile Block *)r.blocks)[granule].next = (u32)top;
        u64 found = atomicCAS(list, top, ((top >> 32) + 1) << 32 | (granule + 1));
        if (found == top)
            return;
        top = found;
    }
}
