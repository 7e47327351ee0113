#include "bench/comm/traffic/traffic.hpp"

namespace dlscale::bench {

Seconds Traffic::once() {
  stay_.entry = std::chrono::steady_clock::now();
  carry_out();
  stay_.exit = std::chrono::steady_clock::now();
  if (const std::optional<Seconds> own = own_time()) return *own;
  return Seconds(std::chrono::duration<double>(stay_.exit - stay_.entry).count()) / parts();
}

std::vector<std::string> traffic_names() {
  std::vector<std::string> names;
  for (const backend::Collective each : backend::all_collectives)
    names.emplace_back(to_string(each));
  for (const char* name : {"sendrecv", "bandwidth", "bidirectional", "pairs", "barrier"}) {
    names.emplace_back(name);
  }
  return names;
}

std::optional<backend::Collective> collective_named(std::string_view name) {
  for (const backend::Collective each : backend::all_collectives) {
    if (to_string(each) == name) return each;
  }
  return std::nullopt;
}

bool sends_windows(std::string_view name) {
  return name == "bandwidth" || name == "bidirectional";
}

std::unique_ptr<Traffic> make_traffic(backend::Communicator& ranks, const Message& message) {
  if (const auto collective = collective_named(message.collective)) {
    return make_collective_traffic(ranks, *collective, message, backend::DataPlace::host,
                                   Calls::prepared);
  }
  if (message.collective == "pairs") {
    return make_all_pairs_traffic(ranks, message, backend::DataPlace::host);
  }
  return make_pair_traffic(ranks, message, backend::DataPlace::host);
}

std::string library_of(const backend::Communicator& ranks, backend::DataPlace place) {
  return place == backend::DataPlace::device ? device_library(ranks) : ranks.host_library();
}

}  // namespace dlscale::bench
