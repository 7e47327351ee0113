#include "backend/compute/cuda/cudnn/examination.hpp"

#include <fmt/format.h>

#include "backend/compute/check/check.hpp"
#include "backend/compute/cuda/runtime/call.hpp"
#include "backend/compute/cuda/runtime/noise.hpp"
#include "backend/compute/cuda/runtime/recording.hpp"
#include "core/base/error.hpp"

namespace dlscale::backend::cuda {
double allowed_difference(DType dtype) {
  return 2 * allowed_error(dtype);
}

std::string objection(const Candidates& candidates, const std::vector<std::vector<float>>& got,
                      const std::vector<std::vector<float>>& expected, std::size_t plain) {
  EXPECT(got.size() == candidates.written.size() && expected.size() == candidates.written.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double error = largest_error(got[i], expected[i]);
    if (error <= allowed_difference(candidates.dtype)) continue;
    return fmt::format("its {} differs by {:.2g} from that of {}", candidates.written[i].name,
                       error, candidates.names[plain]);
  }
  return "";
}

bool Examination::passes(std::size_t way) {
  std::string why;
  try {
    static_cast<void>(make_recording(*context_, candidates_->runs[way]));
    const Reference& believed = reference();
    if (believed.way != way) {
      why = objection(*candidates_, answer_of(way), believed.answer, believed.way);
    }
  } catch (const Error& error) {
    wait();
    why = error.what();
  }
  if (why.empty()) return true;
  note_ += fmt::format("{}{} was faster, but {}", note_.empty() ? "" : "; ",
                       candidates_->names[way], why);
  return false;
}

void Examination::wait() const {
  check(cudaStreamSynchronize(context_->stream), "cudaStreamSynchronize", "a choice by trial");
}

/// Unwritten elements are zero, including gaps between columns.
Examination::Answer Examination::answer_of(std::size_t way) const {
  for (const Written& each : candidates_->written) {
    check(
        cudaMemsetAsync(each.data, 0, each.elements * element_bytes(each.dtype), context_->stream),
        "cudaMemsetAsync", "a choice by trial");
  }
  candidates_->runs[way]();
  Answer answer;
  for (const Written& each : candidates_->written) {
    answer.push_back(sample(context_->stream, each.data, each.elements, each.dtype));
  }
  return answer;
}

const Examination::Reference& Examination::reference() {
  const std::size_t count = candidates_->runs.size();
  for (std::size_t way = 0; !reference_ && way < count; ++way) {
    try {
      reference_ = Reference{way, answer_of(way)};
    } catch (const Error&) {  // it cannot run, unless the device itself is broken
      wait();
    }
  }
  EXPECT(reference_.has_value());  // at least the examined one runs
  return *reference_;
}

}  // namespace dlscale::backend::cuda
