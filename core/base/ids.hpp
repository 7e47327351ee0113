#pragma once
#include <compare>
#include <cstddef>

namespace dlscale {

/// A type-safe index: an index into one kind of table cannot be used for another kind.
template <class Tag>
class Id {
 public:
  constexpr Id() = default;
  explicit constexpr Id(std::size_t index) : index_(index) {}
  [[nodiscard]] constexpr std::size_t index() const { return index_; }
  constexpr auto operator<=>(const Id&) const = default;

 private:
  std::size_t index_ = 0;
};

using LayerId = Id<struct LayerTag>;
using TaskId = Id<struct TaskTag>;

/// Number of a process among those that train together, 0 … size - 1.
using Rank = int;

}  // namespace dlscale
