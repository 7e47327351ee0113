#pragma once
#include <compare>

namespace dlscale {

/// A double tagged with the powers of its dimensions. Adding seconds to bytes does not compile;
/// bytes divided by bytes per second are seconds.
template <int TimePower, int BytePower, int FlopPower>
class Quantity {
 public:
  constexpr Quantity() = default;
  explicit constexpr Quantity(double si) : si_(si) {}

  /// Value in SI units: seconds, bytes, floating-point operations.
  [[nodiscard]] constexpr double si() const { return si_; }

  constexpr auto operator<=>(const Quantity&) const = default;
  constexpr Quantity& operator+=(Quantity other) {
    si_ += other.si_;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity other) {
    si_ -= other.si_;
    return *this;
  }
  friend constexpr Quantity operator-(Quantity a) { return Quantity(-a.si_); }
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return Quantity(a.si_ + b.si_); }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return Quantity(a.si_ - b.si_); }
  friend constexpr Quantity operator*(double k, Quantity a) { return Quantity(k * a.si_); }
  friend constexpr Quantity operator*(Quantity a, double k) { return k * a; }
  friend constexpr Quantity operator/(Quantity a, double k) { return Quantity(a.si_ / k); }

 private:
  double si_ = 0;
};

namespace detail {
/// A product or quotient whose dimensions cancel is a plain number.
template <int T, int B, int F>
constexpr auto make_quantity(double si) {
  if constexpr (T == 0 && B == 0 && F == 0) {
    return si;
  } else {
    return Quantity<T, B, F>(si);
  }
}
}  // namespace detail

template <int T1, int B1, int F1, int T2, int B2, int F2>
constexpr auto operator*(Quantity<T1, B1, F1> a, Quantity<T2, B2, F2> b) {
  return detail::make_quantity<T1 + T2, B1 + B2, F1 + F2>(a.si() * b.si());
}
template <int T1, int B1, int F1, int T2, int B2, int F2>
constexpr auto operator/(Quantity<T1, B1, F1> a, Quantity<T2, B2, F2> b) {
  return detail::make_quantity<T1 - T2, B1 - B2, F1 - F2>(a.si() / b.si());
}
template <int T, int B, int F>
constexpr auto operator/(double k, Quantity<T, B, F> a) {
  return detail::make_quantity<-T, -B, -F>(k / a.si());
}

using Seconds = Quantity<1, 0, 0>;
using Bytes = Quantity<0, 1, 0>;
using Flops = Quantity<0, 0, 1>;  ///< operations: one add or one multiply; a multiply-add is two
using BytesPerSecond = Quantity<-1, 1, 0>;
using FlopsPerSecond = Quantity<-1, 0, 1>;
using SecondsPerByte = Quantity<1, -1, 0>;
using FlopsPerByte = Quantity<0, -1, 1>;  ///< arithmetic intensity

inline namespace literals {
constexpr Seconds operator""_s(long double v) {
  return Seconds(static_cast<double>(v));
}
constexpr Seconds operator""_ms(long double v) {
  return Seconds(static_cast<double>(v) * 1e-3);
}
constexpr Seconds operator""_us(long double v) {
  return Seconds(static_cast<double>(v) * 1e-6);
}
constexpr Bytes operator""_B(unsigned long long v) {
  return Bytes(static_cast<double>(v));
}
constexpr Bytes operator""_KiB(unsigned long long v) {
  return Bytes(static_cast<double>(v) * 1024.0);
}
constexpr Bytes operator""_MiB(unsigned long long v) {
  return Bytes(static_cast<double>(v) * 1048576.0);
}
constexpr BytesPerSecond operator""_GBps(long double v) {
  return BytesPerSecond(static_cast<double>(v) * 1e9);
}
constexpr FlopsPerSecond operator""_TFLOPps(long double v) {
  return FlopsPerSecond(static_cast<double>(v) * 1e12);
}
}  // namespace literals

/// Upper limit of a plausible time in seconds. A longer written or measured time is a typing error
/// or damage, and results computed from it may not be finite.
inline constexpr double max_plausible_time_s = 1e12;

}  // namespace dlscale
