#include "core/parallel/schedule/dry_run.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <vector>

#include "core/base/error.hpp"

namespace dlscale::parallel {
namespace {

/// Runs the lists without times. It keeps the messages that are on their way, by the part that
/// reads them and the micro-batch.
class DryRun {
  using Kind = OperationKind;

 public:
  DryRun(const Schedule& schedule, Delivery delivery)
      : schedule_(schedule),
        delivery_(delivery),
        parts_(static_cast<std::size_t>(schedule.shape.parts())),
        next_(schedule.ranks.size(), 0),
        holders_(parts_),
        begun_(parts_, 0) {
    const std::size_t pieces = parts_ * static_cast<std::size_t>(schedule.shape.micro_batches);
    activations_.assign(pieces, false);
    gradients_.assign(pieces, false);
    for (std::size_t rank = 0; rank < schedule.ranks.size(); ++rank) {
      ready_.push_back(static_cast<Rank>(rank));
      for (const Operation& operation : schedule.ranks[rank]) {
        if (operation.kind != Kind::reduce) continue;
        holders_[static_cast<std::size_t>(operation.part)].push_back(static_cast<Rank>(rank));
      }
    }
  }

  void run() {
    while (!ready_.empty()) {
      const Rank rank = ready_.back();
      ready_.pop_back();
      while (const Operation* operation = next_of(rank)) {
        if (!step(rank, *operation)) break;
      }
    }
    for (Rank rank = 0; rank < static_cast<Rank>(next_.size()); ++rank) {
      const Operation* waiting = next_of(rank);
      if (waiting == nullptr) continue;
      throw ConfigError(fmt::format(
          "Rank {} of the pipeline waits for ever at the {}: other ranks wait for it in turn. "
          "{}.",
          rank, to_text(*waiting),
          delivery_ == Delivery::eager ? "Move sends before the receives that they wait for"
                                       : "Move sends before receives, or send eagerly"));
    }
  }

 private:
  [[nodiscard]] const Operation* next_of(Rank rank) const {
    const std::vector<Operation>& list = schedule_.ranks[static_cast<std::size_t>(rank)];
    const std::size_t next = next_[static_cast<std::size_t>(rank)];
    return next < list.size() ? &list[next] : nullptr;
  }
  void pass(Rank rank) { ++next_[static_cast<std::size_t>(rank)]; }

  /// The mark of a message that this operation sends or receives.
  [[nodiscard]] std::vector<bool>::reference mark(const Operation& operation) {
    const bool is_activation =
        operation.kind == Kind::send_activation || operation.kind == Kind::receive_activation;
    int reader = operation.part;
    if (operation.kind == Kind::send_activation) ++reader;
    if (operation.kind == Kind::send_gradient) --reader;
    const std::size_t at =
        static_cast<std::size_t>(operation.micro_batch) * parts_ + static_cast<std::size_t>(reader);
    return is_activation ? activations_[at] : gradients_[at];
  }

  /// Passes the operation, if it need not wait, and wakes the ranks that wait for it.
  bool step(Rank rank, const Operation& operation) {
    const auto part = static_cast<std::size_t>(operation.part);
    if (is_message(operation.kind)) return message(rank, operation);
    if (operation.kind == Kind::update) {
      if (begun_[part] < holders_[part].size()) return false;
    } else if (operation.kind == Kind::reduce) {
      if (++begun_[part] == holders_[part].size()) {
        ready_.insert(ready_.end(), holders_[part].begin(), holders_[part].end());
      }
    }
    pass(rank);
    return true;
  }

  bool message(Rank rank, const Operation& operation) {
    if (delivery_ == Delivery::rendezvous) {
      const Operation* other = next_of(operation.peer);
      if (other == nullptr || !meet(rank, operation, *other)) return false;
      pass(operation.peer);
      ready_.push_back(operation.peer);
    } else if (is_send(operation.kind)) {
      mark(operation) = true;
      ready_.push_back(operation.peer);
    } else if (!mark(operation)) {
      return false;
    }
    pass(rank);
    return true;
  }

  /// Whether two operations are the ends of one message.
  static bool meet(Rank rank, const Operation& one, const Operation& other) {
    if (!is_message(other.kind) || other.peer != rank || one.micro_batch != other.micro_batch) {
      return false;
    }
    const auto is_pair = [](const Operation& send, const Operation& receive) {
      return (send.kind == Kind::send_activation && receive.kind == Kind::receive_activation &&
              send.part + 1 == receive.part) ||
             (send.kind == Kind::send_gradient && receive.kind == Kind::receive_gradient &&
              send.part - 1 == receive.part);
    };
    return is_pair(one, other) || is_pair(other, one);
  }

  const Schedule& schedule_;
  Delivery delivery_;
  std::size_t parts_;
  std::vector<std::size_t> next_;           ///< by rank
  std::vector<std::vector<Rank>> holders_;  ///< by part
  std::vector<std::size_t> begun_;          ///< by part: ranks that have begun its sum
  std::vector<bool> activations_;
  std::vector<bool> gradients_;
  std::vector<Rank> ready_;  ///< ranks that may go on
};

}  // namespace

void check_progress(const Schedule& schedule, Delivery delivery) {
  DryRun(schedule, delivery).run();
}

}  // namespace dlscale::parallel
