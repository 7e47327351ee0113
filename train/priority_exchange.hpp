#pragma once
#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "backend/comm/communicator.hpp"
#include "core/units.hpp"
#include "train/exchange.hpp"
#include "train/host_mirror.hpp"
#include "train/ready_list.hpp"

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
/// all-reduced without blocking, so that up to `credit` are under way. Rank 0 decides what comes
/// next by what it has ready itself and tells the others, which wait until theirs is, too.
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
  bool exchange_iteration(const std::stop_token& stop);
  [[nodiscard]] std::optional<std::size_t> most_urgent();
  std::optional<double> decide(const std::stop_token& stop);
  void start_part(std::size_t message);
  void finish_oldest();

  std::unique_ptr<backend::Communicator> communicator_;
  HostMirror mirror_;
  backend::Waiting waiting_;
  std::size_t credit_;
  std::vector<std::vector<std::size_t>> parts_;  ///< of each message, elements
  std::vector<std::size_t> started_;             ///< parts of each message, in this iteration
  std::vector<std::size_t> arrived_;
  std::size_t left_ = 0;  ///< parts of this iteration that have not arrived
  std::deque<Part> under_way_;
  ReadyList ready_;
  std::jthread thread_;  ///< last: stops before what it uses goes
};

}  // namespace dlscale::train
