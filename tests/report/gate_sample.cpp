#include "tests/report/samples.hpp"

namespace dlscale::report::samples {
namespace {

using regression::GateCanary;
using regression::GateMetric;
using regression::GateReport;
using regression::GateSideName;
using regression::Verdict;

GateMetric metric(const std::string& key, double ratio, Verdict verdict) {
  GateMetric one;
  one.key = key;
  one.series = "time";
  one.unit = "s";
  one.base = 1e-3;
  one.changed = 1e-3 * ratio;
  one.ratio = ratio;
  one.margin = 0.01;
  one.ratio_low = 0.99 * ratio;
  one.ratio_high = 1.01 * ratio;
  one.p = one.p_sequential = one.p_adjusted = verdict == Verdict::regressed ? 0.001 : 0.7;
  one.rounds = 10;
  one.verdict = verdict;
  for (int round = 1; round <= 10; ++round) {
    const double wobble = 1 + 0.001 * (round % 3);
    one.pairs.push_back({round, round % 2 == 0 ? GateSideName::base : GateSideName::changed, 1e-3,
                         1e-3 * ratio * wobble});
  }
  return one;
}

}  // namespace

GateReport gate() {
  GateReport gate;
  gate.margin = 0.01;
  gate.looks = {{10, 0.02}, {20, 0.02}, {40, 0.01}};
  gate.seed = 7;
  gate.rounds = 10;
  gate.base = {{"./old/dlscale", "run", "quick"}, "1111111", {{"compiler", "gcc 12"}}};
  gate.changed = {{"./new/dlscale", "run", "quick"}, "2222222", {{"compiler", "gcc 13"}}};
  gate.machine = "Sample CPU";
  gate.canary = GateCanary::quiet;
  gate.metrics = {metric("conv batch=1", 1.06, Verdict::regressed),
                  metric("conv batch=8", 0.90, Verdict::improved),
                  metric("conv batch=16", 1.012, Verdict::inconclusive),
                  metric("copy", 1.001, Verdict::not_regressed),
                  metric("triad", 0.999, Verdict::not_regressed)};
  gate.metrics[2].ratio_high.reset();
  gate.canary_metrics = {metric("conv batch=1", 1.0, Verdict::not_regressed)};
  gate.notes = {"conv batch=32 was not measured"};
  gate.verdict = Verdict::regressed;
  gate.duration = 120;
  gate.date = "2026-11-23T05:00:00Z";
  return gate;
}

}  // namespace dlscale::report::samples
