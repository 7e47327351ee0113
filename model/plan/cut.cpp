#include "model/plan/cut.hpp"

#include <algorithm>

#include "core/base/error.hpp"

namespace dlscale::model {

Cut cut_singly(std::span<const double> gradients) {
  Cut cut;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    cut.last.push_back(i);
    cut.bytes.push_back(gradients[i]);
  }
  return cut;
}

Cut cut_in_buckets(std::span<const double> gradients, Bytes first, Bytes limit) {
  EXPECT(first > Bytes() && limit > Bytes());
  Cut cut;
  bool is_open = false;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (!is_open) {
      cut.last.push_back(i);
      cut.bytes.push_back(0);
    }
    cut.last.back() = i;
    cut.bytes.back() += gradients[i];
    is_open = Bytes(cut.bytes.back()) < (cut.messages() == 1 ? first : limit);
  }
  return cut;
}

Cut cut_by_groups(std::span<const double> gradients, std::span<const std::size_t> groups) {
  Cut cut;
  std::size_t next = 0;
  for (const std::size_t count : groups) {
    EXPECT(count >= 1 && next + count <= gradients.size());
    double bytes = 0;
    for (const double gradient : gradients.subspan(next, count)) bytes += gradient;
    next += count;
    cut.last.push_back(next - 1);
    cut.bytes.push_back(bytes);
  }
  EXPECT(next == gradients.size());
  return cut;
}

std::span<const std::size_t> MergedCuts::optimal(const Profile& profile, const LinearCost& cost) {
  const std::size_t L = profile.gradients.size();
  EXPECT(L >= 1 && profile.ready.size() == L);
  const double a = cost.a.si();
  const double b = cost.b.si();
  bytes_.assign(L + 1, 0);
  arrival_.assign(L + 1, 0);
  before_.assign(L + 1, 0);
  waiting_.resize(L + 1);
  std::size_t front = 0;
  std::size_t end = 0;
  std::size_t ready_before = 0;  // the last k with f(k) ≤ r_n
  const auto rest = [&](std::size_t k) { return arrival_[k] - b * bytes_[k]; };
  for (std::size_t n = 1; n <= L; ++n) {
    const double ready = profile.ready[n - 1];
    bytes_[n] = bytes_[n - 1] + profile.gradients[n - 1];
    const std::size_t newest = n - 1;
    while (end > front && rest(waiting_[end - 1]) >= rest(newest)) --end;
    waiting_[end++] = newest;
    while (ready_before + 1 < n && arrival_[ready_before + 1] <= ready) ++ready_before;
    while (front < end && waiting_[front] <= ready_before) ++front;
    double best = ready - b * bytes_[ready_before];
    before_[n] = ready_before;
    if (front < end && rest(waiting_[front]) <= best) {
      best = rest(waiting_[front]);
      before_[n] = waiting_[front];
    }
    arrival_[n] = best + a + b * bytes_[n];
  }
  groups_.clear();
  for (std::size_t n = L; n > 0; n = before_[n]) groups_.push_back(n - before_[n]);
  std::ranges::reverse(groups_);
  return groups_;
}

double backward_with_groups(const Profile& profile, std::span<const std::size_t> groups,
                            const LinearCost& line, double barrier) {
  EXPECT(profile.absent(Travel::beside_backward).empty());
  const double a = line.a.si() + barrier;
  const double b = line.b.si();
  double arrival = 0;
  std::size_t next = 0;
  for (const std::size_t count : groups) {
    double bytes = 0;
    for (const std::size_t end = next + count; next < end; ++next) bytes += profile.gradients[next];
    arrival = std::max(arrival, profile.ready[next - 1]) + a + b * bytes;
  }
  EXPECT(next == profile.gradients.size());
  return std::max(arrival, profile.backward);
}

std::vector<ReadyGradient> ready_gradients(const Profile& profile) {
  std::vector<ReadyGradient> gradients;
  for (std::size_t i = 0; i < profile.gradients.size(); ++i) {
    gradients.push_back({Seconds(profile.ready[i]), Bytes(profile.gradients[i])});
  }
  return gradients;
}

}  // namespace dlscale::model
