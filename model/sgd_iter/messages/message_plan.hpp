#pragma once
#include <vector>

#include "core/base/units.hpp"
#include "core/network/network.hpp"
#include "core/network/step.hpp"
#include "core/run/run.hpp"
#include "model/sgd_iter/evidence/notes.hpp"
#include "model/sgd_iter/kernels/kernel_time.hpp"
#include "model/sgd_iter/messages/message_time.hpp"

namespace dlscale::model {

/// Bytes of a bucket's gradients, which are f32 whatever the precision of the layers.
Bytes message_size(const Bucket& bucket);

/// The messages of an iteration of a run on ≥ 2 ranks, in the order in which backward makes them
/// ready. They are gradient_buckets(), which a merged schedule merges as in the engine (merge_for()
/// of core/network/merge.hpp). It uses predicted instead of measured times of kernels and messages.
/// horovod and priority merge and cut them later. Where layers are merged or cut, notes the number
/// of messages and the largest.
std::vector<Bucket> planned_messages(const Network& network, const Run& run,
                                     const KernelTimes& kernels, const MessageTimes& messages,
                                     Notes& notes);

}  // namespace dlscale::model
