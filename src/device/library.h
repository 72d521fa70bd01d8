// The device library as text for generated kernels: the functions a kernel calls, and the CPU
// vector vocabulary that they are written in. Entry points: library_text and vector_prelude.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace ingot::device {

// Whether the library has a function of that name ("exp"), for any type.
bool has_function(std::string_view name);

// The text of these functions and of all they call, in an order that compiles, each once. An entry
// is "exp" (every overload) or "exp.f32" (one; also .f64, .i32, .i64). Unknown names are ignored,
// so that the names of vocabulary primitives may be passed too.
std::string library_text(const std::set<std::string>& functions);

// The vector vocabulary for g++ and clang on the CPU: "core" (f32 and i32, always there) and the
// named sections: "f64" (and i64), "stream", and one for each other dtype ("u8" has bool too). F32
// and its kin hold `lanes` lanes: 16, or 32 or 64, which advance two or four AVX-512 registers
// statement by statement (worth it in long chains of arithmetic); loads, stores and lanes_sum()
// grow with them.
std::string vector_prelude(const std::set<std::string>& sections, int lanes = 16);

// The same vocabulary for one thread of CUDA, whose F32 and its kin hold `lanes` elements; a warp
// shares what is folded. Without a header, for NVRTC with --fmad=false.
std::string cuda_prelude(const std::set<std::string>& sections, int lanes);

// Every section there is.
std::set<std::string> all_sections();

// The sections that a kernel text needs, found by the names it uses.
std::set<std::string> sections_used(std::string_view text);

}  // namespace ingot::device
