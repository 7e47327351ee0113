#include "model/published/memory/leave_out.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "model/published/memory/fit.hpp"

namespace dlscale::model::memory {
namespace {

/// Fits by the name of the implementation and the network that is left out.
class Fits {
 public:
  explicit Fits(const MemoryCaseFile& file) : file_(&file) {}

  const Implementation& without(const MemoryCase& judged) {
    const Implementation start = usual_way(judged.framework);
    const auto [found, is_new] = fits_.try_emplace({start.name, judged.network}, start);
    if (is_new && start.is_fitted) found->second = fitted(start, judged.network);
    return found->second;
  }

 private:
  [[nodiscard]] Implementation fitted(const Implementation& start,
                                      const std::string& network) const {
    MemoryCaseFile others;
    for (std::size_t i = 0; i < file_->cases.size(); ++i) {
      const MemoryCase& each = file_->cases[i];
      if (each.network == network || usual_way(each.framework).name != start.name) continue;
      others.cases.push_back(each);
      others.outcomes.push_back(file_->outcomes[i]);
    }
    const bool ran = std::ranges::any_of(others.outcomes, [](const MemoryOutcome& outcome) {
      return outcome.peak_bytes.has_value();
    });
    return ran ? fit_fragmentation(start, others.cases, others.outcomes) : start;
  }

  const MemoryCaseFile* file_;
  std::map<std::pair<std::string, std::string>, Implementation> fits_;
};

}  // namespace

std::vector<MemoryPrediction> predict_left_out(const MemoryCaseFile& file) {
  Fits fits(file);
  std::vector<MemoryPrediction> all;
  all.reserve(file.cases.size());
  for (const MemoryCase& each : file.cases) all.push_back(predict(each, fits.without(each)));
  return all;
}

}  // namespace dlscale::model::memory
