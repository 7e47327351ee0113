#pragma once
#include <optional>
#include <span>

#include "model/communication/message_family.hpp"
#include "model/communication/range_fit.hpp"
#include "model/fits/piecewise.hpp"

namespace dlscale::model {

/// From reduces and broadcasts that were carried out by schedules which differ in direction and
/// adding alone, so that
///   T_reduce(m) - T_broadcast(m) = C m γ   with C of the reduce's closed form [MODEL 3.7, 3.8]:
/// the median over messages of 64 KiB or more on the same ranks, with its 95 % interval. Nothing
/// where there are fewer than 3 or the median is not above 0: then adding is lost in the noise of
/// the messages. Wrong where adding overlaps with receiving. It is the cost of the loops that carry
/// out our own schedules, and says nothing of those of a library.
std::optional<ReductionTime> reduction_by_difference(std::span<const MessageFamily> families);

/// From passes over arrays in memory, sum of two into a third ("add" of bench memory), of which
/// each has `bytes`: what adding costs without any message, out of all caches.
ReductionTime reduction_by_memory(const Estimate<Seconds>& pass, Bytes bytes);

}  // namespace dlscale::model
