#include "core/parallel/schedule/lists.hpp"

#include <algorithm>
#include <cstddef>
#include <map>

#include "core/base/error.hpp"

namespace dlscale::parallel {
namespace {

/// The rank that computes each part of each micro-batch.
class Homes {
 public:
  Homes(const PipelineShape& shape, const std::vector<Computing>& ranks)
      : parts_(static_cast<std::size_t>(shape.parts())),
        homes_(parts_ * static_cast<std::size_t>(shape.micro_batches), -1) {
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      for (const Operation& operation : ranks[rank]) {
        if (operation.kind != OperationKind::forward) continue;
        homes_[place(operation.part, operation.micro_batch)] = static_cast<Rank>(rank);
      }
    }
  }
  [[nodiscard]] Rank of(int part, int micro_batch) const {
    return homes_[place(part, micro_batch)];
  }

 private:
  [[nodiscard]] std::size_t place(int part, int micro_batch) const {
    return static_cast<std::size_t>(micro_batch) * parts_ + static_cast<std::size_t>(part);
  }
  std::size_t parts_;
  std::vector<Rank> homes_;
};

class ListWriter {
 public:
  ListWriter(const PipelineShape& shape, const Homes& homes, Rank rank, bool reduces_at_end)
      : shape_(shape), homes_(homes), rank_(rank), reduces_at_end_(reduces_at_end) {}

  std::vector<Operation> write(const Computing& computing) {
    for (const Operation& operation : computing) ++left_[operation.part];
    list_.reserve(3 * computing.size() + 2 * left_.size());
    for (const Operation& operation : computing) add(operation);
    if (reduces_at_end_) {
      for (const auto& [part, left] : left_) list_.push_back({OperationKind::reduce, part});
    }
    for (const auto& [part, left] : left_) list_.push_back({OperationKind::update, part});
    return std::move(list_);
  }

 private:
  void add(const Operation& operation) {
    switch (operation.kind) {
      case OperationKind::forward:
        message(OperationKind::receive_activation, operation, -1);
        list_.push_back(operation);
        message(OperationKind::send_activation, operation, 1);
        break;
      case OperationKind::backward:
      case OperationKind::backward_input:
        message(OperationKind::receive_gradient, operation, 1);
        list_.push_back(operation);
        message(OperationKind::send_gradient, operation, -1);
        break;
      default:
        list_.push_back(operation);
    }
    if (--left_[operation.part] == 0 && !reduces_at_end_) {
      list_.push_back({OperationKind::reduce, operation.part});
    }
  }

  /// A message between this part and the one `step` behind it, if that lies on another rank.
  void message(OperationKind kind, const Operation& operation, int step) {
    const int other = operation.part + step;
    if (other < 0 || other >= shape_.parts()) return;
    const Rank peer = homes_.of(other, operation.micro_batch);
    if (peer != rank_) list_.push_back({kind, operation.part, operation.micro_batch, peer});
  }

  const PipelineShape& shape_;
  const Homes& homes_;
  Rank rank_;
  bool reduces_at_end_;
  std::map<int, int> left_;  ///< operations of each part that are still to come
  std::vector<Operation> list_;
};

}  // namespace

Schedule with_messages(const PipelineShape& shape, const std::vector<Computing>& ranks,
                       int copies) {
  EXPECT(static_cast<int>(ranks.size()) == shape.stages);
  const Homes homes(shape, ranks);
  Schedule schedule{shape, copies, {}};
  for (Rank rank = 0; rank < shape.stages; ++rank) {
    ListWriter writer(shape, homes, rank, copies > 1);
    schedule.ranks.push_back(writer.write(ranks[static_cast<std::size_t>(rank)]));
  }
  return schedule;
}

std::string one_chunk_per_stage(const PipelineShape& shape) {
  return shape.chunks == 1 ? "" : "takes one chunk per stage";
}

}  // namespace dlscale::parallel
