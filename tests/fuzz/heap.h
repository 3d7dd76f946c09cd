#pragma once
#include <cstddef>

// Counts the bytes that operator new has given out in this process. With the address sanitizer it counts nothing.
namespace t2o::fuzz {

std::size_t heap_bytes();  // now
std::size_t heap_peak();   // the most since reset_heap_peak()
void reset_heap_peak();

}  // namespace t2o::fuzz
