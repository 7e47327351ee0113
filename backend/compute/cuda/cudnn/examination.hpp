#pragma once
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "backend/compute/cuda/runtime/context.hpp"

namespace dlscale::backend::cuda {

/// A dense tensor on the device that ways to do the same work write.
struct Written {
  std::string name;  ///< "output", "bias gradient"
  std::byte* data;
  std::size_t elements;
  DType dtype;
};

/// Ways to do the same work on the same memory, to choose among.
struct Ways {
  std::vector<std::function<void()>> runs;  ///< they enqueue
  std::vector<std::string> names;
  std::vector<Written> written;
  DType dtype;            ///< of the work: what it may be off by
  std::size_t plain = 0;  ///< whom to believe; if it cannot run the one after it, and so on
};

/// What two ways that are right may differ by: each by what one may be off by.
double allowed_difference(DType dtype);

/// Why an answer is not believed, beside another: "output differs by 0.31 from that of own"; empty
/// if it is. `got` and `expected` are samples of the tensors that `ways` write.
std::string objection(const Ways& ways, const std::vector<std::vector<float>>& got,
                      const std::vector<std::vector<float>>& expected, std::size_t plain);

/// Looks at the way that was fastest before it is chosen, once: that it can be recorded as a CUDA
/// graph, and that it answers as the plain one does. What is wrong in a part of the answer that is
/// not sampled is left to check_operation().
class Examination {
 public:
  /// Both must outlive it.
  Examination(const Context& context, const Ways& ways) : context_(&context), ways_(&ways) {}

  /// Waits. Throws LibraryError if the device itself is broken.
  [[nodiscard]] bool passes(std::size_t way);
  /// "eng45 k2=4 was faster, but its output differs by 0.31 from that of own": of those that did
  /// not pass; empty if all did.
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
  const Ways* ways_;
  std::optional<Reference> reference_;
  std::string note_;
};

}  // namespace dlscale::backend::cuda
