#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/ranks_apart.hpp"
#include "core/network/merge.hpp"
#include "train/exchange/carriages.hpp"
#include "train/make_exchange.hpp"
#include "train/trainer_impl.hpp"

/// How a trainer exchanges gradients and comes to the next parameters.
namespace dlscale::train {
namespace {

using std::chrono::steady_clock;

/// Which message holds the gradients of a layer, by its index.
std::vector<std::optional<std::size_t>> index_layers(const Network& network,
                                                     const std::vector<Message>& messages) {
  std::vector<std::optional<std::size_t>> index(network.layers().size());
  for (std::size_t i = 0; i < messages.size(); ++i) {
    for (const LayerId layer : messages[i].bucket.layers) index[layer.index()] = i;
  }
  return index;
}

/// Runs what ranks do together. Whatever fails in it leaves this rank apart from the others
/// (core/base/ranks_apart.hpp), so that it is thrown as the failure of a library; a signal comes to all.
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

/// At the start of an iteration, which all ranks have come to: one that failed in the last has not.
void Trainer::Impl::adopt_merge_plan() {
  merge_plan = with_others([&] { return profile->agree(*communicator, options.schedule); });
  profile.reset();
  plan(merged_buckets(gradient_buckets(program->network(), options.schedule), merge_plan->groups));
}

void Trainer::Impl::start_together() {
  check_agreement(*communicator, *program, messages, options);
  program->synchronize();
  staging.with(program->all_parameters(), [this](std::span<float> values) {
    communicator->broadcast(std::as_writable_bytes(values), 0);
  });
  program->parameters_changed();
}

bool Trainer::Impl::is_deferred() const {
  return overlaps_next_forward(options.schedule) && communicator->size() > 1;
}

/// Nobody gives an owner's sum to the others; those of an iteration that is not settled are on
/// their way.
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

/// What follows backward: the exchange and the update, or, where they overlap the next forward,
/// what has arrived since they did in this one.
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

/// After a failure of this rank, which is being handled: takes part in what the others wait for, so
/// that they reach the end of the iteration, where the caller can tell them. Not where they may be
/// in the midst of what failed; and what fails here in turn is thrown instead, for then the caller
/// must not tell them.
void Trainer::Impl::keep_in_step() {
  is_apart = true;
  if (leaves_ranks_apart(std::current_exception())) return;
  with_others([&] {
    // Up to the first message of this iteration some of the last may be on their way.
    if (exchange && posted == 0) exchange->finish();
    while (exchange && posted < messages.size()) post_next();
    std::vector<Transfer> transfers = finish_exchange();
    if (!owners.empty()) hand_out_parameters(transfers);
  });
  is_apart = false;
}

/// No rank computes from here on, so one meeting before the first message is enough.
std::vector<Transfer> Trainer::Impl::exchange_now() {
  program->synchronize();
  const Instant begun = steady_clock::now();
  communicator->meet(options.waiting);
  std::vector<Transfer> transfers;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const std::span<float> gradients = program->gradients(messages[i].bucket);
    std::vector<Transfer> carried =
        push ? push(*communicator, i, gradients)
             : std::vector{all_reduce_bucket(*communicator, staging, i, gradients)};
    for (Transfer& each : carried) {
      each.posted = begun;
      transfers.push_back(each);
    }
  }
  return transfers;
}

/// Who does not own them gets the parameters that their owner has updated.
void Trainer::Impl::hand_out_parameters(std::vector<Transfer>& transfers) {
  program->synchronize();
  const Instant begun = steady_clock::now();
  communicator->meet(options.waiting);
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const Bucket& bucket = messages[i].bucket;
    transfers.push_back(
        broadcast_bucket(*communicator, staging, i, program->parameters(bucket), owners[i]));
    transfers.back().posted = begun;
    if (owners[i] != communicator->rank()) program->parameters_changed(bucket);
  }
}

}  // namespace dlscale::train
