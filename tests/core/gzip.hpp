#pragma once
#define ZLIB_CONST
#include <zlib.h>

#include <stdexcept>
#include <string>
#include <string_view>

namespace dlscale::test {

/// Text as gzip compresses it, in one member.
inline std::string gzip(std::string_view text) {
  z_stream stream{};
  if (deflateInit2(&stream, 9, Z_DEFLATED, 16 + MAX_WBITS, 9, Z_DEFAULT_STRATEGY) != Z_OK) {
    throw std::runtime_error("zlib cannot compress");
  }
  std::string packed(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<const Bytef*>(text.data());
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  const int code = deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  if (code != Z_STREAM_END) throw std::runtime_error("zlib has not compressed all");
  return packed;
}

}  // namespace dlscale::test
