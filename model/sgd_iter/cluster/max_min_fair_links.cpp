#include "model/sgd_iter/cluster/max_min_fair_links.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/base/error.hpp"

namespace dlscale::model {

LinkId MaxMinFairLinks::add(BytesPerSecond capacity) {
  EXPECT(std::isfinite(capacity.si()) && capacity > BytesPerSecond());
  EXPECT(links_.size() < std::numeric_limits<std::uint32_t>::max());
  Link link;
  link.capacity = capacity.si();
  links_.push_back(std::move(link));
  return LinkId(links_.size() - 1);
}

std::uint32_t MaxMinFairLinks::free_place() {
  if (!free_.empty()) {
    const std::uint32_t place = free_.back();
    free_.pop_back();
    return place;
  }
  flows_.emplace_back();
  return static_cast<std::uint32_t>(flows_.size() - 1);
}

void MaxMinFairLinks::begin(std::uint32_t flow, Bytes size, std::span<const LinkId> path,
                            Seconds now) {
  EXPECT(std::isfinite(size.si()) && size > Bytes() && !path.empty());
  EXPECT(now.si() >= now_);
  const std::uint32_t place = free_place();
  Flow& one = flows_[place];
  one.number = flow;
  one.path.clear();
  for (const LinkId link : path) {
    EXPECT(link.index() < links_.size());
    const auto index = static_cast<std::uint32_t>(link.index());
    EXPECT(std::ranges::find(one.path, index) == one.path.end());
    one.path.push_back(index);
    links_[index].flows.push_back(place);
  }
  one.left = size.si();
  one.rate = 0;
  one.since = now.si();
  one.goes_on = true;
  share(one.path, now.si());
}

/// Finds all links and flows that share with those of `path`, directly or indirectly.
void MaxMinFairLinks::reach(std::span<const std::uint32_t> path) {
  ++settling_;
  reached_links_.clear();
  reached_flows_.clear();
  const auto reach_links = [this](std::span<const std::uint32_t> some) {
    for (const std::uint32_t index : some) {
      if (std::exchange(links_[index].reached, settling_) != settling_) {
        reached_links_.push_back(index);
      }
    }
  };
  reach_links(path);
  for (std::size_t i = 0; i < reached_links_.size(); ++i) {
    Link& link = links_[reached_links_[i]];
    link.left = link.capacity;
    link.unsettled = link.flows.size();
    for (const std::uint32_t place : link.flows) {
      Flow& flow = flows_[place];
      if (std::exchange(flow.reached, settling_) == settling_) continue;
      flow.is_settled = false;
      reached_flows_.push_back(place);
      reach_links(flow.path);
    }
  }
}

/// The link with the least capacity per flow; the number of all if everything is settled.
std::size_t MaxMinFairLinks::tightest() const {
  std::size_t found = links_.size();
  double least = std::numeric_limits<double>::infinity();
  for (const std::uint32_t index : reached_links_) {
    const Link& link = links_[index];
    if (link.unsettled == 0) continue;
    const double each = link.left / static_cast<double>(link.unsettled);
    // Ties go to the least number, so that rates do not depend on the order of arrival.
    if (each > least || (each == least && index > found)) continue;
    least = each;
    found = index;
  }
  return found;
}

void MaxMinFairLinks::settle(Flow& flow, double rate) {
  flow.settled = rate;
  flow.is_settled = true;
  for (const std::uint32_t index : flow.path) {
    links_[index].left = std::max(0.0, links_[index].left - rate);
    --links_[index].unsettled;
  }
}

/// Fills the reached links progressively.
void MaxMinFairLinks::fill() {
  for (std::size_t index = tightest(); index < links_.size(); index = tightest()) {
    const Link& link = links_[index];
    const double each = link.left / static_cast<double>(link.unsettled);
    for (const std::uint32_t place : link.flows) {
      if (!flows_[place].is_settled) settle(flows_[place], each);
    }
  }
}

/// Shares the links again after a flow over `path` began or ended.
void MaxMinFairLinks::share(std::span<const std::uint32_t> path, double now) {
  now_ = now;
  reach(path);
  fill();
  for (const std::uint32_t place : reached_flows_) {
    Flow& flow = flows_[place];
    if (flow.settled == flow.rate) continue;  // its end does not change
    flow.left = std::max(0.0, flow.left - (now - flow.since) * flow.rate);
    flow.since = now;
    flow.rate = flow.settled;
    ends_.push({now + flow.left / flow.rate, flow.number, place, ++flow.generation});
  }
}

void MaxMinFairLinks::drop_stale() {
  while (!ends_.empty()) {
    const Flow& flow = flows_[ends_.top().place];
    if (flow.goes_on && flow.generation == ends_.top().generation) return;
    ends_.pop();
  }
}

Seconds MaxMinFairLinks::next() {
  drop_stale();
  return Seconds(ends_.empty() ? std::numeric_limits<double>::infinity() : ends_.top().when);
}

std::uint32_t MaxMinFairLinks::end() {
  drop_stale();
  EXPECT(!ends_.empty());
  const End end = ends_.top();
  ends_.pop();
  Flow& flow = flows_[end.place];
  flow.goes_on = false;
  ++flow.generation;
  for (const std::uint32_t index : flow.path) std::erase(links_[index].flows, end.place);
  const std::vector<std::uint32_t> path = std::move(flow.path);
  free_.push_back(end.place);
  share(path, std::max(now_, end.when));
  return end.number;
}

std::vector<MaxMinFairLinks::Rate> MaxMinFairLinks::rates() const {
  std::vector<Rate> rates;
  for (const Flow& flow : flows_) {
    if (flow.goes_on) rates.push_back({flow.number, BytesPerSecond(flow.rate)});
  }
  std::ranges::sort(rates, {}, &Rate::flow);
  return rates;
}

}  // namespace dlscale::model
