#pragma once
#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.hpp"
#include "core/cluster/cluster.hpp"
#include "core/config/data_source.hpp"

namespace dlscale {

/// Data sheets of GPUs, one file of configs/devices a board or module. Nominal figures, of which
/// nothing was measured here.

/// Number formats of a data sheet. f64 and f32 are of plain cores, the others of tensor cores (f16
/// of plain cores where there are none), of dense matrices (never "with sparsity", which counts
/// products with zeros that are skipped) and with sums in f32.
enum class SheetFormat { f64, f32, tf32, bf16, f16, f8 };
inline constexpr std::array all_sheet_formats{SheetFormat::f64,  SheetFormat::f32,
                                              SheetFormat::tf32, SheetFormat::bf16,
                                              SheetFormat::f16,  SheetFormat::f8};
std::string_view sheet_format_name(SheetFormat format);

using Hertz = Quantity<-1, 0, 0>;

/// Direct links from a GPU to others.
struct NvlinkPorts {
  int generation = 1;  ///< 1 … 5
  int links = 1;
  BytesPerSecond bandwidth;  ///< of all links together, in one direction
};

struct DeviceSheet {
  std::string id;                    ///< as its file is called: v100_sxm2_16gb
  std::string name;                  ///< NVIDIA Tesla V100 SXM2 16 GB
  std::vector<std::string> aliases;  ///< what publications call it
  std::string architecture;          ///< volta
  std::string chip;                  ///< GV100
  int launched = 0;                  ///< year
  Bytes memory;                      ///< as printed on the sheet, GB as 10^9 bytes
  BytesPerSecond memory_bandwidth;
  int multiprocessors = 0;
  int cores = 0;      ///< f32 multiply-adds a clock, of all multiprocessors
  Hertz boost_clock;  ///< of plain cores
  /// By format; absent: not offered, no faster than f32, or not known. f32 is there.
  std::map<SheetFormat, FlopsPerSecond> peak;
  std::string host_link;              ///< a kind of configs/links
  std::optional<NvlinkPorts> nvlink;  ///< absent: it has none
  std::vector<DataSource> sources;
};

/// Reads configs/devices/<name>.yaml, or the file `name` if it has a slash or ends in .yaml. Throws
/// ConfigError that names file, place and what to write; figures that contradict each other (a peak
/// in f32 that cores and clock do not give, say) are refused, too.
DeviceSheet load_device_sheet(std::string_view name);

/// The same figures as a cluster has them. `launch`, the least time of a kernel, is on no sheet.
Device nominal_device(const DeviceSheet& sheet, Seconds launch);

/// Data sheets, to be found by what people call a GPU.
class DeviceCatalogue {
 public:
  /// Throws ConfigError if two sheets answer to one name.
  explicit DeviceCatalogue(std::vector<DeviceSheet> sheets);
  /// All of configs/devices.
  static DeviceCatalogue load();

  [[nodiscard]] const std::vector<DeviceSheet>& sheets() const { return sheets_; }
  /// By id, name or alias; case, spaces, punctuation and the words NVIDIA, Tesla and GeForce make
  /// no difference. nullptr if there is none.
  [[nodiscard]] const DeviceSheet* find(std::string_view name) const;
  /// Throws ConfigError with the names nearest to it if there is none.
  [[nodiscard]] const DeviceSheet& at(std::string_view name) const;

 private:
  std::vector<DeviceSheet> sheets_;
  std::map<std::string, std::size_t> by_word_;
};

}  // namespace dlscale
