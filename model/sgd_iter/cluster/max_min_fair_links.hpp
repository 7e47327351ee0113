#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <span>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/units.hpp"

namespace dlscale::model {

/// A link of MaxMinFairLinks.
using LinkId = Id<struct LinkTag>;

/// Flows that share links fairly, by max-min: no flow can gain without taking from one that has no
/// more. Rates come from progressive filling. The link with the least capacity left per unsettled
/// flow settles its flows at that rate; then the next. [Bertsekas & Gallager, Data Networks (1992),
/// 6.5.2] So n flows of one link get capacity / n each. Transport protocols come near to this for
/// long flows of similar delay. Wrong for the first round trips of short flows, whose latency the
/// caller adds.
///
/// Time starts at 0 and never decreases between calls (`now`). A beginning or an end costs time in
/// proportion to the flows and links connected to it, O(log n) if these are few. Equal calls give
/// equal results. Arguments out of range are the caller's bug (EXPECT).
class MaxMinFairLinks {
 public:
  LinkId add(BytesPerSecond capacity);  ///< > 0, finite
  [[nodiscard]] std::size_t links() const { return links_.size(); }

  /// Begins a flow with a number chosen by the caller, of `size` > 0 bytes, over all links of
  /// `path`: one or more, each once.
  void begin(std::uint32_t flow, Bytes size, std::span<const LinkId> path, Seconds now);
  /// Time of the next end of a flow; infinity if there is none.
  [[nodiscard]] Seconds next();
  /// Ends the next flow, of simultaneous ones that of the least number, and returns it. Requires a
  /// flow.
  std::uint32_t end();

  /// The rates of the flows in progress, in the order of their numbers.
  struct Rate {
    std::uint32_t flow;
    BytesPerSecond rate;
  };
  [[nodiscard]] std::vector<Rate> rates() const;

 private:
  struct Link {
    double capacity = 0;
    std::vector<std::uint32_t> flows = {};  ///< places in flows_
    // State while rates are settled:
    double left = 0;
    std::size_t unsettled = 0;
    std::uint64_t reached = 0;  ///< number of the last settling that reached it
  };
  struct Flow {
    std::uint32_t number = 0;
    std::vector<std::uint32_t> path = {};
    double left = 0;  ///< bytes, at `since`
    double rate = 0;  ///< bytes/s from then on
    double since = 0;
    double settled = 0;  ///< the new rate
    std::uint32_t generation = 0;
    std::uint64_t reached = 0;
    bool goes_on = false;
    bool is_settled = false;
  };
  /// The end of a flow at its present rate.
  struct End {
    double when;
    std::uint32_t number;
    std::uint32_t place;
    std::uint32_t generation;
    bool operator>(const End& other) const {
      return when != other.when ? when > other.when : number > other.number;
    }
  };

  std::uint32_t free_place();
  void reach(std::span<const std::uint32_t> path);
  [[nodiscard]] std::size_t tightest() const;
  void settle(Flow& flow, double rate);
  void fill();
  void share(std::span<const std::uint32_t> path, double now);
  void drop_stale();

  std::vector<Link> links_;
  std::vector<Flow> flows_;  ///< by place
  std::vector<std::uint32_t> free_;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
  std::uint64_t settling_ = 0;
  std::vector<std::uint32_t> reached_links_;
  std::vector<std::uint32_t> reached_flows_;
  double now_ = 0;
};

}  // namespace dlscale::model
