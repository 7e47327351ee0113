#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "backend/comm/nccl/call.hpp"
#include "backend/comm/nccl/communicator.hpp"
#include "backend/comm/nccl/staging.hpp"
#include "core/error.hpp"
#include "core/usable_rows.hpp"

namespace dlscale::backend::gpu_comm {
namespace {

template <class T>
constexpr ncclDataType_t nccl_type = ncclUint8;
template <>
constexpr ncclDataType_t nccl_type<float> = ncclFloat32;
template <>
constexpr ncclDataType_t nccl_type<double> = ncclFloat64;

/// Goes before each message, since NCCL knows neither tags nor sizes.
struct Label {
  std::int64_t tag = 0;
  std::uint64_t bytes = 0;
};

/// Calls use(offset, count) for consecutive pieces of at most `limit`; never for nothing.
template <class Use>
void for_each_piece(std::size_t count, std::size_t limit, Use use) {
  for (std::size_t offset = 0; offset < count; offset += limit) {
    use(offset, std::min(limit, count - offset));
  }
}

/// Host data is little and may wait; one block leaves the GPU to others and keeps NCCL's buffers
/// small.
LinkEnd narrow(LinkEnd end) {
  end.most_channels = 1;
  return end;
}

class CarriedCommunicator : public Communicator {
 public:
  CarriedCommunicator(const LinkEnd& end, const LinkId& id, int node_rank, int node_size)
      : link_(narrow(end), id), staging_(link_), node_rank_(node_rank), node_size_(node_size) {}

  [[nodiscard]] Rank rank() const override { return link_.end().rank; }
  [[nodiscard]] int size() const override { return link_.end().size; }
  [[nodiscard]] int node_size() const override { return node_size_; }
  [[nodiscard]] int node_rank() const override { return node_rank_; }
  [[nodiscard]] std::string library() const override {
    return library_name() + std::string(carried_by_gpu);
  }

  void send(std::span<const std::byte> data, Rank to, int tag) override {
    EXPECT(to >= 0 && to < size());
    link_.enter();
    if (to == rank()) return store(rank(), tag, {data.begin(), data.end()});
    const Label label{tag, data.size()};
    send_piece(std::as_bytes(std::span(&label, 1)), to);
    for_each_piece(data.size(), Staging::capacity, [&](std::size_t offset, std::size_t bytes) {
      send_piece(data.subspan(offset, bytes), to);
    });
  }

  void receive(std::span<std::byte> data, Rank from, int tag) override {
    EXPECT(from >= 0 && from < size());
    link_.enter();
    std::vector<std::vector<std::byte>>& waiting = mail_[{from, tag}];
    // A message to itself was stored when it was sent, so there is nothing to wait for.
    EXPECT(from != rank() || !waiting.empty());
    while (waiting.empty()) fetch(from);
    const std::vector<std::byte> message = std::move(waiting.front());
    waiting.erase(waiting.begin());
    if (message.size() != data.size()) {
      throw LibraryError(
          fmt::format("receive on rank {} from rank {}: {} bytes came, {} were expected.", rank(),
                      from, message.size(), data.size()));
    }
    std::ranges::copy(message, data.begin());
  }

  void all_reduce(std::span<float> data, Reduction op) override { reduce_all(data, op); }
  void all_reduce(std::span<double> data, Reduction op) override { reduce_all(data, op); }

  void broadcast(std::span<std::byte> data, Rank root) override {
    EXPECT(root >= 0 && root < size());
    link_.enter();
    for_each_piece(data.size(), Staging::capacity, [&](std::size_t offset, std::size_t bytes) {
      const std::span<std::byte> piece = data.subspan(offset, bytes);
      if (rank() == root) staging_.put(piece);
      link_.check(ncclBroadcast(staging_.device(), staging_.device(), bytes, ncclUint8, root,
                                link_.get(), link_.stream()),
                  "ncclBroadcast");
      copy(staging_.take(bytes), piece);
    });
  }

  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) override {
    const auto ranks = static_cast<std::size_t>(size());
    EXPECT(all.size() == mine.size() * ranks);
    link_.enter();
    const std::size_t limit = Staging::capacity / ranks;
    for_each_piece(mine.size(), limit, [&](std::size_t offset, std::size_t bytes) {
      gather_piece(mine.subspan(offset, bytes), all, offset, mine.size());
    });
  }

