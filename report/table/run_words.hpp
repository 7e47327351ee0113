#pragma once
#include <array>
#include <set>
#include <string>
#include <string_view>

#include "core/run/run.hpp"
#include "model/sgd_iter/predict.hpp"

namespace dlscale::report {

/// A phase of an iteration: its name in results, a word for people, and its place in a prediction.
struct Phase {
  std::string_view series;
  std::string_view word;
  Seconds model::IterationTime::*predicted;  ///< nullptr: not predicted, counts as 0 s
};

/// The disjoint phases that add up to an iteration, in the order in which they happen.
inline constexpr std::array<Phase, 7> iteration_phases{{
    {"t_io", "waiting for input", &model::IterationTime::io},
    {"t_h2d", "host-to-device copy", &model::IterationTime::h2d},
    {"t_f", "forward", &model::IterationTime::forward},
    {"t_b", "backward", &model::IterationTime::backward},
    {"t_comm_exposed", "exposed communication", &model::IterationTime::exposed_comm},
    {"t_u", "update", &model::IterationTime::update},
    {"t_other", "anything else", nullptr},
}};

inline Seconds predicted_time(const Phase& phase, const model::IterationTime& time) {
  return phase.predicted == nullptr ? Seconds{} : time.*phase.predicted;
}

/// The word for a phase's name, "forward" for "t_f"; also for the whole iteration, "t_iter".
std::string_view phase_word(std::string_view series);

/// How a run exchanges gradients, in words: "wait_free", "wait_free by parameter server", "horovod
/// (cycle 5.000 ms)". Names only unusual settings.
std::string schedule_text(const Run& run);

/// "1, 4 to 64": the numbers of ranks that something is about, among all that were asked for. Three
/// or more that follow each other there are a range. Requires that `all` holds them.
std::string ranks_among(const std::set<int>& ranks, const std::set<int>& all);

/// A rate with three digits and commas: "176,000".
std::string rate_text(double rate);

}  // namespace dlscale::report
