#pragma once
#include <compare>
#include <set>
#include <span>
#include <string>

#include "model/roofline/kernels/kernel_sample.hpp"

namespace dlscale::model {

/// The question that a choice of an algorithm answers: a convolution under one condition, on a
/// processor or on a GPU. Algorithms of a processor and of a GPU do not compete.
struct Question {
  std::string kernel;  ///< kernel_key()
  int batch = 1;
  Pass pass = Pass::forward;
  int threads = 1;
  std::string cache = "cold";
  bool on_device = false;
  auto operator<=>(const Question&) const = default;
};
Question question_of(const KernelCase& what);

/// Questions that results of bench conv answer completely: f32, a rank alone, the layout of
/// training. A question is complete if it covers every algorithm measured anywhere under its
/// condition: number of threads, caches, and kind of device. Each of them has a time, or a row that
/// says that the library does not offer it. An algorithm is identified by its backend and by the
/// algorithm that was requested; "chosen" is one of these. For an incomplete question the fastest
/// measured way may not be the fastest that exists. Throws ConfigError that names file and key of
/// what cannot be read.
std::set<Question> complete_questions(std::span<const ResultFile> results);

}  // namespace dlscale::model
