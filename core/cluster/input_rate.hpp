#pragma once
#include <optional>
#include <string_view>

#include "core/base/units.hpp"

namespace dlscale {

/// Mean size of an ImageNet image, for which Host::decode and the data sets of `dlscale data make`
/// hold. [argonne-lcf/dlio_benchmark: 114,660 B a TFRecord, of which some is not image]
inline constexpr Bytes picture_size(110e3);

/// The bandwidth of storage that delivers so many samples of picture_size a second, for a text such
/// as "12000 images/s", "12000/s" or "800 sequences/s". Nothing for a text with another unit.
/// Throws ConfigError, which begins with `where`, for a number out of (0, 1e12].
std::optional<BytesPerSecond> parse_input_rate(std::string_view text, std::string_view where);

}  // namespace dlscale
