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
#include "core/base/units.hpp"

namespace dlscale::backend::cuda {

/// How long to hold a device so that it does not run out of work that the host took `given` to
/// enqueue last time: twice that and 50 us, but no more than 20 ms.
Seconds head_start(Seconds given);

/// The median time of several runs of what `work` enqueues on `stream`, after two runs that are not
/// counted: one that may compile, and one that shows how long the host takes to enqueue it. The
/// device is held meanwhile, as head_start() says. Waits for the end.
Seconds median_time(cudaStream_t stream, const std::function<void()>& work);

/// The time of one run, after one that is not counted: a glance at a candidate that may be slow.
Seconds glance_time(cudaStream_t stream, const std::function<void()>& work);

/// How a candidate is timed: by glance_time() or by median_time().
enum class Care { glance, median };

/// The time that candidate `i` takes; nothing if it cannot run.
using TimeOfCandidate = std::function<std::optional<Seconds>(std::size_t i, Care care)>;

/// Whether candidate `i`, which takes the least time, may be chosen. It is not asked twice of one.
using Approval = std::function<bool(std::size_t i)>;

/// Who takes the least time of several candidates.
struct Fastest {
  std::size_t index;
  Seconds time;
};

/// Who takes so many times the least time at a glance is not timed with care: single runs of the
/// same work differ by less.
constexpr double out_of_the_question = 1.5;

/// The candidate that takes the least time of those that are approved, the first of equal ones;
/// nothing if there is none. All get a glance, in order; those before the best of them, whom it
/// puts out of the question, a second one: they may have found a device whose clock had gone down
/// while the host compiled. The others are timed with care, twice, and the shorter time counts. Who
/// cannot run once is out.
std::optional<Fastest> fastest(std::size_t count, const TimeOfCandidate& time,
                               const Approval& approve);

/// The same of what is enqueued on `stream`. What throws an Error cannot run, unless the device
/// itself is broken.
std::optional<Fastest> fastest(cudaStream_t stream,
                               const std::vector<std::function<void()>>& candidates,
                               const Approval& approve);

/// What was chosen on a device, so that layers that do the same work are tuned once: in a process,
/// and where a cache keeps choices, at all.
class Choices {
 public:
  Choices() = default;
  explicit Choices(PlanCache cache) : cache_(std::move(cache)) {}

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

  /// The same of a choice by trial, which another process may have made: see
  /// backend/compute/plan_cache.hpp for `recall` and `choose`.
  template <class Choice, class Recall, class Choose>
  std::shared_ptr<const Chosen<Choice>> recall_or_choose(const std::string& key,
                                                         const Recall& recall,
                                                         const Choose& choose) {
    const bool met_before = made_.contains(key);
    const auto chosen = find_or_make<Chosen<Choice>>(key, [&] {
      return std::make_shared<const Chosen<Choice>>(
          backend::recall_or_choose<Choice>(cache_, key, recall, choose));
    });
    if (!met_before) return chosen;
    return std::make_shared<const Chosen<Choice>>(chosen->again());
  }

 private:
  PlanCache cache_;
  std::map<std::string, std::shared_ptr<const void>> made_;
};

}  // namespace dlscale::backend::cuda
