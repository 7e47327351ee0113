#include "model/sgd_iter/graph/dispatcher.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/error.hpp"
#include "core/network/merge.hpp"
#include "model/sgd_iter/graph/iteration_parts.hpp"

namespace dlscale::model {

using What = Beginning::What;

Seconds look_after_rest(Seconds last, Seconds ready, Seconds cycle) {
  EXPECT(ready >= last);
  if (cycle == Seconds()) return ready;
  const double cycles = std::max(1.0, std::ceil((ready - last) / cycle));
  return std::max(ready, last + cycles * cycle);
}

void Beginnings::add(const Beginnings& others) {
  for (const Beginning& other : others) all_.at(count_++) = other;
}

Dispatcher::Dispatcher(const Resource& resource, bool restless)
    : resource_(&resource), restless_(restless), free_(resource.servers) {}

Beginnings Dispatcher::become_ready(const ReadyTask& ready, double now) {
  if (resource_->packing) {
    waiting_.push_back(ready);
    return busy_ ? Beginnings() : plan_look(now);
  }
  if (!chooses_at_once()) {
    wait(ready);
    return begin_choice();
  }
  if (free_ > 0) {
    --free_;
    return Beginning{What::task, ready.task, 0};
  }
  const auto under_way = chosen_.size() + 1;
  if (under_way < static_cast<std::size_t>(resource_->window)) {
    chosen_.push_back(ready.task);
  } else {
    wait(ready);
  }
  return {};
}

void Dispatcher::wait(const ReadyTask& ready) {
  if (resource_->order == Order::ready) return waiting_.push_back(ready);
  urgent_.push({ready, arrivals_++});
}

std::size_t Dispatcher::take_waiting() {
  if (resource_->order == Order::urgent) {
    const std::size_t task = urgent_.top().ready.task;
    urgent_.pop();
    return task;
  }
  const std::size_t task = waiting_.front().task;
  waiting_.pop_front();
  return task;
}

Beginnings Dispatcher::served(double now) {
  if (resource_->packing) return serve_pack(now);
  const bool at_once = chooses_at_once();
  if (at_once && !none_waits()) chosen_.push_back(take_waiting());
  Beginnings begin;
  if (chosen_.empty()) {
    ++free_;
  } else {
    begin.add(Beginning{What::task, chosen_.front(), 0});
    chosen_.pop_front();
  }
  if (!at_once) begin.add(begin_choice());
  return begin;
}

/// Begins a choice if none is in progress, some tasks wait, and the window has room.
Beginnings Dispatcher::begin_choice() {
  if (choosing_ || none_waits()) return {};
  const std::size_t served = free_ > 0 ? 0 : 1;
  if (served + chosen_.size() >= static_cast<std::size_t>(resource_->window)) return {};
  choosing_ = take_waiting();
  return Beginning{What::choice, *choosing_, 0};
}

Beginnings Dispatcher::chosen() {
  const std::size_t task = choosing_.value();
  choosing_.reset();
  Beginnings begin;
  if (free_ > 0) {
    --free_;
    begin.add(Beginning{What::task, task, 0});
  } else {
    chosen_.push_back(task);
  }
  begin.add(begin_choice());
  return begin;
}

Beginnings Dispatcher::plan_look(double now) {
  busy_ = true;
  return Beginning{What::look, 0, std::max(now, next_look(now))};
}

double Dispatcher::next_look(double now) const {
  const Packing& packing = *resource_->packing;
  if (found_ == 0) return look_after_rest(Seconds(last_look_), Seconds(now), packing.cycle).si();
  const double next = std::max(last_look_ + packing.cycle.si(), free_from_);
  const double period = std::max(packing.cycle, packing.looking()).si();
  if (now <= next || period == 0) return next;
  return next + std::ceil((now - next) / period) * period;
}

Beginnings Dispatcher::looked(double now) {
  last_look_ = now;
  find_packs();
  if (resource_->packing->barrier == Seconds()) return vote(now);
  return Beginning{What::barrier, 0, 0};
}

Beginnings Dispatcher::met(double now) {
  return vote(now);
}

Beginnings Dispatcher::vote(double now) {
  if (resource_->packing->vote == Seconds()) return serve_pack(now);
  return Beginning{What::vote, 0, 0};
}

void Dispatcher::find_packs() {
  std::vector<Bytes> sizes;
  for (const ReadyTask& ready : waiting_) sizes.push_back(ready.size);
  found_ += waiting_.size();
  for (const std::size_t count : fuse(sizes, resource_->packing->threshold)) {
    Pack& pack = packs_.emplace_back();
    for (std::size_t i = 0; i < count; ++i) {
      pack.tasks.push_back(waiting_.front().task);
      pack.size += waiting_.front().size;
      waiting_.pop_front();
    }
  }
}

Beginnings Dispatcher::serve_pack(double now) {
  if (!packs_.empty()) {
    packed_ = std::move(packs_.front());
    packs_.pop_front();
    return Beginning{What::pack, packed_.tasks.front(), 0};
  }
  busy_ = false;
  free_from_ = now;
  if (found_ >= resource_->packing->messages) found_ = 0;
  const bool goes_on = found_ > 0 && restless_ && resource_->packing->vote > Seconds();
  return goes_on || !waiting_.empty() ? plan_look(now) : Beginnings();
}

}  // namespace dlscale::model
