#pragma once
#include <map>
#include <string>
#include <vector>

#include "core/results/measurement.hpp"
#include "model/machine/machine.hpp"
#include "model/sgd_iter/predict.hpp"
#include "regression/gate/gate_report.hpp"
#include "report/sections/report.hpp"

namespace dlscale::report::samples {

/// What tells one sample run from another.
struct RunSpec {
  std::string network = "alexnet";
  int ranks = 1;
  Schedule schedule = Schedule::wait_free;
  int repeat = 0;
};

/// Phases in seconds; every rank and iteration the same.
struct PhaseTimes {
  double io = 0.0;
  double h2d = 0.01;
  double forward = 0.2;
  double backward = 0.5;
  double exposed = 0.1;
  double update = 0.15;
  double other = 0.04;
  [[nodiscard]] double total() const {
    return io + h2d + forward + backward + exposed + update + other;
  }
};

Measurement e2e(const RunSpec& spec, const PhaseTimes& times);

/// A measurement of one series "time" with one rank.
Measurement timed(const std::string& benchmark, std::map<std::string, std::string> axes,
                  std::vector<double> samples);

ResultFile file(const std::string& benchmark, std::vector<Measurement> measurements);

/// A prediction with these phases (`other` left out), ± 2 %.
model::Prediction prediction(const Run& run, const PhaseTimes& times);

/// A curve for 1, 2, 4 … 64 ranks.
std::vector<model::Prediction> curve(const std::string& network);

model::Machine machine();

/// A report with two networks, 1 and 2 ranks, two schedules.
ReportInput report_input();

/// A convolution of VGG-16's conv1_2 by an algorithm, in f32 on one rank and thread.
struct AlgorithmSpec {
  std::string backend = "native";
  std::string algorithm = "im2col";
  std::string implementation = "im2col+gemm";
  std::string pass = "forward";
  double seconds = 1e-2;
};
Measurement algorithm(const AlgorithmSpec& spec);

/// conv1_2 by four algorithms in two passes; the transform of 112 points is refused.
ResultFile algorithms();

/// Passes over arrays of two sizes.
ResultFile memory();

/// A chase that shows two levels.
ResultFile latency();

/// Lines of 64 B where the system says 128, and two levels of the reach of small pages, of which
/// the last goes on beyond the sizes.
ResultFile lines();

/// Multiply-adds of two instruction sets.
ResultFile peaks();

/// A report without training runs: all four.
ReportInput parts_input();

/// Two metrics regressed and improved, one inconclusive, two as before; ten rounds of each.
regression::GateReport gate();

}  // namespace dlscale::report::samples
