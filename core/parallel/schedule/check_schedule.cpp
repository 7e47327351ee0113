#include "core/parallel/schedule/check_schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/parallel/schedule/dry_run.hpp"
#include "core/parallel/schedule/family.hpp"

namespace dlscale::parallel {
namespace {

/// Tensors of a part and micro-batch, and work on them: bits of a set.
enum Done : std::uint8_t {
  has_forward = 1,
  has_input_gradient = 2,
  has_weight_gradient = 4,
  received_activation = 8,
  received_gradient = 16,
  sent_activation = 32,
  sent_gradient = 64,
};

/// One tensor on its way: the part that made it, and its micro-batch.
struct Message {
  int part;
  int micro_batch;
  bool operator==(const Message&) const = default;
};

struct Channel {
  Rank from;
  Rank to;
  bool is_gradient;
  auto operator<=>(const Channel&) const = default;
};

[[noreturn]] void refuse(Rank rank, const Operation& operation, std::string_view why,
                         std::string_view advice) {
  throw ConfigError(fmt::format("Rank {} of the pipeline lists the {}, {}. {}", rank,
                                to_text(operation), why, advice));
}

class Checker {
  using Kind = OperationKind;

 public:
  explicit Checker(const Schedule& schedule) : schedule_(schedule), shape_(schedule.shape) {}

  void check() {
    check_shape();
    find_homes();
    for (Rank rank = 0; rank < shape_.stages; ++rank) check_rank(rank);
    check_done();
    check_channels();
    check_reduces();
  }

 private:
  void check_shape() const {
    for (const auto& [what, value] :
         {std::pair("stages", shape_.stages), std::pair("chunks", shape_.chunks),
          std::pair("micro-batches", shape_.micro_batches)}) {
      if (value >= 1 && value <= most_pieces) continue;
      throw ConfigError(
          fmt::format("A schedule has {} {}. Give it 1 to {}.", value, what, most_pieces));
    }
    const std::int64_t parts = std::int64_t{shape_.stages} * shape_.chunks;
    if (parts > most_pieces || parts * shape_.micro_batches > most_pieces) {
      throw ConfigError(
          fmt::format("A schedule has {} parts and {} micro-batches, more than {} pieces. Take "
                      "fewer of either.",
                      parts, shape_.micro_batches, most_pieces));
    }
    if (static_cast<int>(schedule_.ranks.size()) != shape_.stages) {
      throw ConfigError(
          fmt::format("A schedule has lists for {} ranks and {} stages. Give each "
                      "stage one list.",
                      schedule_.ranks.size(), shape_.stages));
    }
  }

  [[nodiscard]] std::size_t place(int part, int micro_batch) const {
    return static_cast<std::size_t>(micro_batch) * static_cast<std::size_t>(shape_.parts()) +
           static_cast<std::size_t>(part);
  }
  [[nodiscard]] Rank home(int part, int micro_batch) const {
    return homes_[place(part, micro_batch)];
  }

  void check_numbers(Rank rank, const Operation& operation) const {
    if (operation.part < 0 || operation.part >= shape_.parts()) {
      refuse(rank, operation, fmt::format("and there are {} parts", shape_.parts()),
             "Name one from 0 on.");
    }
    if (operation.micro_batch < 0 || operation.micro_batch >= shape_.micro_batches) {
      refuse(rank, operation, fmt::format("and there are {} micro-batches", shape_.micro_batches),
             "Name one from 0 on.");
    }
    if (operation.peer < 0 || operation.peer >= shape_.stages) {
      refuse(rank, operation,
             fmt::format("to or from rank {}, and there are {}", operation.peer, shape_.stages),
             "Name one from 0 on.");
    }
  }

  void find_homes() {
    const std::size_t pieces = place(shape_.parts() - 1, shape_.micro_batches - 1) + 1;
    homes_.assign(pieces, -1);
    done_.assign(pieces, 0);
    for (Rank rank = 0; rank < shape_.stages; ++rank) {
      for (const Operation& operation : list(rank)) {
        check_numbers(rank, operation);
        if (operation.kind != Kind::forward) continue;
        Rank& known = homes_[place(operation.part, operation.micro_batch)];
        if (known >= 0) {
          refuse(rank, operation, fmt::format("as rank {} does, too", known), "Leave one out.");
        }
        known = rank;
      }
    }
    for (std::size_t piece = 0; piece < pieces; ++piece) {
      if (homes_[piece] >= 0) continue;
      const auto parts = static_cast<std::size_t>(shape_.parts());
      throw ConfigError(fmt::format(
          "No rank of the pipeline lists the forward of part {} on micro-batch {}. Add it to one.",
          piece % parts, piece / parts));
    }
  }

  [[nodiscard]] const std::vector<Operation>& list(Rank rank) const {
    return schedule_.ranks[static_cast<std::size_t>(rank)];
  }

