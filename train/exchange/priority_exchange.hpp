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
#include "train/exchange/host_mirror.hpp"
#include "train/exchange/ready_list.hpp"

namespace dlscale::train {

/// How a PriorityExchange cuts messages and how much it lets travel.
struct Partition {
  Bytes most;                         ///< of a part, ≥ 4 B
  std::size_t credit = 1;             ///< parts under way at once, ≥ 1
  std::vector<std::size_t> messages;  ///< elements of each message of an iteration
  ReadyList::Device device = ReadyList::Device::is_host;
};

/// Sends gradients in parts, of what is ready those of the last message, which is of the first
/// layers, first, as ByteScheduler and P3 do. A part that has started is not held up. Parts are
/// all-reduced without blocking: one starts as soon as fewer than `credit` are under way and
/// something is ready, on all ranks. Which one, they find by a vote: the least of the numbers of
/// messages that each has ready tells all of them the same part. A vote begins with the numbers of
/// that moment, so that what becomes ready meanwhile comes after the part that it is about. While
/// nothing is under way, a rank waits for the others' votes as `waiting` says.
class PriorityExchange : public Exchange {
 public:
  PriorityExchange(std::unique_ptr<backend::Communicator> communicator, HostMirror gradients,
                   backend::Waiting waiting, Partition partition);
  /// Finishes the iteration under way, if any: all ranks must have posted all of it.
  ~PriorityExchange() override;

  void post(std::size_t message, std::span<float> gradients,
            std::shared_ptr<const backend::Mark> ready) override;

 private:
  struct Part {
    std::size_t message = 0;
    std::span<float> elements;
    std::unique_ptr<backend::PreparedCollective> sum;
    std::size_t under_way = 0;  ///< others, when it started
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
  backend::Waiting waiting_;
  std::size_t credit_;
  std::vector<std::vector<std::size_t>> parts_;  ///< of each message, elements
  std::vector<std::size_t> started_;             ///< parts of each message, in this iteration
  std::vector<std::size_t> arrived_;
  std::size_t left_ = 0;   ///< parts of this iteration that have not arrived
  std::size_t known_ = 0;  ///< messages that were ready when it looked last
  double agreed_ = 0;      ///< messages that this rank has ready; after the vote, that all have
  std::unique_ptr<backend::PreparedCollective> vote_;
  bool voting_ = false;
  std::vector<Part> under_way_;
  ReadyList ready_;
  std::jthread thread_;  ///< last: stops before what it uses goes
};

}  // namespace dlscale::train
