#pragma once
#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/units.hpp"

namespace dlscale::backend::cuda {

/// The median time of several runs of what `work` enqueues on `stream`, after one run that is not
/// counted. The device is kept waiting until all is enqueued. Waits for the end.
Seconds median_time(cudaStream_t stream, const std::function<void()>& work);

/// The index of the candidate with the least median time. One that a library refuses to run is left
/// out; nothing if all are.
std::optional<std::size_t> fastest(cudaStream_t stream,
                                   const std::vector<std::function<void()>>& candidates);

/// What was chosen on a device, so that layers that do the same work are tuned once.
class Choices {
 public:
  /// The choice for `key`, made by `choose` if there is none yet. A key begins with a word for the
  /// type of the choice.
  template <class Choice, class Choose>
  std::shared_ptr<const Choice> find_or_make(const std::string& key, const Choose& choose) {
    const auto known = made_.find(key);
    if (known != made_.end()) return std::static_pointer_cast<const Choice>(known->second);
    std::shared_ptr<const Choice> made = choose();
    made_.emplace(key, made);
    return made;
  }

 private:
  std::map<std::string, std::shared_ptr<const void>> made_;
};

}  // namespace dlscale::backend::cuda
