#include "model/plan/batched_form.hpp"

#include <algorithm>

#include "core/base/error.hpp"

namespace dlscale::model {
namespace {

std::string why_absent(IterationPlan plan, Schedule schedule) {
  plan.schedule = schedule;
  std::string why;
  if (!closed_form(plan, why)) return why;
  if (!plan.contention.empty() && plan.overlaps()) {
    return "computing and messages slow one another down";
  }
  return "";
}

/// Number of configurations in a block, which stays in the first cache while all messages are
/// added.
constexpr std::size_t block = 256;

double larger(double a, double b) {
  return a > b ? a : b;
}

}  // namespace

Profile profile_of(const IterationPlan& plan) {
  EXPECT(!plan.packing && plan.late.empty() && !plan.gathers());
  Profile profile;
  profile.load = plan.load.si();
  profile.h2d = plan.h2d.device.si();
  profile.forward = plan.forward.device.si();
  profile.update = plan.update.device.si();
  profile.input_copy = plan.input_copy;
  for (const BackwardPart& part : plan.backward) {
    profile.backward += part.compute.device.si();
    if (!part.message) continue;
    profile.ready.push_back(profile.backward);
    profile.gradients.push_back(part.size.si());
  }
  profile.beside_absent = why_absent(plan, Schedule::wait_free);
  profile.after_absent = why_absent(plan, Schedule::sequential);
  return profile;
}

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

namespace {

/// T_bc for messages that arrive at `arrival` and take `messages` in all: what overlaps computing
/// takes longer by the interference.
double with_messages(double backward, double arrival, double messages, const RankDelays& delays) {
  const double exposed = std::max(arrival - backward, 0.0);
  return backward + exposed + delays.interference * (messages - exposed) + delays.meeting;
}

}  // namespace

double backward_with_groups(const Profile& profile, std::span<const std::size_t> groups,
                            const LinearCost& line, double barrier, const RankDelays& delays) {
  EXPECT(profile.absent(Travel::beside_backward).empty());
  const double a = line.a.si() + barrier;
  const double b = line.b.si();
  double arrival = 0;
  double messages = 0;
  std::size_t next = 0;
  for (const std::size_t count : groups) {
    double bytes = 0;
    for (const std::size_t end = next + count; next < end; ++next) bytes += profile.gradients[next];
    const double message = a + b * bytes;
    arrival = std::max(arrival, delays.slowest * profile.ready[next - 1]) + message;
    messages += message;
  }
  EXPECT(next == profile.gradients.size());
  return with_messages(delays.slowest * profile.backward, arrival, messages, delays);
}

std::vector<ReadyGradient> ready_gradients(const Profile& profile) {
  std::vector<ReadyGradient> gradients;
  for (std::size_t i = 0; i < profile.gradients.size(); ++i) {
    gradients.push_back({Seconds(profile.ready[i]), Bytes(profile.gradients[i])});
  }
  return gradients;
}

BatchedForm::BatchedForm(const Profile& profile, const Cut& cut, Travel travel)
    : computing_(profile.forward + profile.update),
      copy_(0),
      load_(profile.load),
      least_(0),
      backward_(profile.backward),
      travel_(travel),
      tails_(cut.messages()) {
  EXPECT(profile.absent(travel).empty());
  const bool ahead = profile.input_copy == InputCopy::ahead;
  (ahead ? least_ : copy_) = profile.h2d;
  Tail tail;
  for (std::size_t c = cut.messages(); c-- > 0;) {
    tail.ready = profile.ready.at(cut.last[c]);
    tail.count += 1;
    tail.bytes += cut.bytes[c];
    tails_[c] = tail;
  }
}

/// Replaces T_bc without delays.
void BatchedForm::add_delays(const MessageLines& lines, std::size_t first,
                             std::span<double> t) const {
  for (std::size_t k = 0; k < t.size(); ++k) {
    const RankDelays& delays = lines.delays[first + k];
    const double a = lines.startup[first + k];
    const double b = lines.per_byte[first + k];
    const double barrier = lines.barrier[first + k];
    const double backward = delays.slowest * backward_;
    if (tails_.empty() || travel_ == Travel::after_backward) {
      t[k] += backward - backward_ + delays.meeting;
      continue;
    }
    double arrival = 0;
    for (const Tail& tail : tails_) {
      arrival = larger(arrival,
                       delays.slowest * tail.ready + tail.count * (a + barrier) + tail.bytes * b);
    }
    const Tail& all = tails_.front();
    t[k] = with_messages(backward, arrival, all.count * (a + barrier) + all.bytes * b, delays);
  }
}

void BatchedForm::iterations(const MessageLines& lines, std::span<double> result) const {
  EXPECT(lines.per_byte.size() == lines.size() && lines.barrier.size() == lines.size());
  EXPECT(lines.storage.size() == lines.size() && result.size() == lines.size());
  EXPECT(lines.delays.empty() || lines.delays.size() == lines.size());
  for (std::size_t first = 0; first < lines.size(); first += block) {
    const std::size_t count = std::min(block, lines.size() - first);
    const double* a = lines.startup.data() + first;
    const double* b = lines.per_byte.data() + first;
    const double* barrier = lines.barrier.data() + first;
    const double* storage = lines.storage.data() + first;
    double* t = result.data() + first;
    for (std::size_t k = 0; k < count; ++k) t[k] = backward_;
    if (!tails_.empty() && travel_ == Travel::after_backward) {
      const Tail all = tails_.front();
      for (std::size_t k = 0; k < count; ++k) {
        t[k] += barrier[k] + all.count * a[k] + all.bytes * b[k];
      }
    } else {
      for (const Tail& tail : tails_) {
        for (std::size_t k = 0; k < count; ++k) {
          t[k] = larger(t[k], tail.ready + tail.count * (a[k] + barrier[k]) + tail.bytes * b[k]);
        }
      }
    }
    if (!lines.delays.empty()) add_delays(lines, first, {t, count});
    for (std::size_t k = 0; k < count; ++k) {
      const double slowest = lines.delays.empty() ? 1 : lines.delays[first + k].slowest;
      const double busy = copy_ + slowest * computing_ + t[k];
      t[k] = larger(larger(load_, storage[k]), larger(least_, busy));
    }
  }
}

double iteration_time(const Profile& profile, double storage, double with_comm,
                      const RankDelays& delays) {
  const double io = std::max(profile.load, storage);
  const double busy = delays.slowest * (profile.forward + profile.update) + with_comm;
  if (profile.input_copy == InputCopy::ahead) return std::max({io, profile.h2d, busy});
  return std::max(io, profile.h2d + busy);
}

double iteration_beside(const Profile& profile, double storage, const SheetServers& servers,
                        const RankDelays& delays) {
  const double last = servers.last.si();
  const double others = servers.transfer.si() - last;
  const double copy = profile.input_copy == InputCopy::ahead ? 0 : profile.h2d;
  const double update = delays.slowest * profile.update;
  const double rest = delays.slowest * (profile.forward + profile.backward);
  const double beside_update = std::min(others, update);
  const double beside_copy = std::min(others - beside_update, copy);
  const double beside_rest = std::min(others - beside_update - beside_copy, rest);
  const double exposed = others - beside_update - beside_copy - beside_rest + last;
  const double lost = delays.interference * (beside_update + beside_rest);
  return iteration_time(profile, storage,
                        delays.slowest * profile.backward + lost + exposed + delays.meeting,
                        delays);
}

double backward_with_comm(const Profile& profile, const Cut& cut, Travel travel,
                          std::span<const double> times, double barrier, const RankDelays& delays) {
  EXPECT(times.size() == cut.messages() && profile.absent(travel).empty());
  if (travel == Travel::after_backward) {
    double sent = cut.messages() > 0 ? barrier : 0;
    for (const double time : times) sent += time;
    return delays.slowest * profile.backward + sent + delays.meeting;
  }
  double arrival = 0;
  double messages = 0;
  for (std::size_t c = 0; c < cut.messages(); ++c) {
    const double ready = delays.slowest * profile.ready.at(cut.last[c]);
    arrival = std::max(arrival, ready) + barrier + times[c];
    messages += barrier + times[c];
  }
  return with_messages(delays.slowest * profile.backward, arrival, messages, delays);
}

}  // namespace dlscale::model
