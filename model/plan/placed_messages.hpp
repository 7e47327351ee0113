#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "core/network/merge.hpp"
#include "model/machine/machine.hpp"
#include "model/plan/profile.hpp"
#include "model/topology/topology.hpp"

namespace dlscale::model {

/// What messages of training take on the ranks of a placement, kept for many questions.
class PlacedMessages {
 public:
  /// `machine` must outlive this. Throws ConfigError if a link that ranks need is not known.
  PlacedMessages(const Machine& machine, const Placement& placement);
  ~PlacedMessages();
  PlacedMessages(const PlacedMessages&) = delete;
  PlacedMessages& operator=(const PlacedMessages&) = delete;
  PlacedMessages(PlacedMessages&& other) noexcept;
  PlacedMessages& operator=(PlacedMessages&& other) noexcept;
  /// Where it is one in the size of the message (nominal_line()); 0 on one rank.
  [[nodiscard]] const std::optional<LinearCost>& line() const { return line_; }
  /// Of ranks before a message: meeting_time(); 0 on one rank.
  [[nodiscard]] double meeting() const { return meeting_; }
  /// Of a message of > 0 bytes, s.
  double time(Travel travel, double bytes);
  /// What its reduce to the server that owns it takes, and its broadcast from there, s.
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
  std::unique_ptr<Looked> beside_;  ///< only where there is no line, or there are servers
  std::unique_ptr<Looked> after_;
};

}  // namespace dlscale::model
