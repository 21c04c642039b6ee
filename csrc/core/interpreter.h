// What the layers below bind/ ask of the interpreter. Only bind/ knows Python, and it defines these functions: includes
// point down the layers, the linker joins the two, and nothing has to be set when the module is loaded.
#pragma once

#include <cstdint>
#include <string>

#include "core/refs.h"

namespace weft {
class Generator;
class Tensor;
struct Opaque;
}  // namespace weft

namespace weft::interpreter {

// ---- its lock (bind/threads.cpp)
void* release_lock();         // other threads of Python may run from now on
void take_lock(void* state);  // what release_lock returned
void let_others_run();        // releases the lock for a moment
bool interrupted();           // whether Ctrl-C arrived and means KeyboardInterrupt; asked with or without the lock

// ---- its objects
void keep(void* object);                    // takes a count of it (bind/frames.cpp)
void release(void* object);                 // gives it back
Generator& generator_of(Opaque* argument);  // the generator in an argument of an op (bind/random.cpp)
// x.contiguous(memory_format=format), which weft/ops/memory.py lays out (bind/interop.cpp)
Tensor in_format(const Tensor& x, Opaque* format);

// ---- the line of the user's program that runs now (bind/frames.cpp)
void find_origin(void** code, int32_t* instruction, uint32_t* module);  // gives a new count of code
std::string describe_origin(void* code, int32_t instruction, uint32_t module);
struct Location {
  std::string file, function, module;
  int line = 0;
};
Location locate(void* code, int32_t instruction, uint32_t module);
// Calls f for each line of Python that is under way on this thread, from the innermost out.
void each_frame(void (*f)(void* to, void* code, int32_t instruction), void* to);

// ---- saved_tensors_hooks (bind/autograd.cpp)
Ref<Opaque> pack(const Tensor& t);  // null: this thread has no hooks
Tensor unpack(Opaque* packed);

// ---- machine code (bind/fused.cpp)
void make_fused(const std::string& group);  // makes the kernel of a group and adds it (ops/fused.h)

}  // namespace weft::interpreter
