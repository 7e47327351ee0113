#include "train/phases.hpp"

#include <algorithm>
#include <utility>

#include "core/base/error.hpp"

namespace dlscale::train {

Phases::Phases(std::shared_ptr<const backend::Mark> start, Instant when)
    : start_(std::move(start)), when_(when) {}

void Phases::end(std::string_view name, std::shared_ptr<const backend::Mark> mark) {
  phases_.push_back({name, last(), std::move(mark)});
}

Seconds Phases::duration(std::string_view name) const {
  Seconds sum;
  for (const Phase& phase : phases_) {
    if (phase.name == name) sum += phase.end->since(*phase.start);
  }
  return sum;
}

Seconds Phases::total() const {
  return last()->since(*start_);
}

Instant Phases::when(const backend::Mark& mark) const {
  const std::chrono::duration<double> after(mark.since(*start_).si());
  return when_ + std::chrono::duration_cast<Instant::duration>(after);
}

Instant Phases::start_of(std::string_view name) const {
  const auto phase = std::ranges::find(phases_, name, &Phase::name);
  EXPECT(phase != phases_.end());
  return when(*phase->start);
}

std::vector<Interval> Phases::intervals(std::string_view name) const {
  std::vector<Interval> found;
  for (const Phase& phase : phases_) {
    if (phase.name == name) found.push_back({when(*phase.start), when(*phase.end)});
  }
  return found;
}

const std::shared_ptr<const backend::Mark>& Phases::last() const {
  return phases_.empty() ? start_ : phases_.back().end;
}

}  // namespace dlscale::train
