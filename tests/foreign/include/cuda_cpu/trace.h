// Device memory on the host, and what a program does to it, written down: trace.jsonl, and the bytes in files beside it.
//
// The folder is that of the environment variable CUDA_CPU_TRACE; without it nothing is written. Allocations lie in one
// range of addresses that is never used twice, so a word that holds an address of it is known for a pointer.
#pragma once
#include "fibers.h"
#include <filesystem>

namespace cuda_cpu {

constexpr uintptr_t ARENA = 0x5ca000000000;
constexpr size_t ARENA_BYTES = size_t(64) << 30, GAP = 1 << 16;

struct Allocation {
    int id;
    size_t bytes;
    std::string type;
    bool managed = false, freed = false;
    std::vector<unsigned char> seen;  // of managed memory: what host or kernels had left when last looked at
};

struct Place {
    std::string name;  // of a variable; empty for an allocation
    int id = -1;
    size_t offset = 0;
    bool known() const { return id >= 0 || !name.empty(); }
};

struct Variable {
    std::string name;
    size_t bytes;
};

class Trace {
  public:
    std::map<uintptr_t, Allocation> all;  // freed ones, too: their addresses may still stand somewhere
    std::map<uintptr_t, Variable> variables;

    Trace() {
        void *got = mmap((void *)ARENA, ARENA_BYTES, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
        if (got != (void *)ARENA) fail("no room for device memory");
        const char *folder = std::getenv("CUDA_CPU_TRACE");
        if (!folder) return;
        folder_ = folder;
        std::filesystem::create_directories(folder_);
        out_.open(folder_ + "/trace.jsonl");
        std::atexit([] { the().end(); });
    }

    static Trace &the() {
        static Trace *it = new Trace;  // never destroyed: host code may free in its own destructors
        return *it;
    }

    void *allocate(size_t bytes, bool managed) {
        const uintptr_t at = next_;
        next_ += (bytes + 2 * GAP - 1) / 256 * 256;
        if (next_ > ARENA + ARENA_BYTES) fail("device memory is used up");
        Allocation a{count_++, bytes, "", managed, false, {}};
        if (managed) a.seen.assign(bytes, 0);
        all[at] = a;
        note("alloc", "\"id\":" + std::to_string(a.id) + ",\"bytes\":" + std::to_string(bytes));
        return (void *)at;
    }

    void release(void *p) {
        auto found = all.find((uintptr_t)p);
        if (found == all.end() || found->second.freed) return;  // as the runtime: an error that programs do not look at
        finish(*found);
        found->second.freed = true;
    }

    /// Where an address lies on the device.
    Place find(const void *p) const {
        const auto at = (uintptr_t)p;
        auto a = all.upper_bound(at);
        if (a != all.begin() && at - (--a)->first <= a->second.bytes && at >= ARENA)
            return {"", a->second.id, at - a->first};
        auto v = variables.upper_bound(at);
        if (v != variables.begin() && at - (--v)->first < v->second.bytes) return {v->second.name, -1, at - v->first};
        return {};
    }

    void variable(const char *name, const void *at, size_t bytes) {
        std::string plain = name;
        plain.erase(std::remove_if(plain.begin(), plain.end(), [](char c) { return c == '&' || c == ' '; }), plain.end());
        variables[(uintptr_t)at] = {plain.substr(plain.rfind(')') + 1), bytes};
    }

    static std::string text(const Place &p) {
        const std::string at = ",\"at\":" + std::to_string(p.offset);
        return p.id >= 0 ? "\"id\":" + std::to_string(p.id) + at : "\"variable\":\"" + p.name + "\"" + at;
    }

    /// Bytes of the device that host code wrote or read: where, the file that has them, and which words are pointers.
    void moved(const char *verb, const void *device, size_t bytes) {
        if (folder_.empty() || !bytes) return;
        const Place p = find(device);
        if (!p.known()) fail("a copy to or from memory that is not the device's");
        note(verb, text(p) + ",\"bytes\":" + std::to_string(bytes) + ",\"file\":\"" + save(device, bytes) + "\"" +
                       pointers(device, bytes, p.offset));
    }

    void note(const std::string &verb, const std::string &rest) {
        if (!folder_.empty()) out_ << "{\"do\":\"" << verb << "\"," << rest << "}\n";
    }

    /// Of the managed memory, what the host changed since the last look.
    void look(const char *verb) {
        for (auto &[at, a] : all)
            if (a.managed && !a.freed && std::memcmp(a.seen.data(), (void *)at, a.bytes)) {
                std::memcpy(a.seen.data(), (void *)at, a.bytes);
                moved(verb, (void *)at, a.bytes);
            }
    }

    /// Managed memory that a copy of the host's wrote to: it is written down already.
    void refresh() {
        for (auto &[at, a] : all)
            if (a.managed && !a.freed) std::memcpy(a.seen.data(), (void *)at, a.bytes);
    }

    /// `,"pointers":[[byte, id, offset], ...]` of the words in it that are addresses of the device.
    std::string pointers(const void *from, size_t bytes, size_t start) const {
        std::string found;
        for (size_t i = (8 - start % 8) % 8; i + 8 <= bytes; i += 8) {
            uintptr_t word;
            std::memcpy(&word, (const char *)from + i, 8);
            if (word < ARENA || word >= next_) continue;
            const Place p = find((void *)word);
            if (p.id < 0) continue;
            found += (found.empty() ? "[" : ",[") + std::to_string(i) + "," + std::to_string(p.id) + "," +
                     std::to_string(p.offset) + "]";
        }
        return found.empty() ? "" : ",\"pointers\":[" + found + "]";
    }

    void typed(const void *p, const char *type) {
        auto a = all.upper_bound((uintptr_t)p);
        if (a != all.begin() && (uintptr_t)p - (--a)->first < a->second.bytes && a->second.type.empty())
            a->second.type = type;
    }

    bool on() const { return !folder_.empty(); }

  private:
    std::string folder_;
    std::ofstream out_;
    uintptr_t next_ = ARENA + GAP;
    int count_ = 0, files_ = 0;

    std::string save(const void *from, size_t bytes) {
        const std::string name = std::to_string(files_++) + ".bin";
        std::ofstream(folder_ + "/" + name, std::ios::binary).write((const char *)from, std::streamsize(bytes));
        return name;
    }

    void finish(const std::pair<const uintptr_t, Allocation> &found) {
        note("type", "\"id\":" + std::to_string(found.second.id) + ",\"type\":\"" + found.second.type + "\"");
        moved("end", (void *)found.first, found.second.bytes);
    }

    void end() {
        for (auto &one : all)
            if (!one.second.freed) finish(one);
        for (auto &[at, v] : variables) moved("end", (void *)at, v.bytes);
        out_.flush();
    }
};

}  // namespace cuda_cpu
