#include "bench/comm/traffic/test_numbers.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "core/base/error.hpp"

namespace dlscale::bench {
namespace {

using backend::Reduction;

/// Period of a sequence in elements: a prime, so that wrong strides of an algorithm show.
constexpr std::size_t period = 1021;

/// Number of different values, all below 255, the fill value of unwritten memory.
constexpr double most_numbers = 251;

/// Hash of rank and index, by multiplications and shifts as in a random number generator.
std::uint64_t mixed(Rank rank, std::size_t place) {
  std::uint64_t bits = (static_cast<std::uint64_t>(rank) << 32U) + place + 1;
  bits *= 0x9E3779B97F4A7C15U;
  bits ^= bits >> 32U;
  bits *= 0xD6E8FEB86659FD93U;
  return bits ^ (bits >> 32U);
}

double count_numbers(backend::ElementType type, Reduction op, int ranks) {
  if (op != Reduction::sum) return most_numbers;
  const double largest = std::min(largest_whole(type), 1e15);
  const double each =
      std::floor((type == backend::ElementType::u8 ? largest - 1 : largest) / ranks);
  if (each >= 1) return std::min(each + 1, most_numbers);
  throw Unsupported(
      fmt::format("Sums of the numbers of {} ranks are not exact in {}, so nobody could tell a "
                  "wrong result. Use another data type, or the operation max.",
                  ranks, to_string(type)));
}

/// Calls use(index in the sequence, offset in the message, bytes) for the pieces of a message that
/// begins with element `first` of the periodic sequence.
template <class Use>
void for_each_piece(std::size_t element, std::size_t first, std::size_t bytes, Use use) {
  std::size_t place = first % period * element;
  for (std::size_t offset = 0; offset < bytes;) {
    const std::size_t piece = std::min(period * element - place, bytes - offset);
    use(place, offset, piece);
    offset += piece;
    place = 0;
  }
}

}  // namespace

std::string shared_verdict(backend::Communicator& ranks, const Mismatch& mine) {
  std::vector<Mismatch> all(static_cast<std::size_t>(ranks.size()));
  ranks.all_gather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)));
  const auto wrong = [](const Mismatch& found) { return found.wrong > 0; };
  const auto first = std::find_if(all.begin(), all.end(), wrong);
  if (first == all.end()) return {};
  return fmt::format("wrong on {} of {} ranks; rank {}: {}, the first is [{}], {} instead of {}",
                     std::count_if(all.begin(), all.end(), wrong), all.size(), first - all.begin(),
                     first->wrong == 1 ? "1 element" : fmt::format("{} elements", first->wrong),
                     first->index, first->value, first->expected);
}

TestNumbers::TestNumbers(backend::ElementType type, Reduction op, int ranks)
    : type_(type),
      op_(op),
      ranks_(ranks),
      numbers_(static_cast<std::uint64_t>(count_numbers(type, op, ranks))) {}

TestNumbers::TestNumbers(backend::ElementType type)
    : type_(type), numbers_(static_cast<std::uint64_t>(most_numbers)) {}

void TestNumbers::write(Rank rank, std::size_t first, std::span<std::byte> to) const {
  const std::vector<std::byte> from = sequence(rank);
  for_each_piece(size_of(type_), first, to.size(),
                 [&](std::size_t place, std::size_t offset, std::size_t bytes) {
                   std::memcpy(to.data() + offset, from.data() + place, bytes);
                 });
}

Mismatch TestNumbers::compare(Rank rank, std::size_t first, std::span<const std::byte> with) const {
  return compare(sequence(rank), first, with);
}

Mismatch TestNumbers::compare_reduced(std::size_t first, std::span<const std::byte> with) const {
  return compare(reduced_sequence(), first, with);
}

double TestNumbers::number(Rank rank, std::size_t place) const {
  return static_cast<double>(mixed(rank, place) % numbers_);
}

std::vector<std::byte> TestNumbers::sequence(Rank rank) const {
  const std::size_t element = size_of(type_);
  std::vector<std::byte> bytes(period * element);
  for (std::size_t i = 0; i < period; ++i) {
    write_element(type_, number(rank, i), bytes.data() + i * element);
  }
  return bytes;
}

std::vector<std::byte> TestNumbers::reduced_sequence() const {
  const std::size_t element = size_of(type_);
  std::vector<std::byte> bytes(period * element);
  for (std::size_t i = 0; i < period; ++i) {
    double result = number(0, i);
    for (Rank rank = 1; rank < ranks_; ++rank) {
      const double other = number(rank, i);
      if (op_ == Reduction::sum) result += other;
      if (op_ == Reduction::max) result = std::max(result, other);
      if (op_ == Reduction::min) result = std::min(result, other);
    }
    write_element(type_, result, bytes.data() + i * element);
  }
  return bytes;
}

Mismatch TestNumbers::compare(std::span<const std::byte> wanted, std::size_t first,
                              std::span<const std::byte> with) const {
  const std::size_t element = size_of(type_);
  Mismatch found;
  const auto look = [&](std::size_t place, std::size_t offset) {
    const std::byte* expected = wanted.data() + place;
    const std::byte* value = with.data() + offset;
    if (std::memcmp(expected, value, element) == 0 || found.wrong++ > 0) return;
    found.index = static_cast<std::int64_t>(offset / element);
    found.value = read_element(type_, value);
    found.expected = read_element(type_, expected);
  };
  for_each_piece(element, first, with.size(),
                 [&](std::size_t place, std::size_t offset, std::size_t bytes) {
                   if (std::memcmp(wanted.data() + place, with.data() + offset, bytes) == 0) {
                     return;
                   }
                   for (std::size_t at = 0; at < bytes; at += element)
                     look(place + at, offset + at);
                 });
  return found;
}

Mismatch join(const Mismatch& first, const Mismatch& second, std::size_t offset) {
  if (second.wrong == 0) return first;
  Mismatch both = first;
  if (first.wrong == 0) {
    both = second;
    both.index += static_cast<std::int64_t>(offset);
    return both;
  }
  both.wrong += second.wrong;
  return both;
}

}  // namespace dlscale::bench
