#include "model/published/scaling/time/exposed.hpp"

#include <algorithm>

#include "core/base/error.hpp"

namespace dlscale::model::scaling {

MessageSchedule::MessageSchedule(std::span<const ScalingMessage> messages) {
  EXPECT(!messages.empty());
  Bytes total;
  for (const ScalingMessage& message : messages) {
    EXPECT(message.size > Bytes() && message.ready >= 0 && message.ready <= 1);
    total += message.size;
  }
  double rest = 1;
  double latest = -1;
  for (const ScalingMessage& message : messages) {
    const double share = message.size / total;
    const auto count = static_cast<double>(messages.size() - messages_.size());
    // A message that is ready no later than an earlier one is never the last to wait.
    if (message.ready > latest) corners_.push_back({message.ready, rest, count});
    latest = std::max(latest, message.ready);
    messages_.push_back({message.ready, share});
    rest -= share;
  }
}

double MessageSchedule::finish_without_agreement(double backward, const MessageCost& cost) const {
  const double startup = cost.startup.si();
  const double transfer = cost.transfer.si();
  double finish = 0;
  for (const Corner& corner : corners_) {
    const double path = corner.ready * backward + corner.count * startup + corner.share * transfer;
    finish = std::max(finish, path);
  }
  return finish;
}

ExposedMessages MessageSchedule::beside(Seconds backward, const MessageCost& cost) const {
  const double t_b = backward.si();
  const double startup = cost.startup.si();
  const double transfer = cost.transfer.si();
  const double agreement = cost.agreement.si();
  if (agreement == 0) {
    const double finish = finish_without_agreement(t_b, cost);
    const double all = transfer + static_cast<double>(size()) * startup;
    return {Seconds(std::max(finish - t_b, 0.0)), Seconds(all)};
  }
  double agreed = 0;
  double finish = 0;
  double agreed_at_once = 0;
  double all = 0;
  for (const Message& message : messages_) {
    const double on_link = startup + message.share * transfer;
    agreed = std::max(agreed, message.ready * t_b) + agreement;
    finish = std::max(finish, agreed) + on_link;
    agreed_at_once += agreement;
    all = std::max(all, agreed_at_once) + on_link;
  }
  return {Seconds(std::max(finish - t_b, 0.0)), Seconds(all)};
}

}  // namespace dlscale::model::scaling
