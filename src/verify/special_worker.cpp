#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "diagnostics.h"
#include "formats/formats.h"
#include "ir/nesting.h"
#include "pipeline.h"
#include "verify/bisect.h"
#include "verify/runs.h"
#include "verify/special_values.h"

namespace t2o::verify {
namespace {

using Json = nlohmann::ordered_json;
using Results = std::vector<TensorPtr>;

constexpr std::size_t kAtOnce = 64;  // inner tensors fetched in one run

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

// The largest finite number and what rounding makes of it.
bool is_at_the_edge(double x, double y, DType t) {
  const double highest = t == DType::f16   ? 65504
                         : t == DType::f64 ? std::numeric_limits<double>::max()
                                           : 0x1.fep127;
  if (std::isinf(x)) std::swap(x, y);
  return std::isfinite(x) && std::isinf(y) && std::abs(x) > 0.99 * highest &&
         std::signbit(x) == std::signbit(y);
}

// Products that TensorFlow sets to 0 as denormals, in a sum of up to 1024 of them.
bool is_underflow(double x, double y, DType t) {
  return t != DType::f16 && std::abs(x - y) <= 0x1p+10 * (t == DType::f64 ? 0x1p-1022 : 0x1p-126);
}

// The calling thread computes without denormals, as TensorFlow's threads do. ONNX Runtime's own setting holds
// for the first session of a process alone.
class NoDenormals {
 public:
#if defined(__x86_64__)
  NoDenormals() { _mm_setcsr(before_ | 0x8040); }
  ~NoDenormals() { _mm_setcsr(before_); }

 private:
  unsigned before_ = _mm_getcsr();
#elif defined(__aarch64__)
  NoDenormals() { set(before_ | std::uint64_t{1} << 24); }
  ~NoDenormals() { set(before_); }

 private:
  static std::uint64_t get() {
    std::uint64_t fpcr = 0;
    asm volatile("mrs %0, fpcr" : "=r"(fpcr));
    return fpcr;
  }
  static void set(std::uint64_t fpcr) { asm volatile("msr fpcr, %0" : : "r"(fpcr)); }
  std::uint64_t before_ = get();
#endif
};

class Worker {
 public:
  Worker(const VerifyOptions& asked, Level level, const Tell& tell)
      : o_(asked),
        level_(level),
        tell_(tell),
        opened_(open_reference(o_.source, {o_.threads, o_.tensorflow_library, o_.litert_library})),
        runtime_(opened_->runtime()),
        inputs_(opened_->inputs()),
        outputs_(opened_->outputs()),
        candidate_(open_candidate(usual_settings())) {
    suit_tolerance(o_, *opened_);
    apply_input_shapes(inputs_, o_.input_shapes);
  }

  void run(std::size_t first) {
    const auto start = std::chrono::steady_clock::now();
    run_ordinary();
    const std::vector<SpecialDraw> plan = plan_special_values(inputs_);
    Json draws = Json::array();
    for (const SpecialDraw& d : plan) draws.push_back(as_message({.kind = d.kind, .label = label(d)}));
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    tell_({{"plan", std::move(draws)}, {"seconds", seconds.count()}});
    for (std::size_t i = first; i < plan.size(); ++i) {
      SpecialResult r{.kind = plan[i].kind, .label = label(plan[i])};
      compare(plan[i], r);
      tell_({{"result", as_message(r)}});
    }
  }

 private:
  std::unique_ptr<Candidate> open_candidate(engines::OrtOptions ort) {
    ort.library = o_.onnxruntime_library;
    return std::make_unique<Candidate>(engines::OrtSession::from_file(o_.onnx, ort), o_.source, inputs_,
                                       outputs_);
  }

  engines::OrtOptions usual_settings() const {
    using enum engines::OrtOptimization;
    return {.threads = o_.threads, .optimization = o_.optimize ? all : none};
  }

  void step(Step at, const std::string& engine, const std::string& what) {
    tell_({{"step", at}, {"engine", engine}, {"what", what}});
  }