  /// Whether the tensor that an operation reads is on its rank: it has come from the neighbouring
  /// part's rank, or was made here.
  [[nodiscard]] bool has_input(Rank rank, int part, int neighbour, int micro_batch, Done received,
                               Done made) const {
    if (neighbour < 0 || neighbour >= shape_.parts()) return true;
    if ((done_[place(part, micro_batch)] & received) != 0) return true;
    return home(neighbour, micro_batch) == rank &&
           (done_[place(neighbour, micro_batch)] & made) != 0;
  }

  /// Sets bits of work that must be done once.
  void set(Rank rank, const Operation& operation, int bits) {
    std::uint8_t& done = done_[place(operation.part, operation.micro_batch)];
    if ((done & bits) != 0) {
      refuse(rank, operation, "which its list has before", "Leave one out.");
    }
    done = static_cast<std::uint8_t>(done | bits);
  }

  void check_rank(Rank rank) {
    left_.clear();
    reduced_.clear();
    updated_.clear();
    for (const Operation& operation : list(rank)) {
      if (is_computing(operation.kind)) ++left_[operation.part];
    }
    for (const Operation& operation : list(rank)) {
      if (is_message(operation.kind)) {
        check_message(rank, operation);
      } else if (is_computing(operation.kind)) {
        check_computing(rank, operation);
      } else {
        check_end(rank, operation);
      }
    }
    for (const auto& [part, left] : left_) {
      if (updated_.contains(part)) continue;
      throw ConfigError(fmt::format(
          "Rank {} of the pipeline computes part {} and does not update it. Add its reduce and "
          "update to the end of the list.",
          rank, part));
    }
  }

  void check_computing(Rank rank, const Operation& operation) {
    const auto [kind, part, micro_batch, peer] = operation;
    const int done = done_[place(part, micro_batch)];
    if (home(part, micro_batch) != rank) {
      refuse(rank, operation, fmt::format("and rank {} its forward", home(part, micro_batch)),
             "Keep both on one.");
    }
    if (kind == Kind::forward) {
      if (!has_input(rank, part, part - 1, micro_batch, received_activation, has_forward)) {
        refuse(rank, operation, "before its input is there", "Receive that before.");
      }
      set(rank, operation, has_forward);
    } else if (kind == Kind::backward_weights) {
      if ((done & has_input_gradient) == 0) {
        refuse(rank, operation, "before that for its input", "Swap them.");
      }
      set(rank, operation, has_weight_gradient);
    } else {
      if ((done & has_forward) == 0) refuse(rank, operation, "before its forward", "Swap them.");
      if (!has_input(rank, part, part + 1, micro_batch, received_gradient, has_input_gradient)) {
        refuse(rank, operation, "before the gradient of its output is there",
               "Receive that before.");
      }
      set(rank, operation,
          kind == Kind::backward ? has_input_gradient | has_weight_gradient : has_input_gradient);
    }
    --left_[part];
  }

  void check_message(Rank rank, const Operation& operation) {
    const auto [kind, part, micro_batch, peer] = operation;
    const bool forwards = kind == Kind::send_activation || kind == Kind::receive_gradient;
    const int other = forwards ? part + 1 : part - 1;
    if (other < 0 || other >= shape_.parts()) {
      refuse(rank, operation, "which has no neighbour on that side", "Leave it out.");
    }
    if (home(part, micro_batch) != rank) {
      refuse(rank, operation, fmt::format("and rank {} computes it", home(part, micro_batch)),
             "Give the message to that rank.");
    }
    if (peer == rank || home(other, micro_batch) != peer) {
      refuse(rank, operation,
             fmt::format("to or from rank {}, and rank {} computes part {}", peer,
                         home(other, micro_batch), other),
             peer == rank ? "Leave it out." : "Name that rank.");
    }
    const int made = kind == Kind::send_activation ? has_forward : has_input_gradient;
    if (is_send(kind) && (done_[place(part, micro_batch)] & made) == 0) {
      refuse(rank, operation, "before it is made", "Send it afterwards.");
    }
    const bool is_gradient = kind == Kind::send_gradient || kind == Kind::receive_gradient;
    if (is_send(kind)) {
      set(rank, operation, is_gradient ? sent_gradient : sent_activation);
      sent_[{rank, peer, is_gradient}].push_back({part, micro_batch});
    } else {
      set(rank, operation, is_gradient ? received_gradient : received_activation);
      received_[{peer, rank, is_gradient}].push_back({other, micro_batch});
    }
  }

  void check_end(Rank rank, const Operation& operation) {
    const int part = operation.part;
    const auto left = left_.find(part);
    if (left == left_.end()) {
      refuse(rank, operation, "and computes nothing of it", "Leave it out.");
    }
    if (left->second > 0) {
      refuse(rank, operation, "before its last backward", "Move it behind that.");
    }
    if (operation.kind == Kind::update && !reduced_.contains(part)) {
      refuse(rank, operation, "before its reduce", "Swap them.");
    }
    if (!(operation.kind == Kind::reduce ? reduced_ : updated_).insert(part).second) {
      refuse(rank, operation, "which its list has before", "Leave one out.");
    }
  }