  void barrier() override { meet(Waiting::spin); }

  void meet(Waiting waiting) override {
    link_.enter();
    link_.check(ncclAllReduce(staging_.device(), staging_.device(), 1, ncclInt32, ncclMax,
                              link_.get(), link_.stream()),
                "ncclAllReduce");
    link_.wait(waiting);
  }

  [[nodiscard]] std::unique_ptr<Communicator> duplicate() override {
    const LinkId id = agree_on_link(*this);
    return make_carried(link_.end(), id, node_rank_, node_size_);
  }

 private:
  static void copy(std::span<const std::byte> from, std::span<std::byte> to) {
    std::ranges::copy(from, to.begin());
  }

  void store(Rank from, int tag, std::vector<std::byte> message) {
    mail_[{from, tag}].push_back(std::move(message));
  }

  void send_piece(std::span<const std::byte> piece, Rank to) {
    staging_.put(piece);
    link_.check(
        ncclSend(staging_.device(), piece.size(), ncclUint8, to, link_.get(), link_.stream()),
        "ncclSend");
    link_.wait();
  }

  void receive_piece(std::span<std::byte> piece, Rank from) {
    link_.check(
        ncclRecv(staging_.device(), piece.size(), ncclUint8, from, link_.get(), link_.stream()),
        "ncclRecv");
    copy(staging_.take(piece.size()), piece);
  }

  /// Stores the next message from that rank, whatever its tag.
  void fetch(Rank from) {
    Label label;
    receive_piece(std::as_writable_bytes(std::span(&label, 1)), from);
    std::vector<std::byte> message(label.bytes);
    for_each_piece(message.size(), Staging::capacity, [&](std::size_t offset, std::size_t bytes) {
      receive_piece(std::span(message).subspan(offset, bytes), from);
    });
    store(from, static_cast<int>(label.tag), std::move(message));
  }

  void gather_piece(std::span<const std::byte> mine, std::span<std::byte> all, std::size_t offset,
                    std::size_t stride) {
    const std::size_t bytes = mine.size();
    const auto ranks = static_cast<std::size_t>(size());
    const std::size_t own = bytes * static_cast<std::size_t>(rank());
    staging_.put(mine, own);
    link_.check(ncclAllGather(staging_.device() + own, staging_.device(), bytes, ncclUint8,
                              link_.get(), link_.stream()),
                "ncclAllGather");
    const std::span<const std::byte> came = staging_.take(bytes * ranks);
    for (std::size_t from = 0; from < ranks; ++from) {
      copy(came.subspan(from * bytes, bytes), all.subspan(from * stride + offset, bytes));
    }
  }

  template <class T>
  void reduce_all(std::span<T> data, Reduction op) {
    link_.enter();
    constexpr std::size_t limit = Staging::capacity / sizeof(T);
    for_each_piece(data.size(), limit, [&](std::size_t offset, std::size_t count) {
      const std::span<T> piece = data.subspan(offset, count);
      staging_.put(std::as_bytes(piece));
      link_.check(ncclAllReduce(staging_.device(), staging_.device(), count, nccl_type<T>,
                                nccl_operator(op), link_.get(), link_.stream()),
                  "ncclAllReduce");
      copy(staging_.take(piece.size_bytes()), std::as_writable_bytes(piece));
    });
  }

  Link link_;
  Staging staging_;
  int node_rank_;
  int node_size_;
  std::map<std::pair<Rank, int>, std::vector<std::vector<std::byte>>> mail_;
};

}  // namespace

std::unique_ptr<Communicator> make_carried(const LinkEnd& end, const LinkId& id, int node_rank,
                                           int node_size) {
  return std::make_unique<CarriedCommunicator>(end, id, node_rank, node_size);
}

}  // namespace dlscale::backend::gpu_comm
