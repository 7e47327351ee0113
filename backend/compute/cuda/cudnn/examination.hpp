#pragma once
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "backend/compute/cuda/runtime/context.hpp"

namespace dlscale::backend::cuda {

/// A dense tensor on the device that the compared algorithms write.
struct Written {
  std::string name;  ///< "output", "bias gradient"
  std::byte* data;
  std::size_t elements;
  DType dtype;
};

/// Algorithms for the same work on the same memory, to choose among. The first is trusted; if it
/// cannot run, the next, and so on.
struct Candidates {
  std::vector<std::function<void()>> runs;  ///< each enqueues its work
  std::vector<std::string> names;
  std::vector<Written> written;
  DType dtype;  ///< the work's; determines the allowed error
};

/// Allowed difference of two correct algorithms: the sum of their allowed errors.
double allowed_difference(DType dtype);

/// Reason to reject an answer after comparison with another: "output differs by 0.31 from that of
/// own"; empty if accepted. `got` and `expected` are samples of the tensors that `ways` write.
std::string objection(const Candidates& candidates, const std::vector<std::vector<float>>& got,
                      const std::vector<std::vector<float>>& expected, std::size_t plain);

/// Examines the fastest algorithm once before it is chosen. It must be recordable as a CUDA graph,
/// and its answer must agree with the trusted one's. Errors in parts of the answer that are not
/// sampled are left to check_operation().
class Examination {
 public:
  /// Both arguments must outlive it.
  Examination(const Context& context, const Candidates& candidates)
      : context_(&context), candidates_(&candidates) {}

  /// Waits. Throws LibraryError if the device itself is broken.
  [[nodiscard]] bool passes(std::size_t way);
  /// Report on algorithms that did not pass; empty if all did: "eng45 k2=4 was faster, but its
  /// output differs by 0.31 from that of own".
  [[nodiscard]] const std::string& note() const { return note_; }

 private:
  using Answer = std::vector<std::vector<float>>;
  struct Reference {
    std::size_t way;
    Answer answer;
  };

  [[nodiscard]] Answer answer_of(std::size_t way) const;
  [[nodiscard]] const Reference& reference();
  void wait() const;

  const Context* context_;
  const Candidates* candidates_;
  std::optional<Reference> reference_;
  std::string note_;
};

}  // namespace dlscale::backend::cuda
