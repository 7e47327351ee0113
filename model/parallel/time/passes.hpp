#pragma once

namespace dlscale::model::parallel_time {

/// Seconds of a part of a training forward and backward.
struct PassTime {
  double forward = 0;
  double backward = 0;
  PassTime& operator+=(const PassTime& other) {
    forward += other.forward;
    backward += other.backward;
    return *this;
  }
  [[nodiscard]] double total() const { return forward + backward; }
};
inline PassTime operator+(PassTime one, const PassTime& other) {
  return one += other;
}
inline PassTime operator*(double factor, const PassTime& time) {
  return {factor * time.forward, factor * time.backward};
}

}  // namespace dlscale::model::parallel_time
