#pragma once
#include <array>
#include <bitset>
#include <cstddef>
#include <span>
#include <string_view>

namespace dlscale::model::scaling {

/// A constant of the model of scaling, with its prior.
struct ParameterKind {
  std::string_view name;  ///< "interference"
  std::string_view doc;
  std::string_view unit;  ///< "s", "1", "B/s"
  double median;          ///< > 0: of the prior, log-normal
  double spread;          ///< > 0: standard deviation of its logarithm
  double absent;          ///< > 0: value that removes its term from the model
};

/// The parameters in the order of parameter_kinds().
enum class Parameter : std::size_t {
  pcie_efficiency,    // e_pcie
  pcie_growth,        // g_pcie
  nvlink_efficiency,  // e_nv
  line_efficiency,
  card_efficiency,
  server_efficiency,  // e_ps
  socket_rate,        // B_tcp
  negotiation,        // a_msg
  rdma_latency,
  tcp_latency,
  local_latency,     // a_loc
  interference,      // interf
  jitter,            // sigma
  jitter_decline,    // s_gen
  jitter_of_nodes,   // j_abs
  uneven_jitter,     // h_var
  launch,            // kappa
  launch_of_graphs,  // r_new
  eager_launch,      // k_eager
  update_passes,     // upd
  copy_passes,       // c_cp
  no_overlap_share,  // w_none
  scheduling,        // d_sched
};
inline constexpr std::size_t parameter_count = 23;

/// All parameters, in the order of the enumeration.
std::span<const ParameterKind, parameter_count> parameter_kinds();

/// Terms of the model, identified by their constants.
using Terms = std::bitset<parameter_count>;

/// Values of all parameters, each > 0.
struct Parameters {
  std::array<double, parameter_count> values = {};
  [[nodiscard]] double operator[](Parameter parameter) const {
    return values[static_cast<std::size_t>(parameter)];
  }
  static Parameters prior();                       ///< medians
  static Parameters prior_of(const Terms& terms);  ///< medians of these, the others absent
  bool operator==(const Parameters&) const = default;
};

}  // namespace dlscale::model::scaling
