#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "core/base/error.hpp"
#include "core/network/merge.hpp"
#include "train/exchange/gradient_reducer.hpp"
#include "train/make_exchange.hpp"
#include "train/trainer_impl.hpp"

/// How a trainer exchanges gradients and comes to the next parameters.
namespace dlscale::train {
namespace {

/// By layer index: the message that holds its gradients.
std::vector<std::optional<std::size_t>> index_layers(const Network& network,
                                                     const std::vector<Message>& messages) {
  std::vector<std::optional<std::size_t>> index(network.layers().size());
  for (std::size_t i = 0; i < messages.size(); ++i) {
    for (const LayerId layer : messages[i].bucket.layers) index[layer.index()] = i;
  }
  return index;
}

/// Runs a collective step. Any failure in it leaves this rank apart from the others
/// (core/base/error.hpp), so it is thrown as LibraryError. A signal reaches all ranks and
/// stays Interrupted.
template <class Work>
auto with_others(const Work& work) {
  try {
    return work();
  } catch (const LibraryError&) {
    throw;
  } catch (const Interrupted&) {
    throw;
  } catch (const Error& error) {
    throw LibraryError(error.what());
  }
}

}  // namespace

void Trainer::Impl::plan(std::vector<Bucket> buckets) {
  messages = plan_messages(*program, std::move(buckets));
  message_of = index_layers(program->network(), messages);
  unsettled.assign(messages.size(), false);
  if (options.launch == Launch::graph) replay.emplace(program->device(), messages.size() + 3);
}

/// Adopts the merge plan at the start of an iteration, which only ranks without a failure reach.
void Trainer::Impl::adopt_merge_plan() {
  merge_plan = with_others([&] { return profile->agree(*communicator, options.schedule); });
  profile.reset();
  plan(merged_buckets(gradient_buckets(program->network(), options.schedule), merge_plan->groups));
}

void Trainer::Impl::start_together() {
  check_agreement(*communicator, *program, messages, options);
  program->synchronize();
  broadcast_parameters(*communicator, staging, 0, program->all_parameters(), 0);
  program->parameters_changed();
}

bool Trainer::Impl::is_deferred() const {
  return overlaps_next_forward(options.schedule) && communicator->size() > 1;
}

/// Whether this rank has the sum of a layer's gradients. Other ranks do not get an owner's sum;
/// sums of an unsettled iteration are still in flight.
bool Trainer::Impl::knows_gradient(LayerId layer) const {
  const std::optional<std::size_t> message = message_of[layer.index()];
  if (!message) return true;
  const bool owns = owners.empty() || owners[*message] == communicator->rank();
  return owns && !unsettled[*message];
}

void Trainer::Impl::settle(std::size_t message) {
  phase(gradients_phase, [&] { with_others([&] { exchange->await(message); }); });
  phase(update_phase, [&] { program->update(options.sgd, messages[message].bucket); });
  unsettled[message] = false;
}

void Trainer::Impl::settle() {
  if (std::ranges::find(unsettled, true) == unsettled.end()) return;
  EXPECT(phases.has_value());
  end_phase(other_phase);
  for (std::size_t message = 0; message < messages.size(); ++message) {
    if (unsettled[message]) settle(message);
  }
  if (options.record_messages) {
    sent.add(with_others([&] { return exchange->take(); }), layers_in(messages));
  }
  program->synchronize();
}

void Trainer::Impl::run_update() {
  if (owners.empty()) {
    run_stretch(1, [this] { program->update(options.sgd); });
    return;
  }
  run_stretch(1, [this] {
    for (std::size_t i = 0; i < messages.size(); ++i) {
      if (owners[i] == communicator->rank()) program->update(options.sgd, messages[i].bucket);
    }
  });
}

void Trainer::Impl::post_next() {
  const std::shared_ptr<const backend::Mark> ready = program->device().mark();
  if (profile) profile->add_ready(ready);
  if (posted == 0) first_posted = steady_clock::now();
  exchange->post(posted, program->gradients(messages[posted].bucket), ready);
  if (++posted == messages.size()) exchange->close();
}

/// Runs the part after backward: exchange and update. Where they overlap the next forward, it takes
/// the transfers that have arrived meanwhile.
std::vector<Transfer> Trainer::Impl::synchronise() {
  std::vector<Transfer> transfers;
  if (is_deferred()) {
    posted = 0;
    unsettled.assign(messages.size(), true);
    return with_others([&] { return exchange->take(); });
  }
  phase(gradients_phase, [&] { transfers = with_others([&] { return finish_exchange(); }); });
  phase(update_phase, [&] { run_update(); });
  if (!owners.empty()) {
    phase(gradients_phase, [&] { with_others([&] { hand_out_parameters(transfers); }); });
  }
  return transfers;
}

std::vector<Transfer> Trainer::Impl::finish_exchange() {
  posted = 0;
  if (exchange) return exchange->finish();
  return communicator->size() == 1 ? std::vector<Transfer>{} : exchange_now();
}

/// Takes part in the pending exchange after a failure of this rank, which is being handled. The
/// others then reach the end of the iteration, where the caller can inform them. Does nothing if
/// the failure left the ranks apart. If the exchange fails in turn, throws that failure instead, as
/// the caller must not communicate then.
void Trainer::Impl::keep_in_step() {
  is_apart = true;
  if (is_collective_failure(std::current_exception())) return;
  with_others([&] {
    // Messages of the last iteration may be in flight until the first of this one is posted.
    if (exchange && posted == 0) exchange->finish();
    while (exchange && posted < messages.size()) post_next();
    std::vector<Transfer> transfers = finish_exchange();
    if (!owners.empty()) hand_out_parameters(transfers);
  });
  is_apart = false;
}

/// Exchanges after backward. No rank computes from here on, so one barrier before the first message
/// is enough.
std::vector<Transfer> Trainer::Impl::exchange_now() {
  program->synchronize();
  const Instant begun = steady_clock::now();
  communicator->barrier(options.waiting);
  std::vector<Transfer> transfers;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const std::span<float> gradients = program->gradients(messages[i].bucket);
    for (Transfer each : reducer->reduce(*communicator, i, gradients)) {
      each.posted = begun;
      transfers.push_back(each);
    }
  }
  return transfers;
}

/// Broadcasts updated parameters from their owners to all other ranks.
void Trainer::Impl::hand_out_parameters(std::vector<Transfer>& transfers) {
  program->synchronize();
  const Instant begun = steady_clock::now();
  communicator->barrier(options.waiting);
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const Bucket& bucket = messages[i].bucket;
    transfers.push_back(
        broadcast_parameters(*communicator, staging, i, program->parameters(bucket), owners[i]));
    transfers.back().posted = begun;
    if (owners[i] != communicator->rank()) program->parameters_changed(bucket);
  }
}

}  // namespace dlscale::train
