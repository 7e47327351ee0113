#pragma once
#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backend/compute/plan_cache.hpp"
#include "core/base/error.hpp"
#include "core/base/units.hpp"

namespace dlscale::backend::cuda {

/// How long to hold a device so that it does not run out of work: twice `given` and 50 us, but at
/// most 20 ms. `given` is the time that the host last took to enqueue the work.
Seconds head_start(Seconds given);

/// Median time of several runs of what `work` enqueues on `stream`. Two earlier runs do not count:
/// one may compile, and one measures how long the host takes to enqueue. Holds the device
/// meanwhile, as head_start() says. Waits for the end.
Seconds median_time(cudaStream_t stream, const std::function<void()>& work);

/// Time of one run, after one that does not count: a quick estimate for a candidate that may be
/// slow.
Seconds glance_time(cudaStream_t stream, const std::function<void()>& work);

/// How carefully a candidate is timed: by glance_time() or by median_time().
enum class Care { glance, median };

/// The time of candidate `i`; nothing if it cannot run.
using TimeOfCandidate = std::function<std::optional<Seconds>(std::size_t i, Care care)>;

/// Whether candidate `i`, which takes the least time, may be chosen. Called once at most for each.
using Approval = std::function<bool(std::size_t i)>;

/// The fastest of several candidates.
struct Fastest {
  std::size_t index;
  Seconds time;
};

/// Candidates whose glance time exceeds the least by this factor are not timed carefully: single
/// runs of the same work differ by less.
constexpr double out_of_the_question = 1.5;

/// The fastest approved candidate, the first of equal ones; nothing if there is none. All
/// candidates get a glance, in order. If the best one rules out earlier candidates, they get a
/// second glance: the device's clock may have dropped while the host compiled. The remaining ones
/// are timed carefully, twice, and the shorter time counts. A candidate that fails to run once is
/// out.
std::optional<Fastest> fastest(std::size_t count, const TimeOfCandidate& time,
                               const Approval& approve);

/// The same for work that is enqueued on `stream`. A candidate that throws an Error cannot run,
/// unless the device itself is broken.
std::optional<Fastest> fastest(cudaStream_t stream,
                               const std::vector<std::function<void()>>& candidates,
                               const Approval& approve);

/// Choices made on a device, so that layers that do the same work are tuned once per process, or
/// once in all where a cache keeps choices.
class Choices {
 public:
  Choices() = default;
  explicit Choices(PlanCache cache) : cache_(std::move(cache)) {}

  /// Returns the choice by trial for `key`, which this process or another one may have made: see
  /// backend/compute/plan_cache.hpp for `recall` and `choose`. All keys have choices of one type.
  template <class Choice, class Recall, class Choose>
  std::shared_ptr<const Chosen<Choice>> recall_or_choose(const std::string& key,
                                                         const Recall& recall,
                                                         const Choose& choose) {
    if (const auto known = made_.find(key); known != made_.end()) {
      const auto chosen = std::static_pointer_cast<const Chosen<Choice>>(known->second);
      return std::make_shared<const Chosen<Choice>>(chosen->again());
    }
    auto chosen = std::make_shared<const Chosen<Choice>>(
        backend::recall_or_choose<Choice>(cache_, key, recall, choose));
    made_.emplace(key, chosen);
    return chosen;
  }

 private:
  PlanCache cache_;
  std::map<std::string, std::shared_ptr<const void>> made_;
};

/// Returns the result of `make`. Any Error becomes Unsupported with the same message, so that one
/// failing alternative does not prevent the trial of the others.
template <class Make>
auto offered(const Make& make) {
  try {
    return make();
  } catch (const Unsupported&) {
    throw;
  } catch (const Error& error) {
    throw Unsupported(error.what());
  }
}

}  // namespace dlscale::backend::cuda
