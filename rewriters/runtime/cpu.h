#pragma once
#include <string>

// The CPUs on which ONNX Runtime computes with codes of 8 bits. Its kernels of x86 add products of u8 and s8 by one of two
// instructions: VPDPBUSD (VNNI) sums four products in 32 bits, and VPMADDUBSW (AVX2 and AVX-512 without VNNI) sums two products in 16
// bits, where the sum saturates if the two weights add up to more than 128. Other CPUs sum in 32 bits.
namespace t2o::runtime {

struct Cpu {
  bool is_x86 = false;
  bool has_vnni = false;
  std::string features;  // "x86-64 with AVX512-VNNI"
  bool may_saturate() const { return is_x86 && !has_vnni; }
};

Cpu this_cpu();
std::string cpu_text(const Cpu&);            // how integer kernels add there, in one sentence
std::string saturation_warning(const Cpu&);  // empty: sums are exact

}  // namespace t2o::runtime
