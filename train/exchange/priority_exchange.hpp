#pragma once
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "backend/comm/communicator.hpp"
#include "core/base/units.hpp"
#include "train/exchange/exchange.hpp"
#include "train/exchange/host_copies.hpp"
#include "train/exchange/ready_list.hpp"

namespace dlscale::train {

/// Part size and credit of a PriorityExchange.
struct Partition {
  Bytes most;                         ///< largest part, ≥ 4 B
  std::size_t credit = 1;             ///< parts in flight at once, ≥ 1
  std::vector<std::size_t> messages;  ///< elements of each message of an iteration
  ReadyList::Device device = ReadyList::Device::is_host;
};

/// Sends gradients in parts by priority, as ByteScheduler and P3 do: of the ready messages the last
/// one, which belongs to the first layers, goes first. A started part is not interrupted. Parts are
/// all-reduced without blocking. One starts as soon as fewer than `credit` are in flight and
/// something is ready on all ranks. The ranks agree on it by a vote: the minimum over ranks of the
/// number of ready messages selects the same part everywhere. A vote uses the numbers from its
/// start, so a message that becomes ready meanwhile comes after the part voted on. While nothing is
/// in flight, a rank waits for the others' votes as `waiting` says.
class PriorityExchange : public Exchange {
 public:
  PriorityExchange(std::unique_ptr<backend::Communicator> communicator, HostMirror gradients,
                   backend::WaitPolicy waiting, Partition partition);
  /// Finishes the current iteration, if any. All ranks must have posted all of it.
  ~PriorityExchange() override;

  void post(std::size_t message, std::span<float> gradients,
            std::shared_ptr<const backend::Mark> ready) override;

 private:
  struct Part {
    std::size_t message = 0;
    std::span<float> elements;
    std::unique_ptr<backend::PreparedCollective> sum;
    std::size_t under_way = 0;  ///< other parts in flight when it started
    Instant posted;
    Instant start;
  };

  void run(const std::stop_token& stop);
  void prepare_vote();
  bool exchange_iteration(const std::stop_token& stop);
  [[nodiscard]] std::optional<std::size_t> most_urgent(std::size_t ready) const;
  bool begin_vote();
  void end_vote();
  void start_part(std::size_t message);
  void finish_parts();
  void arrive(const Part& part);

  std::unique_ptr<backend::Communicator> communicator_;
  HostMirror mirror_;
  backend::WaitPolicy waiting_;
  std::size_t credit_;
  std::vector<std::vector<std::size_t>> parts_;  ///< by message: elements of each part
  std::vector<std::size_t> started_;             ///< by message: parts started in this iteration
  std::vector<std::size_t> arrived_;
  std::size_t left_ = 0;   ///< parts of this iteration that have not arrived
  std::size_t known_ = 0;  ///< messages that were ready at the last check
  double agreed_ = 0;      ///< messages ready on this rank; after the vote, on all ranks
  std::unique_ptr<backend::PreparedCollective> vote_;
  bool voting_ = false;
  std::vector<Part> under_way_;
  ReadyList ready_;
  std::jthread thread_;  ///< last: it stops before the members it uses are destroyed
};

}  // namespace dlscale::train
