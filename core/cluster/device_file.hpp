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

/// Data sheets of GPUs, one file of configs/devices per board or module. All figures are nominal;
/// none was measured here.

/// Number formats of a data sheet. f64 and f32 are rates of plain cores, the others of tensor cores
/// (f16 of plain cores if there are none). Rates are for dense matrices with sums in f32, never
/// "with sparsity", which counts products with zeros that are skipped.
enum class SheetFormat { f64, f32, tf32, bf16, f16, f8, f4 };
inline constexpr std::array all_sheet_formats{
    SheetFormat::f64, SheetFormat::f32, SheetFormat::tf32, SheetFormat::bf16,
    SheetFormat::f16, SheetFormat::f8,  SheetFormat::f4};
std::string_view sheet_format_name(SheetFormat format);

/// Direct links from a GPU to others.
struct NvlinkPorts {
  int generation = 1;  ///< 1 … 5
  int links = 1;
  BytesPerSecond bandwidth;  ///< all links together, in one direction
};

struct DeviceSheet {
  std::string id;                    ///< file name without extension: v100_sxm2_16gb
  std::string name;                  ///< NVIDIA Tesla V100 SXM2 16 GB
  std::vector<std::string> aliases;  ///< names in publications
  std::string architecture;          ///< volta
  std::string chip;                  ///< GV100
  int launched = 0;                  ///< year
  Bytes memory;                      ///< as printed on the sheet, GB as 10^9 bytes
  BytesPerSecond memory_bandwidth;
  int multiprocessors = 0;
  int cores = 0;                    ///< f32 multiply-adds a clock, of all multiprocessors
  Hertz boost_clock;                ///< of the plain cores
  std::optional<Hertz> base_clock;  ///< guaranteed under any load; absent: unknown
  /// Clock of the peaks of tensor cores, ≤ boost_clock; boost_clock where the file states none.
  Hertz tensor_clock;
  std::optional<double> power_w;     ///< of the board, in watts; absent: unknown
  std::optional<double> process_nm;  ///< of the chip, in nanometres; absent: unknown
  /// By format; absent: not offered, not faster than f32, or unknown. f32 is always present.
  std::map<SheetFormat, FlopsPerSecond> peak;
  std::string host_link;              ///< name of a kind in configs/links
  std::optional<NvlinkPorts> nvlink;  ///< absent: no NVLink
  std::vector<DataSource> sources;
};

/// Reads configs/devices/<name>.yaml, or the file `name` if it has a slash or ends in .yaml. Throws
/// ConfigError, which names file, place and what to write. Contradictory figures are refused, too,
/// for example an f32 peak that does not follow from cores and clock.
DeviceSheet load_device_sheet(std::string_view name);

/// Median of base_clock over boost_clock in the files of configs/devices that have both.
inline constexpr double usual_base_share = 0.82;

/// The same figures as a Device of a cluster. An unknown base_clock is the usual share of
/// boost_clock, or tensor_clock if that is lower. `launch`, the minimum time of a kernel, is not on
/// data sheets.
Device nominal_device(const DeviceSheet& sheet, Seconds launch);

/// Data sheets that can be looked up by the common names of a GPU.
class DeviceCatalogue {
 public:
  /// Throws ConfigError if two sheets share a name.
  explicit DeviceCatalogue(std::vector<DeviceSheet> sheets);
  /// Loads all files of configs/devices.
  static DeviceCatalogue load();

  [[nodiscard]] const std::vector<DeviceSheet>& sheets() const { return sheets_; }
  /// Finds a sheet by id, name or alias, ignoring case, spaces, punctuation and the words NVIDIA,
  /// Tesla and GeForce. nullptr if there is none.
  [[nodiscard]] const DeviceSheet* find(std::string_view name) const;
  /// As find(), but throws ConfigError with the nearest names if there is none.
  [[nodiscard]] const DeviceSheet& at(std::string_view name) const;

 private:
  std::vector<DeviceSheet> sheets_;
  std::map<std::string, std::size_t> by_word_;
};

}  // namespace dlscale