  Results run_reference_on(const std::vector<TensorPtr>& inputs, const std::string& what) {
    step(Step::reference, runtime_.name, runtime_.name + " runs: " + what);
    return opened_->run(inputs);
  }

  Results run_on(Candidate& candidate, const std::vector<TensorPtr>& inputs, const std::string& what) {
    step(Step::candidate, "ONNX Runtime", "ONNX Runtime runs: " + what);
    candidate.forget_states();
    return candidate.run(inputs);
  }

  // Outputs that differ for ordinary values, or are random, show nothing of special ones.
  void run_ordinary() {
    std::vector<Sample> data;
    if (!o_.input_data.empty()) data = read_samples(o_.input_data, inputs_, outputs_.size());
    const auto go_on = [&](const std::string& what) { step(Step::reference, runtime_.name, what); };
    const Models models{*opened_, *candidate_, inputs_, outputs_, go_on, runtime_};
    const Planned plan = data.empty() ? Planned{o_.seed, usual_draws(inputs_)} : Planned{0, {}, data[0]};
    std::optional<Run> run = run_reference(models, plan);
    ordinary_ = std::move(run->sample);
    usual_results_ = run->results;
    const Results got = run_on(*candidate_, ordinary_.inputs, ordinary_.label);
    Results again;
    if (opened_->draws_random_numbers()) again = run_reference_on(ordinary_.inputs, ordinary_.label);
    for (std::size_t i = 0; i < outputs_.size(); ++i)
      if (compare_output(o_, outputs_[i], *run->results[i], *got[i]).ok() &&
          (again.empty() || compare_output(o_, outputs_[i], *run->results[i], *again[i]).ok()))
        compared_.push_back(i);
  }

  void compare(const SpecialDraw& draw, SpecialResult& r) {
    const Sample sample = special_sample(inputs_, ordinary_, o_.seed, draw);
    Results expected, got;
    try {
      expected = run_reference_on(sample.inputs, r.label);
    } catch (const ConversionError& e) {
      r.skipped = first_line(e.diagnostic().message);
      return;
    }
    for (const std::size_t i : compared_) r.elements += expected[i]->elements();
    try {
      got = run_on(*candidate_, sample.inputs, r.label);
    } catch (const ConversionError& e) {
      r.problem = first_line(e.diagnostic().message);
      r.differing = std::max<std::int64_t>(r.elements, 1);
    }
    Others others;
    if (r.problem.empty()) count(sample, expected, got, others, r);
    if (r.differing == 0) return;
    const Promise p = promise(level_, draw.kind);
    r.promised = p == Promise::yes;
    r.unpromised = p == Promise::if_ordinary ? "the inner values could not be computed" : "";
    tell_preliminary(r);
    if (r.problem.empty()) {
      others = other_results(sample);
      count(sample, expected, got, others, r);
      if (r.differing == 0) return;
      tell_preliminary(r);
    }
    if (p == Promise::if_ordinary) {
      r.unpromised = why_not_ordinary(sample, expected);
      r.promised = r.unpromised.empty();
      tell_preliminary(r);
    }
    explain(sample, draw, expected, others, r);
  }

  // What the sample counts as if the process ends before it has a result.
  void tell_preliminary(const SpecialResult& r) { tell_({{"preliminary", as_message(r)}}); }

