#include "model/plan/batched_form.hpp"

#include <algorithm>

#include "core/base/error.hpp"

namespace dlscale::model {
namespace {

/// Number of configurations in a block, which stays in the first cache while all messages are
/// added.
constexpr std::size_t block = 256;

double larger(double a, double b) {
  return a > b ? a : b;
}

}  // namespace

BatchedForm::BatchedForm(const Profile& profile, const Cut& cut, Travel travel)
    : path_(profile.forward + profile.update),
      load_(profile.load),
      least_(0),
      backward_(profile.backward),
      travel_(travel),
      tails_(cut.messages()) {
  EXPECT(profile.absent(travel).empty());
  const bool ahead = profile.input_copy == InputCopy::ahead;
  (ahead ? least_ : path_) += profile.h2d;
  Tail tail;
  for (std::size_t c = cut.messages(); c-- > 0;) {
    tail.ready = profile.ready.at(cut.last[c]);
    tail.count += 1;
    tail.bytes += cut.bytes[c];
    tails_[c] = tail;
  }
}

double BatchedForm::backward_with_comm(double a, double b, double barrier) const {
  if (tails_.empty()) return backward_;
  if (travel_ == Travel::after_backward) {
    const Tail& all = tails_.front();
    return backward_ + barrier + all.count * a + all.bytes * b;
  }
  double finish = backward_;
  for (const Tail& tail : tails_) {
    finish = larger(finish, tail.ready + tail.count * (a + barrier) + tail.bytes * b);
  }
  return finish;
}

void BatchedForm::iterations(const MessageLines& lines, std::span<double> result) const {
  EXPECT(lines.per_byte.size() == lines.size() && lines.barrier.size() == lines.size());
  EXPECT(lines.storage.size() == lines.size() && result.size() == lines.size());
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
    for (std::size_t k = 0; k < count; ++k) {
      t[k] = larger(larger(load_, storage[k]), larger(least_, path_ + t[k]));
    }
  }
}

double iteration_time(const Profile& profile, double storage, double with_comm) {
  const double io = std::max(profile.load, storage);
  const double busy = profile.forward + with_comm + profile.update;
  if (profile.input_copy == InputCopy::ahead) return std::max({io, profile.h2d, busy});
  return std::max(io, profile.h2d + busy);
}

double backward_with_comm(const Profile& profile, const Cut& cut, Travel travel,
                          std::span<const double> times, double barrier) {
  EXPECT(times.size() == cut.messages() && profile.absent(travel).empty());
  if (travel == Travel::after_backward) {
    double sent = cut.messages() > 0 ? barrier : 0;
    for (const double time : times) sent += time;
    return profile.backward + sent;
  }
  double arrival = 0;
  for (std::size_t c = 0; c < cut.messages(); ++c) {
    arrival = std::max(arrival, profile.ready.at(cut.last[c])) + barrier + times[c];
  }
  return std::max(arrival, profile.backward);
}

}  // namespace dlscale::model
