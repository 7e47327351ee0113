#include "train/carriages.hpp"

#include <utility>

namespace dlscale::train {
namespace {

using backend::Collective;
using backend::Communicator;
using std::chrono::steady_clock;

std::span<const std::byte> bytes_of(std::span<float> elements) {
  return std::as_bytes(elements);
}

/// The block of each message that this rank has the sum of.
class ScatteredSum {
 public:
  ScatteredSum(HostMirror mirror, std::size_t messages)
      : mirror_(std::move(mirror)), blocks_(messages) {}

  std::vector<Transfer> scatter(Communicator& ranks, std::size_t message,
                                std::span<float> gradients) {
    std::vector<Transfer> done;
    Instant start = steady_clock::now();
    const std::span<float> host = mirror_.fetch(gradients);
    std::vector<float>& block = blocks_[message];
    block.resize(host.size() / static_cast<std::size_t>(ranks.size()));
    const std::size_t whole = block.size() * static_cast<std::size_t>(ranks.size());
    if (whole > 0) {
      backend::carry_out(ranks, {.collective = Collective::reduce_scatter,
                                 .from = bytes_of(host.first(whole)),
                                 .to = std::as_writable_bytes(std::span(block))});
      done.push_back(transfer(Collective::reduce_scatter, message, host.first(whole), start));
      start = done.back().end;
    }
    if (whole < host.size()) {
      const std::span<float> rest = host.subspan(whole);
      add_up(ranks, rest);
      done.push_back(transfer(Collective::all_reduce, message, rest, start));
    }
    return done;
  }

  std::vector<Transfer> gather(Communicator& ranks, std::size_t message,
                               std::span<float> gradients) {
    const Instant start = steady_clock::now();
    const std::span<float> host = mirror_.on_host(gradients);
    std::vector<float>& block = blocks_[message];
    const std::size_t whole = block.size() * static_cast<std::size_t>(ranks.size());
    if (whole > 0) {
      ranks.all_gather(bytes_of(block), std::as_writable_bytes(host.first(whole)));
    }
    mirror_.store(gradients);
    if (whole == 0) return {};
    return {transfer(Collective::all_gather, message, host.first(whole), start)};
  }

 private:
  /// By prepare(), which takes memory of the host whatever all_reduce() takes.
  static void add_up(Communicator& ranks, std::span<float> elements) {
    const auto bytes = std::as_writable_bytes(elements);
    backend::carry_out(ranks, {.collective = Collective::all_reduce, .from = bytes, .to = bytes});
  }

  static Transfer transfer(Collective kind, std::size_t message, std::span<float> carried,
                           Instant start) {
    return {.bucket = message,
            .buckets = 1,
            .kind = kind,
            .bytes = carried.size_bytes(),
            .start = start,
            .end = steady_clock::now()};
  }

  HostMirror mirror_;
  std::vector<std::vector<float>> blocks_;
};

}  // namespace

Carriage by_scattered_sum(HostMirror gradients, std::size_t messages) {
  auto sum = std::make_shared<ScatteredSum>(std::move(gradients), messages);
  return {
      .first = [sum](Communicator& ranks, std::size_t message,
                     std::span<float> elements) { return sum->scatter(ranks, message, elements); },
      .second = [sum](Communicator& ranks, std::size_t message,
                      std::span<float> elements) { return sum->gather(ranks, message, elements); }};
}

Carriage by_reduce(HostMirror gradients, std::vector<Rank> owners) {
  auto mirror = std::make_shared<HostMirror>(std::move(gradients));
  return {.first = [mirror, owners = std::move(owners)](Communicator& ranks, std::size_t message,
                                                        std::span<float> elements) {
    const Instant start = steady_clock::now();
    const bool owns = ranks.rank() == owners[message];
    const std::span<float> host = mirror->fetch(elements);
    std::span<std::byte> sum;
    if (owns) sum = std::as_writable_bytes(host);
    backend::carry_out(ranks, {.collective = Collective::reduce,
                               .root = owners[message],
                               .from = bytes_of(host),
                               .to = sum});
    if (owns) mirror->store(elements);
    return std::vector{Transfer{.bucket = message,
                                .buckets = 1,
                                .kind = Collective::reduce,
                                .bytes = elements.size_bytes(),
                                .root = owners[message],
                                .start = start,
                                .end = steady_clock::now()}};
  }};
}

Transfer broadcast_bucket(Communicator& communicator, Staging& staging, std::size_t bucket,
                          std::span<float> values, Rank owner) {
  const Instant start = steady_clock::now();
  staging.with(values, [&](std::span<float> elements) {
    communicator.broadcast(std::as_writable_bytes(elements), owner);
  });
  return {.bucket = bucket,
          .buckets = 1,
          .kind = Collective::broadcast,
          .bytes = values.size_bytes(),
          .root = owner,
          .start = start,
          .end = steady_clock::now()};
}

}  // namespace dlscale::train