  // Replaces elements that the source's runtime computes otherwise itself by those that are expected.
  TensorPtr settled(const TensorPtr& expected, const TensorPtr& got, const Results& nudged,
                    const Results& kernels) const {
    if (expected->dtype() != got->dtype() || expected->dims() != got->dims() ||
        bit_width(expected->dtype()) < 8)
      return got;
    const TensorPtr x = complex_as_pairs(expected), y = complex_as_pairs(got);
    const std::size_t width = bit_width(x->dtype()) / 8;
    if (!is_float(x->dtype()) && !is_int(x->dtype())) return got;
    std::vector<std::byte> bytes(y->bytes().begin(), y->bytes().end());
    for (std::int64_t i = 0; i < x->elements(); ++i) {
      const double a = x->float_at(i), b = y->float_at(i);
      std::vector<double> rounded, others;
      for (const TensorPtr& t : nudged)
        if (is_float(x->dtype()) && t->dims() == expected->dims())
          rounded.push_back(complex_as_pairs(t)->float_at(i));
      for (const TensorPtr& t : kernels)
        if (t->dims() == expected->dims()) others.push_back(complex_as_pairs(t)->float_at(i));
      if (!is_within(a, b, rounded, true) && !is_within(a, b, others, false) &&
          !is_at_the_edge(a, b, x->dtype()) && !is_underflow(a, b, x->dtype()))
        continue;
      const auto at = static_cast<std::size_t>(i) * width;
      std::memcpy(bytes.data() + at, x->bytes().data() + at, width);
    }
    return std::make_shared<Tensor>(expected->dtype(), expected->dims(), heap_storage(std::move(bytes)));
  }

  Comparison compare_one(std::size_t i, const Tensor& expected, const Tensor& got) const {
    return compare_output(o_, outputs_[i], expected, got);
  }

  struct Others {                           // results of the source's runtime
    std::vector<Results> rounded, kernels;  // for inputs with other last digits; of its other kernels
  };

  Others other_results(const Sample& sample) {
    Others others;
    const auto collect = [&](std::vector<Results>& list, auto&& run) {
      try {
        if (Results more = run(); !more.empty()) list.push_back(std::move(more));
      } catch (const ConversionError&) {  // it has no such kernels, or refuses these numbers
      }
    };
    for (const std::uint64_t seed : {1, 2, 3, 4})
      collect(others.rounded, [&] { return run_reference_on(nudged(sample.inputs, seed), sample.label); });
    if (!runtime_.other_kernels.empty())
      collect(others.kernels, [&] { return opened_->run_otherwise(sample.inputs); });
    return others;
  }

  void count(const Sample& sample, const Results& expected, const Results& got, const Others& others,
             SpecialResult& r) const {
    r.differing = 0;
    r.element.clear();
    for (const std::size_t i : compared_) {
      const auto of_output = [&](const std::vector<Results>& runs) {
        Results list;
        for (const Results& run : runs) list.push_back(run[i]);
        return list;
      };
      if (compare_one(i, *expected[i], *got[i]).ok()) continue;
      const TensorPtr y = settled(expected[i], got[i], of_output(others.rounded), of_output(others.kernels));
      const Comparison c = compare_one(i, *expected[i], *y);
      if (c.ok() || is_unstable(i, *expected[i], others.rounded, c)) continue;
      r.differing += std::max<std::int64_t>(c.mismatches, 1);
      if (r.element.empty()) r.element = describe(sample, i, c, *expected[i], *y);
    }
  }

  // The last digits of the inputs decide what the source's runtime selects: about as many elements change
  // with them.
  bool is_unstable(std::size_t i, const Tensor& expected, const std::vector<Results>& rounded,
                   const Comparison& c) const {
    constexpr std::int64_t kTimes = 8;
    return std::ranges::any_of(rounded, [&](const Results& run) {
      const Comparison own = compare_one(i, expected, *run[i]);
      return !own.ok() && (!own.same_shape || (c.same_shape && own.mismatches * kTimes >= c.mismatches));
    });
  }

  std::string describe(const Sample& sample, std::size_t output, const Comparison& c, const Tensor& expected,
                       const Tensor& got) const {
    const std::string& name = outputs_[output].name;
    if (c.first < 0) return name + ": " + c.problem;
    const TensorPtr x = complex_as_pairs(std::make_shared<Tensor>(expected)),
                    y = complex_as_pairs(std::make_shared<Tensor>(got));
    std::string from;
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      if (const TensorPtr in = complex_as_pairs(sample.inputs[i]); in->dims() == x->dims())
        from += (from.empty() ? "" : ", ") + inputs_[i].name + " = " + element_text(*in, c.first);
    if (!from.empty()) from += " gives ";
    return name + index_text(x->dims(), c.first) + ": " + from + element_text(*x, c.first) + " in " +
           runtime_.name + ", " + element_text(*y, c.first) + " in the export";
  }

