#pragma once
#include <span>

#include "op_mappers/context.h"

// Building blocks of special functions, in the dtype of x.
namespace t2o::op_mappers {

Value* log1p(MapperContext&, Value* x, bool of_infinity);  // keeps the digits of a small x; of_infinity: x may be infinite
Value* erf(MapperContext&, Value* x);
Value* erfc(MapperContext&, Value* x);   // keeps the digits of a large x
Value* ndtri(MapperContext&, Value* p);  // f64

// The Chebyshev series of a function on [low, high]. Its results outside of this interval are meaningless.
Value* chebyshev(MapperContext&, Value* x, std::span<const double> coefficients, double low, double high);

Value* lgamma(MapperContext&, Value* x);  // f64
Value* digamma(MapperContext&, Value* x);

Values map_bessel(MapperContext&);     // by the op's name
Values map_gamma_kin(MapperContext&);  // Igamma, Igammac, Betainc, Zeta, Polygamma

}  // namespace t2o::op_mappers
