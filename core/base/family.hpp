#pragma once
#include <span>
#include <string_view>
#include <vector>

namespace dlscale {

/// A member that could not be built, and why.
struct Absent {
  std::string_view name;
  std::string_view reason;
};

/// A set of interchangeable things of one type: backends, benchmarks, algorithms.
template <class Member>
struct Family {
  std::span<const Member* const> members;
  std::span<const Absent> absent;

  /// The member called `name`, or nullptr.
  [[nodiscard]] const Member* find(std::string_view name) const {
    for (const Member* member : members) {
      if (member->name == name) return member;
    }
    return nullptr;
  }
};

/// All members of a family, in the order of their dlscale_add() calls. CMake generates it
/// (cmake/DlscaleFamily.cmake); the header that defines `Member` declares the specialisation.
template <class Member>
Family<Member> family();

}  // namespace dlscale