  void check_done() const {
    for (int micro_batch = 0; micro_batch < shape_.micro_batches; ++micro_batch) {
      for (int part = 0; part < shape_.parts(); ++part) {
        const int done = done_[place(part, micro_batch)];
        if ((done & has_input_gradient) != 0 && (done & has_weight_gradient) != 0) continue;
        throw ConfigError(fmt::format(
            "Rank {} of the pipeline lists the forward of part {} on micro-batch {}, and not all "
            "of its backward. Add backward, or that for the input and that for the weights.",
            home(part, micro_batch), part, micro_batch));
      }
    }
  }

  void check_channels() const {
    for (const auto& [channel, sent] : sent_) {
      const auto found = received_.find(channel);
      check_order(channel, sent, found == received_.end() ? std::vector<Message>() : found->second);
    }
    for (const auto& [channel, received] : received_) {
      if (!sent_.contains(channel)) check_order(channel, {}, received);
    }
  }

  static void check_order(const Channel& channel, const std::vector<Message>& sent,
                          const std::vector<Message>& received) {
    const std::string_view what = channel.is_gradient ? "gradient" : "activation";
    for (std::size_t i = 0; i < std::min(sent.size(), received.size()); ++i) {
      if (sent[i] == received[i]) continue;
      throw ConfigError(fmt::format(
          "Rank {} of the pipeline sends rank {} the {} of part {} on micro-batch {}, where that "
          "receives the one of part {} on micro-batch {} (they arrive in the order of the sends). "
          "Swap the receives.",
          channel.from, channel.to, what, sent[i].part, sent[i].micro_batch, received[i].part,
          received[i].micro_batch));
    }
    if (sent.size() == received.size()) return;
    const bool is_lost = sent.size() > received.size();
    const Message& odd = is_lost ? sent[received.size()] : received[sent.size()];
    throw ConfigError(fmt::format(
        "Rank {} of the pipeline {} rank {} the {} of part {} on micro-batch {}, and that does not "
        "{} it. Add the other end, or leave this one out.",
        is_lost ? channel.from : channel.to, is_lost ? "sends" : "receives from",
        is_lost ? channel.to : channel.from, what, odd.part, odd.micro_batch,
        is_lost ? "receive" : "send"));
  }

  /// Parts by rank, in the order of their reduces.
  void check_reduces() const {
    std::vector<std::vector<Rank>> holders(static_cast<std::size_t>(shape_.parts()));
    for (Rank rank = 0; rank < shape_.stages; ++rank) {
      for (const int part : reduced_by(rank))
        holders[static_cast<std::size_t>(part)].push_back(rank);
    }
    std::set<std::pair<Rank, Rank>> compared;
    for (const std::vector<Rank>& sharing : holders) {
      for (std::size_t i = 1; i < sharing.size(); ++i) {
        if (compared.insert({sharing[i - 1], sharing[i]}).second) {
          compare_reduces(sharing[i - 1], sharing[i]);
        }
      }
    }
  }

  [[nodiscard]] std::vector<int> reduced_by(Rank rank) const {
    std::vector<int> parts;
    for (const Operation& operation : list(rank)) {
      if (operation.kind == Kind::reduce) parts.push_back(operation.part);
    }
    return parts;
  }

  void compare_reduces(Rank one, Rank other) const {
    std::vector<int> first = reduced_by(one);
    std::vector<int> second = reduced_by(other);
    const std::set<int> in_first(first.begin(), first.end());
    const std::set<int> in_second(second.begin(), second.end());
    std::erase_if(first, [&](int part) { return !in_second.contains(part); });
    std::erase_if(second, [&](int part) { return !in_first.contains(part); });
    if (first == second) return;
    throw ConfigError(fmt::format(
        "Ranks {} and {} of the pipeline hold the same parts and reduce them in different orders. "
        "Reduce them in that of the parts.",
        one, other));
  }

  const Schedule& schedule_;
  const PipelineShape& shape_;
  std::vector<Rank> homes_;         ///< by piece
  std::vector<std::uint8_t> done_;  ///< by piece, bits of Done
  std::map<Channel, std::vector<Message>> sent_;
  std::map<Channel, std::vector<Message>> received_;
  std::map<int, int> left_;  ///< of the rank: operations of each part that are still to come
  std::set<int> reduced_;
  std::set<int> updated_;
};

}  // namespace

void check_schedule(const Schedule& schedule, Delivery delivery) {
  Checker(schedule).check();
  check_progress(schedule, delivery);
}

}  // namespace dlscale::parallel
