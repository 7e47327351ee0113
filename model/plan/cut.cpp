#include "model/plan/cut.hpp"

#include "core/base/error.hpp"

namespace dlscale::model {

Cut cut_singly(std::span<const double> gradients) {
  Cut cut;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    cut.last.push_back(i);
    cut.bytes.push_back(gradients[i]);
  }
  return cut;
}

Cut cut_in_buckets(std::span<const double> gradients, Bytes first, Bytes limit) {
  EXPECT(first > Bytes() && limit > Bytes());
  Cut cut;
  bool is_open = false;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (!is_open) {
      cut.last.push_back(i);
      cut.bytes.push_back(0);
    }
    cut.last.back() = i;
    cut.bytes.back() += gradients[i];
    is_open = Bytes(cut.bytes.back()) < (cut.messages() == 1 ? first : limit);
  }
  return cut;
}

Cut cut_by_groups(std::span<const double> gradients, std::span<const std::size_t> groups) {
  Cut cut;
  std::size_t next = 0;
  for (const std::size_t count : groups) {
    EXPECT(count >= 1 && next + count <= gradients.size());
    double bytes = 0;
    for (const double gradient : gradients.subspan(next, count)) bytes += gradient;
    next += count;
    cut.last.push_back(next - 1);
    cut.bytes.push_back(bytes);
  }
  EXPECT(next == gradients.size());
  return cut;
}

}  // namespace dlscale::model