  // Which operator makes the difference, and is it a known one?
  void explain(const Sample& sample, const SpecialDraw& draw, const Results& expected, const Others& others,
               SpecialResult& r) {
    if (!r.promised && !o_.bisect) return;
    if (opened_->quantizes()) r.known = known_difference(draw.kind, "t2o.Quantize");
    if (!r.known.empty()) return;
    if (!r.problem.empty()) {
      r.known = known_by_problem(draw.kind, r.problem);
    } else {
      r.known = known_of_runtime(sample, expected, others);
      if (r.known.empty()) blame(sample, draw.kind, r);
    }
  }

  // "... while running MaxPool node. Name:'pool' ..."
  static std::string known_by_problem(Special kind, const std::string& problem) {
    constexpr std::string_view kRunning = "while running ";
    const std::size_t at = problem.find(kRunning);
    if (at == std::string::npos) return "";
    const std::string_view op = std::string_view(problem).substr(at + kRunning.size());
    return std::string(known_difference(kind, op.substr(0, op.find(' '))));
  }

  // Does the export agree in ONNX Runtime with these settings?
  bool agrees_with(const engines::OrtOptions& settings, const Sample& sample, const Results& expected,
                   const Others& others) {
    SpecialResult r;
    try {
      const Results got =
          run_on(*open_candidate(settings), sample.inputs, sample.label + ", with other settings");
      count(sample, expected, got, others, r);
    } catch (const ConversionError&) {  // then it differs as well
      return false;
    }
    return r.differing == 0;
  }

  // What of the runtime, not of the export, makes the difference; empty: nothing that is known.
  std::string known_of_runtime(const Sample& sample, const Results& expected, const Others& others) {
    {
      const NoDenormals scope;
      if (agrees_with({.threads = 1}, sample, expected, others)) return std::string(kFlushesDenormals);
    }
    if (agrees_with({.optimization = engines::OrtOptimization::none}, sample, expected, others))
      return "ONNX Runtime gives the source's result when its graph optimizer is off";
    return "";
  }

  // Numbers that cancel may be as wrong as large ones are rounded, which hides small ones: then once more.
  void blame(const Sample& sample, Special kind, SpecialResult& r) {
    step(Step::explaining, "bisecting", "bisecting: " + sample.label);
    try {
      Divergence d = bisect(o_, candidate_->feeds(sample.inputs), sample.inputs);
      if (!d.found) {
        VerifyOptions exact = o_;
        exact.tolerance.by_scale = false;
        d = bisect(exact, candidate_->feeds(sample.inputs), sample.inputs);
      }
      for (const Divergence::Node& n : d.between) {
        if (r.node.empty()) r.node = n.op + " '" + n.name + "'";
        if (r.known.empty() && works_on_data(n)) r.known = known_difference(kind, n.op);
        if (r.known.empty() && n.op.ends_with("While")) r.known = known_end(o_.onnx, kind);
      }
    } catch (const ConversionError&) {  // the outputs alone are known
    }
  }

  // A cast of a constant, or to another type than an integer, explains nothing.
  bool works_on_data(const Divergence::Node& named) {
    for (const ir::Node& n : graph().nodes()) {
      if (n.origin().node != named.name || n.op() != named.op) continue;
      if (n.op() == "Cast" && !is_int(n.output()->dtype())) continue;
      if (std::ranges::any_of(n.inputs(), [](const Value* v) { return v && !v->constant(); })) return true;
    }
    return false;
  }

  // ---- the tensors inside of the source

  const ir::Graph& graph() {
    if (!graph_) {
      Diagnostics diagnostics;
      graph_ = prepare_source(*format_of(o_.source).open(o_.source), o_.source, diagnostics).graph;
      throw_first_error(diagnostics);
    }
    return *graph_;
  }

