#include "backend/comm/elements.hpp"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "backend/compute/precision.hpp"
#include "core/base/error.hpp"

namespace dlscale::backend {
namespace {

/// A type with which the processor computes.
template <class T>
struct Plain {
  using Stored = T;
  static T widen(T value) { return value; }
  static T narrow(T value) { return value; }
};

struct Bfloat16 {
  using Stored = std::uint16_t;
  static float widen(std::uint16_t value) { return from_bfloat16(value); }
  static std::uint16_t narrow(float value) { return to_bfloat16(value); }
};

struct Float16 {
  using Stored = std::uint16_t;
  static float widen(std::uint16_t value) { return from_half(value); }
  static std::uint16_t narrow(float value) { return to_half(value); }
};

/// Calls use(format) with the format of `type`.
template <class Use>
auto with_format(ElementType type, Use use) {
  switch (type) {
    case ElementType::f32:
      return use(Plain<float>{});
    case ElementType::f64:
      return use(Plain<double>{});
    case ElementType::bf16:
      return use(Bfloat16{});
    case ElementType::f16:
      return use(Float16{});
    case ElementType::i32:
      return use(Plain<std::int32_t>{});
    case ElementType::i64:
      return use(Plain<std::int64_t>{});
    case ElementType::u8:
      return use(Plain<std::uint8_t>{});
  }
  fail_expectation("a known ElementType");
}

template <class T>
T sum(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using Unsigned = std::make_unsigned_t<T>;  // may wrap around
    return static_cast<T>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b));
  } else {
    return a + b;
  }
}

template <class T>
bool is_nan(T value) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::isnan(value);
  } else {
    return false;
  }
}

template <class T>
T larger(T a, T b) {
  if (is_nan(a)) return a;
  return is_nan(b) || a < b ? b : a;
}

template <class T>
T smaller(T a, T b) {
  if (is_nan(a)) return a;
  return is_nan(b) || b < a ? b : a;
}

template <class Format, class Operator>
void combine_as(std::span<const std::byte> other, std::span<std::byte> accumulated, Operator op) {
  using Stored = typename Format::Stored;
  for (std::size_t at = 0; at < accumulated.size(); at += sizeof(Stored)) {
    Stored a;
    Stored b;
    std::memcpy(&a, accumulated.data() + at, sizeof(Stored));
    std::memcpy(&b, other.data() + at, sizeof(Stored));
    a = Format::narrow(op(Format::widen(a), Format::widen(b)));
    std::memcpy(accumulated.data() + at, &a, sizeof(Stored));
  }
}

constexpr std::array<std::string_view, element_types.size()> element_names{
    "f32", "f64", "bf16", "f16", "i32", "i64", "u8"};
constexpr std::array<std::string_view, reductions.size()> reduction_names{"sum", "max", "min"};

}  // namespace

std::string_view to_string(ElementType type) {
  return element_names.at(static_cast<std::size_t>(type));
}

std::string_view to_string(Reduction op) {
  return reduction_names.at(static_cast<std::size_t>(op));
}

std::size_t size_of(ElementType type) {
  return with_format(
      type, []([[maybe_unused]] auto format) { return sizeof(typename decltype(format)::Stored); });
}

double largest_whole(ElementType type) {
  switch (type) {
    case ElementType::f32:
      return 0x1p24;
    case ElementType::f64:
    case ElementType::i64:  // and as a double
      return 0x1p53;
    case ElementType::bf16:
      return 0x1p8;
    case ElementType::f16:
      return 0x1p11;
    case ElementType::i32:
      return std::numeric_limits<std::int32_t>::max();
    case ElementType::u8:
      return std::numeric_limits<std::uint8_t>::max();
  }
  fail_expectation("a known ElementType");
}

void write_element(ElementType type, double value, std::byte* to) {
  with_format(type, [&]([[maybe_unused]] auto format) {
    using Format = decltype(format);
    using Wide = decltype(Format::widen({}));
    const typename Format::Stored stored = Format::narrow(static_cast<Wide>(value));
    std::memcpy(to, &stored, sizeof stored);
  });
}

double read_element(ElementType type, const std::byte* from) {
  return with_format(type, [&]([[maybe_unused]] auto format) {
    using Format = decltype(format);
    typename Format::Stored stored;
    std::memcpy(&stored, from, sizeof stored);
    return static_cast<double>(Format::widen(stored));
  });
}

void combine(ElementType type, Reduction op, std::span<const std::byte> other,
             std::span<std::byte> accumulated) {
  EXPECT(other.size() == accumulated.size() && other.size() % size_of(type) == 0);
  with_format(type, [&]([[maybe_unused]] auto format) {
    using Format = decltype(format);
    switch (op) {
      case Reduction::sum:
        return combine_as<Format>(other, accumulated, [](auto a, auto b) { return sum(a, b); });
      case Reduction::max:
        return combine_as<Format>(other, accumulated, [](auto a, auto b) { return larger(a, b); });
      case Reduction::min:
        return combine_as<Format>(other, accumulated, [](auto a, auto b) { return smaller(a, b); });
    }
    fail_expectation("a known Reduction");
  });
}

}  // namespace dlscale::backend
