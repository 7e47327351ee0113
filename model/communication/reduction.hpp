#pragma once
#include <optional>
#include <span>

#include "model/communication/message_family.hpp"
#include "model/communication/range_fit.hpp"
#include "model/fits/piecewise.hpp"

namespace dlscale::model {

/// Computes γ from reduces and broadcasts whose schedules differ only in direction and addition, so
/// that
///   T_reduce(m) - T_broadcast(m) = C m γ
/// with C of the reduce's closed form: the median over messages of 64 KiB or more
/// on the same ranks, with its 95 % interval. Empty where there are fewer than 3 or the median is
/// not above 0: then the noise of the messages hides the addition. Wrong where adding overlaps with
/// receiving. It is the cost of our own schedules' loops, not of a library's.
std::optional<ReductionTime> reduction_by_difference(std::span<const MessageFamily> families);

/// Computes γ from passes over arrays in memory of `bytes` each that sum two into a third ("add" of
/// bench memory): the cost of addition outside all caches, without any message.
ReductionTime reduction_by_memory(const Estimate<Seconds>& pass, Bytes bytes);

}  // namespace dlscale::model
