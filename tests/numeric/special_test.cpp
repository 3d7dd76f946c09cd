#include <gtest/gtest.h>

#include <cmath>

#include "harness.h"

namespace t2o::numeric {
namespace {

void check(const std::string& op, double low, double high, const DTypes& types = {f32, f64}) {
  op_case(op).in(any, {6, 50}).range(low, high).dtypes(types).tol(types.back() == f16 ? 1e-3 : 1e-5, 1e-6).only_opsets({11, 18}).check();
}

TEST(Special, SmallArgumentsOfLog1p) {
  op_case("Log1p").values<float>({8}, {1e-7F, -1e-6F, 3e-8F, 1e-20F, -1, 0, 1e30F, INFINITY}).tol(1e-6, 0).check();
  op_case("Log1p").values<double>({4}, {1e-12, -1e-9, 1e-300, 0.5}).tol(1e-12, 0).check();
  op_case("Xlog1py").values<float>({2}, {2, 3}).values<float>({2}, {1e-7F, -1e-6F}).tol(1e-6, 0).check();
}

TEST(Special, ErrorFunctions) {
  op_case("Erfc").values<float>({8}, {-5, -0.5F, 0, 0.5F, 3, 5, 8, 9}).tol(1e-5, 0).check();
  op_case("Erfc").values<double>({8}, {-5, -0.5, 1e-9, 0.5, 3, 5, 10, 26}).tol(1e-9, 0).check();
  op_case("Erf").values<double>({8}, {-5, -0.5, 1e-9, 0.5, 0.999, 1.001, 3, 6}).tol(1e-11, 0).check();
  op_case("Erfinv").in(any, {6, 50}).range(-1, 1).dtypes({f32, f64}).tol(1e-5, 0).only_opsets({11, 18}).check();
  op_case("Erfinv").values<double>({6}, {-1, 1, 0, 0.99999999, -0.9999999999999, 1e-9}).tol(2e-7, 0).only_opsets({11}).check();
  op_case("Ndtri").in(any, {6, 50}).range(0, 1).dtypes({f32, f64}).tol(1e-5, 1e-7).only_opsets({11, 18}).check();
  op_case("Ndtri").values<double>({6}, {0, 1, 1e-300, 1e-20, 0.5, 0.999999}).tol(1e-8, 1e-12).only_opsets({11}).check();
  check("Dawsn", -10, 10);
  check("FresnelCos", -6, 6);
  check("FresnelSin", -6, 6);
}

TEST(Special, Gamma) {
  check("Lgamma", -6, 12);
  check("Lgamma", 10, 1e6);
  check("Digamma", 0.1, 20);
  check("Digamma", -3.9, -3.1);
  op_case("Lgamma").values<float>({7}, {1, 2, 0.5F, 1e-20F, 1e30F, INFINITY, 3}).tol(1e-6, 1e-7).only_opsets({11}).check();
  op_case("Lgamma").in(f16, {3, 4}).range(0.1, 10).only_opsets({11, 18}).check();
}

TEST(Special, IncompleteGamma) {
  for (const char* op : {"Igamma", "Igammac"}) {
    for (const double top : {2.0, 30.0, 900.0})
      for (const DType t : {f32, f64})  // TensorFlow's own f32 is only so good
        op_case(op).in(t, {4, 20}).range(0.05, top).in(t, {4, 20}).range(0.05, top).tol(t == f32 ? 1e-3 : 1e-8, 1e-6).only_opsets({11, 18}).check();
    op_case(op).values<float>({}, {2.5F}).values<float>({}, {3}).tol(1e-5, 1e-7).only_opsets({11}).check();
    op_case(op).in(f32, {4, 1}).range(0.5, 5).in(f32, {5}).range(0.5, 5).tol(1e-5, 1e-7).only_opsets({11}).check();
    op_case(op).values<double>({3}, {1, 2, -1}).values<double>({3}, {0, 700, 1}).tol(1e-9, 1e-12).only_opsets({11}).check();
  }
}

TEST(Special, IncompleteBeta) {
  for (const double top : {2.0, 30.0})
    for (const DType t : {f32, f64})
      op_case("Betainc").in(t, {4, 20}).range(0.1, top).in(t, {4, 20}).range(0.1, top).in(t, {4, 20}).range(0.01, 0.99).tol(t == f32 ? 1e-3 : 1e-8, 1e-6).only_opsets({11, 18}).check();
  op_case("Betainc").values<double>({2}, {1, 2}).values<double>({2}, {3, 2}).values<double>({2}, {0, 1}).only_opsets({11}).check();
}

TEST(Special, Zeta) {
  op_case("Zeta").in(any, {4, 20}).range(1.1, 20).in(any, {4, 20}).range(0.1, 20).dtypes({f32, f64}).tol(1e-5, 0).only_opsets({11, 18}).check();
  op_case("Polygamma").values_as(any, {4}, {0, 1, 2, 5}).values_as(any, {4}, {0.5, 1.5, 3, 7}).dtypes({f32, f64}).tol(1e-5, 0).only_opsets({11, 18}).check();
}

TEST(Special, Poles) {
  op_case("Zeta").values<float>({3}, {2, INFINITY, 1}).values<float>({3}, {INFINITY, 2, 2}).only_opsets({11}).check();
  op_case("Digamma").values<float>({4}, {0, -0.0F, -1, INFINITY}).only_opsets({11}).check();
  for (const char* op : {"Lgamma", "Digamma"})
    op_case(op).values_as(any, {4}, {-1e-17, 1e-17, -1e-30, -2.5}).dtypes({f32, f64}).tol(1e-6, 1e-7).only_opsets({11}).check();
  op_case("Betainc").values<double>({3}, {-1, 1, 2}).values<double>({3}, {1, 0, 3}).values<double>({3}, {0.5, 0.5, 2}).only_opsets({11}).check();
}

// Each pair of these, as TensorFlow has it.
void check_edges(const char* op, const std::vector<double>& first, const std::vector<double>& second) {
  std::vector<double> a, b;
  for (const double x : first)
    for (const double y : second) {
      a.push_back(x);
      b.push_back(y);
    }
  const Ints dims{static_cast<std::int64_t>(a.size())};
  op_case(op).values_as(any, dims, a).values_as(any, dims, b).dtypes({f32, f64}).only_opsets({11, 18}).check();
}

TEST(Special, EdgesOfTwoArguments) {
  const std::vector<double> x = {-INFINITY, -5.5, -3, -2.5, -1, -0.5, -0.0, 0, 0.5, 1, 2, 3.5, INFINITY, NAN};
  check_edges("Zeta", {-INFINITY, -2, 0, 0.5, 1, 1.2, 2, 3.5, 5, 6, INFINITY, NAN}, x);
  check_edges("Polygamma", {-INFINITY, -1, 0, 0.5, 1, 2, 3.5, 5, INFINITY, NAN}, x);
  check_edges("Igamma", x, x);
  check_edges("Igammac", x, x);
  op_case("Zeta").values<double>({3}, {2, 3, 2}).values<double>({3}, {-50.5, -20.25, -0.75}).tol(1e-9, 0).only_opsets({11}).check();
}

TEST(Special, EdgesOfBetainc) {
  std::vector<double> a, b, x;
  const std::vector<double> odd = {-1, 0, 2, NAN};
  for (const double i : odd)
    for (const double k : odd)
      for (const double m : {-double{INFINITY}, -1.0, 0.0, 0.25, 1.0, 2.0, double{NAN}}) {
        a.push_back(i);
        b.push_back(k);
        x.push_back(m);
      }
  const Ints dims{static_cast<std::int64_t>(a.size())};
  op_case("Betainc").values_as(any, dims, a).values_as(any, dims, b).values_as(any, dims, x).dtypes({f32, f64}).tol(1e-4, 1e-5).only_opsets({11}).check();
}

TEST(Special, Edges) {
  const std::vector<double> x = {-INFINITY, -2.5, -1, -0.0, 0, 0.5, 1, INFINITY, NAN};
  for (const char* op : {"Spence", "Expint", "BesselY0", "BesselY1"})
    op_case(op).values_as(any, {9}, x).dtypes({f32, f64}).tol(1e-4, 1e-6).only_opsets({11}).check();
}

TEST(Special, Integrals) {
  check("Expint", 0.01, 40);
  op_case("Expint").values<float>({4}, {88, 88.7F, 88.73F, 90}).tol(1e-4, 0).only_opsets({11}).check();
  op_case("Expint").values<double>({3}, {709, 709.8, 715}).tol(1e-9, 0).only_opsets({11}).check();
  op_case("Expint").values<double>({5}, {5.9, 6.1, 15.9, 16.1, 200}).tol(1e-9, 0).only_opsets({11}).check();
  check("Spence", 0, 20);
  op_case("Spence").values<double>({5}, {0, 1, 0.5, 1.5, 1e6}).tol(1e-9, 1e-12).only_opsets({11}).check();
}

TEST(Special, Bessel) {
  for (const char* op : {"BesselI0", "BesselI0e", "BesselI1", "BesselI1e"}) check(op, -20, 20);
  for (const char* op : {"BesselJ0", "BesselJ1"}) check(op, -30, 30);
  for (const char* op : {"BesselK0", "BesselK0e", "BesselK1", "BesselK1e", "BesselY0", "BesselY1"}) {
    check(op, 0.01, 20);
    op_case(op).values<double>({2}, {0, 1}).tol(1e-9, 0).only_opsets({11}).check();
    op_case(op).values<float>({3}, {-1, -20, -INFINITY}).only_opsets({11}).check();
  }
}

}  // namespace
}  // namespace t2o::numeric