  // Names of tensors with a number that is not ordinary; "" stands for tensors that cannot be computed.
  std::set<std::string> find_not_ordinary(const std::vector<TensorPtr>& inputs) {
    step(Step::explaining, "bisecting", "computing the inner values");
    const auto inner =
        format_of(o_.source).intermediates(graph(), inputs, {.tensorflow_library = o_.tensorflow_library});
    std::set<std::string> found;
    Strings names;
    ir::for_each_node(graph(), [&](const ir::Node& n) {
      for (const Value* v : n.outputs()) {
        if (!is_float(v->dtype()) && !is_complex(v->dtype())) continue;
        if (n.graph() == &graph() && inner->has(v->name()))
          names.push_back(v->name());
        else if (!v->uses().empty())
          found.insert("");
      }
    });
    for (std::size_t from = 0; from < names.size(); from += kAtOnce) {
      const Strings part(names.begin() + static_cast<std::ptrdiff_t>(from),
                         names.begin() + static_cast<std::ptrdiff_t>(std::min(from + kAtOnce, names.size())));
      const Results values = inner->compute(part);
      for (std::size_t i = 0; i < part.size(); ++i)
        if (!is_ordinary(*values[i])) found.insert(part[i]);
    }
    return found;
  }

  // Empty: the model's numbers are ordinary, but for those that are not for ordinary data either, as -inf in
  // a mask.
  std::string why_not_ordinary(const Sample& sample, const Results& expected) {
    for (const std::size_t i : compared_)
      if (!is_ordinary(*expected[i]) && is_ordinary(*usual_results_[i]))
        return not_ordinary(outputs_[i].name);
    try {
      if (!usually_) usually_ = find_not_ordinary(ordinary_.inputs);
      for (const std::string& name : find_not_ordinary(sample.inputs))
        if (name.empty())
          return "numbers inside of loops, branches or operators that cannot be looked at may not be "
                 "ordinary";
        else if (!usually_->contains(name))
          return not_ordinary(name);
    } catch (const ConversionError& e) {
      return "the inner values cannot be computed: " + first_line(e.diagnostic().message);
    }
    return "";
  }

  std::string not_ordinary(const std::string& tensor) const {
    return "'" + tensor + "' is not ordinary in " + runtime_.name;
  }

  VerifyOptions o_;
  Level level_;
  const Tell& tell_;
  std::unique_ptr<Reference> opened_;
  Runtime runtime_;
  std::vector<Port> inputs_, outputs_;
  std::unique_ptr<Candidate> candidate_;
  Sample ordinary_;
  Results usual_results_;
  std::vector<std::size_t> compared_;  // outputs
  GraphPtr graph_;
  std::optional<std::set<std::string>> usually_;  // what find_not_ordinary finds for ordinary data
};

}  // namespace

bool is_within(double x, double y, const std::vector<double>& others, bool by_rounding) {
  constexpr double kTimes = 8;
  return std::ranges::any_of(others, [&](double z) {
    if (!std::isfinite(x) || !std::isfinite(y)) return z == y || (std::isnan(z) && std::isnan(y));
    return std::isfinite(z) && std::abs(x - y) <= (by_rounding ? kTimes : 1) * std::abs(x - z);
  });
}

void run_special_values(const VerifyOptions& o, Level level, std::size_t first, const Tell& tell) {
  Worker(o, level, tell).run(first);
}

Json as_message(const SpecialResult& r) {
  return {{"kind", r.kind},         {"label", r.label},
          {"skipped", r.skipped},   {"problem", r.problem},
          {"elements", r.elements}, {"differing", r.differing},
          {"promised", r.promised}, {"unpromised", r.unpromised},
          {"known", r.known},       {"element", r.element},
          {"node", r.node}};
}

SpecialResult from_message(const Json& j) {
  return {j.at("kind"),     j.at("label"),     j.at("skipped"),  j.at("problem"),
          j.at("elements"), j.at("differing"), j.at("promised"), j.at("unpromised"),
          j.at("known"),    j.at("element"),   j.at("node")};
}

}  // namespace t2o::verify
