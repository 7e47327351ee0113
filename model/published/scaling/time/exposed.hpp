#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "core/base/units.hpp"
#include "model/published/scaling/facts/facts.hpp"

namespace dlscale::model::scaling {

/// The costs of an all-reduce's messages before any overlap, each ≥ 0.
struct MessageCost {
  Seconds transfer = {};   ///< time of the bytes of all messages
  Seconds startup = {};    ///< start-up of each message on the link
  Seconds agreement = {};  ///< time of each message before that, among the hosts
};

/// Times of messages beside a backward pass.
struct ExposedMessages {
  Seconds exposed = {};  ///< from the end of backward to that of the last message, ≥ 0
  Seconds all = {};      ///< time of all messages, if all gradients were ready at once
};

/// Messages in the order of sending. The hosts agree on one after the other, each as soon as its
/// gradients are ready; then the link carries one after the other. t_b is the time of backward.
/// Message i of K is ready at ρ_i t_b and has the share m_i of the bytes:
///   d_i = max{ d_(i-1), ρ_i t_b } + agreement
///   f_i = max{ f_(i-1), d_i } + startup + m_i transfer
///   exposed = max{ f_K - t_b, 0 }
/// Without agreement that is (1.9):  f_K = max over i of ρ_i t_b + Σ_{j≥i} (startup + m_j transfer)
/// [MODEL 1.1 and 1.2, derived: a flow shop of hosts and link; equal to the task graph]
/// Wrong where messages slow computing down, for which the caller adds a share, and where messages
/// travel at the same time.
class MessageSchedule {
 public:
  /// Requires at least one message. Sizes are > 0, and `ready` is within [0, 1].
  explicit MessageSchedule(std::span<const ScalingMessage> messages);
  [[nodiscard]] std::size_t size() const { return messages_.size(); }
  /// Requires backward ≥ 0.
  [[nodiscard]] ExposedMessages beside(Seconds backward, const MessageCost& cost) const;

 private:
  struct Message {
    double ready;
    double share;
  };
  /// A message that may be the last to wait for its gradients. From it on, `share` of the bytes and
  /// `count` messages follow.
  struct Corner {
    double ready;
    double share;
    double count;
  };
  [[nodiscard]] double finish_without_agreement(double backward, const MessageCost& cost) const;

  std::vector<Message> messages_;
  std::vector<Corner> corners_;  ///< messages that can be the last to wait
};

}  // namespace dlscale::model::scaling
