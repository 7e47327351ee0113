#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "core/network/merge.hpp"
#include "model/machine/machine.hpp"
#include "model/plan/profile.hpp"
#include "model/topology/topology.hpp"

namespace dlscale::model {

/// Times of training's messages on the ranks of a placement, cached for repeated queries.
class PlacedMessages {
 public:
  /// `machine` must outlive this object. Throws ConfigError if a link between the ranks is not
  /// known.
  PlacedMessages(const Machine& machine, const Placement& placement);
  ~PlacedMessages();
  PlacedMessages(const PlacedMessages&) = delete;
  PlacedMessages& operator=(const PlacedMessages&) = delete;
  PlacedMessages(PlacedMessages&& other) noexcept;
  PlacedMessages& operator=(PlacedMessages&& other) noexcept;
  /// The time as a line in the message size (nominal_line()), if it is one; 0 on one rank.
  [[nodiscard]] const std::optional<LinearCost>& line() const { return line_; }
  /// Time of the ranks' barrier before a message, meeting_time(), in s; 0 on one rank.
  [[nodiscard]] double meeting() const { return meeting_; }
  /// Time of a message of > 0 bytes, in s.
  double time(Travel travel, double bytes);
  /// Time to reduce a message to the server that owns it, and to broadcast it from there, in s.
  struct Served {
    double reduce = 0;
    double broadcast = 0;
  };
  Served served(Travel travel, double bytes);

 private:
  struct Looked;

  Looked& looked(Travel travel);

  const Machine* machine_;
  Placement placement_;
  std::optional<LinearCost> line_;
  std::vector<LinearCost> lines_;  ///< nominal_lines(), of which the least counts
  double meeting_ = 0;
  std::unique_ptr<Looked> beside_;  ///< created on demand, where no line holds or for servers
  std::unique_ptr<Looked> after_;
};

}  // namespace dlscale::model
