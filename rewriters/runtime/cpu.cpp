#include "rewriters/runtime/cpu.h"

namespace t2o::runtime {

Cpu this_cpu() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512vnni")) return {true, true, "x86-64 with AVX512-VNNI"};
#if defined(__clang__) ? __clang_major__ >= 12 : __GNUC__ >= 12
  if (__builtin_cpu_supports("avxvnni")) return {true, true, "x86-64 with AVX-VNNI"};
#endif
  if (__builtin_cpu_supports("avx512bw")) return {true, false, "x86-64 with AVX-512 and without VNNI"};
  if (__builtin_cpu_supports("avx2")) return {true, false, "x86-64 with AVX2 and without VNNI"};
  return {true, false, "x86-64 without AVX2"};
#elif defined(__aarch64__)
  return {false, false, "AArch64"};
#else
  return {false, false, "no x86-64"};
#endif
}

std::string cpu_text(const Cpu& cpu) {
  return "ONNX Runtime ran on " + cpu.features +
         (cpu.may_saturate() ? ", which adds pairs of 8-bit products in 16 bits"
                             : ", which adds 8-bit products exactly");
}

std::string saturation_warning(const Cpu& cpu) {
  if (!cpu.may_saturate()) return "";
  return "this CPU (" + cpu.features +
         ") adds pairs of 8-bit products in 16 bits: large weights may saturate in ONNX Runtime, and "
         "quantized results differ. "
         "The session option session.x64quantprecision=1 avoids that, and so does a CPU with VNNI";
}

}  // namespace t2o::runtime
