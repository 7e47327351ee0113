#pragma once
#include <compare>
#include <set>
#include <span>
#include <string>

#include "model/roofline/kernels/kernel_sample.hpp"

namespace dlscale::model {

/// What a choice of an algorithm answers: a convolution under one condition, on a processor or on a
/// GPU, whose algorithms are no rivals.
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

/// Questions that results of bench conv answer in full, f32, on a rank alone, in the layout that
/// training has: each algorithm that is measured anywhere with the same number of threads and the
/// same caches, on processors or on GPUs, has a time there or says that it does not offer it.
/// Algorithms are told apart by backend and by what was asked for, "chosen" being one of them.
/// Elsewhere the fastest of what was measured may not be the fastest that there is. Throws
/// ConfigError that names file and key for what cannot be read.
std::set<Question> complete_questions(std::span<const ResultFile> results);

}  // namespace dlscale::model
