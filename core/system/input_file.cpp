#include "core/system/input_file.hpp"

#include <fmt/format.h>
#define ZLIB_CONST  // next_in is not written to
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <fstream>
#include <memory>
#include <new>
#include <sstream>
#include <system_error>
#include <utility>

#include "core/base/error.hpp"
#include "core/text/utf8_text.hpp"

namespace dlscale {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view pipe_objection = "it is a pipe or a device, where a file is wanted";

/// Why the file must not be opened; empty if it may be.
std::string objection(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status) && path == "-") return std::string(pipe_objection);
  if (error) return error.message();
  if (fs::is_directory(status)) return "it is a folder";
  if (!fs::is_regular_file(status)) return std::string(pipe_objection);
  return "";
}

std::ifstream open_input(const fs::path& path, std::string_view advice) {
  std::string reason = objection(path);
  std::ifstream stream;
  if (reason.empty()) {
    errno = 0;
    stream.open(path, std::ios::binary);
    if (!stream) reason = std::generic_category().message(errno);
  }
  if (reason == pipe_objection) advice = "Write what it gives to a file, and name that.";
  if (!reason.empty()) {
    throw ConfigError(fmt::format("{} cannot be read ({}). {}", path.string(), reason, advice));
  }
  return stream;
}

bool begins_gzip(std::string_view content) {
  return content.starts_with("\x1f\x8b");
}

/// The next bytes of a stream: `most` of them, or fewer at its end.
std::string next_bytes(std::istream& stream, std::size_t most) {
  std::string bytes(most, '\0');
  stream.read(bytes.data(), static_cast<std::streamsize>(most));
  bytes.resize(static_cast<std::size_t>(stream.gcount()));
  return bytes;
}

[[noreturn]] void refuse_zeros(std::size_t from, const fs::path& path) {
  throw ConfigError(fmt::format(
      "{} is not text: it holds zero bytes from byte {} on, as files do after a crash or a full "
      "disk. Get the file again.",
      path.string(), from));
}

/// Refuses what is not text before all of it is read: after a crash of the machine, files may hold
/// pages of zeros in place of what was written. Programs that share a log leave shorter runs.
void expect_text(std::string_view piece, std::size_t before, const fs::path& path) {
  constexpr std::size_t page = 4096;
  static const std::string zeros(page, '\0');
  const std::size_t found = piece.find(zeros);
  if (found != std::string_view::npos) refuse_zeros(before + found, path);
}

/// Refuses zeros alone, and JSON that ends in zeros. A log may be padded with them.
void expect_end_of_text(std::string_view bytes, const fs::path& path) {
  constexpr std::size_t run = 64;  // UTF-32 has three zeros in a row
  const std::size_t end = bytes.find_last_not_of('\0') + 1;
  const bool may_be_padded = end > 0 && bytes.front() != '{' && bytes.front() != '[';
  if (bytes.size() - end >= run && !may_be_padded) refuse_zeros(end, path);
}

std::string all_bytes(std::istream& stream, const fs::path& path) {
  constexpr std::size_t most = std::size_t{1} << 31U;
  constexpr std::size_t least_piece = 4096;  // files below /proc say that they have no size
  constexpr std::size_t most_piece = std::size_t{1} << 20U;
  std::error_code unknown;
  const std::uintmax_t size = fs::file_size(path, unknown);
  const std::size_t piece =
      std::clamp<std::uintmax_t>(unknown ? most : size, least_piece, most_piece);
  std::string bytes;
  // Growing would take up to three times the memory of a large file.
  const bool is_larger = !unknown && size > most;
  if (!unknown && !is_larger) bytes.reserve(size);
  const std::size_t enough = is_larger ? 0 : most;  // of a file that is refused anyway, one piece
  while (stream.good() && bytes.size() <= enough) {
    const std::string next = next_bytes(stream, piece);
    if (!begins_gzip(bytes.empty() ? next : bytes)) expect_text(next, bytes.size(), path);
    bytes += next;
  }
  if (bytes.size() > enough) {
    throw ConfigError(
        fmt::format("{} is larger than {} bytes, which is the most that is read. Check what it is.",
                    path.string(), most));
  }
  if (!begins_gzip(bytes)) expect_end_of_text(bytes, path);
  if (!stream.bad()) return bytes;
  throw ConfigError(
      fmt::format("{} could be read only up to byte {}. Check the disk, or get the file again.",
                  path.string(), bytes.size()));
}

enum class Inflation { whole, cut_short, damaged, too_large };

/// Appends the inflated content of gzip [RFC 1952], which has one or more members. Stops after more
/// than `most` bytes.
Inflation inflate_gzip(std::string_view packed, std::size_t most, std::string& text) {
  constexpr int gzip_alone = 16 + MAX_WBITS;
  constexpr std::size_t largest_input = std::size_t{1} << 30U;  // zlib counts in 32 bits
  z_stream stream{};
  if (inflateInit2(&stream, gzip_alone) != Z_OK) throw std::bad_alloc();
  const std::unique_ptr<z_stream, int (*)(z_stream*)> guard(&stream, inflateEnd);
  std::array<Bytef, std::size_t{1} << 16U> piece;
  for (int code = Z_OK; text.size() <= most;) {
    if (stream.avail_in == 0) {
      const std::string_view next = packed.substr(0, largest_input);
      packed.remove_prefix(next.size());
      stream.next_in = reinterpret_cast<const Bytef*>(next.data());
      stream.avail_in = static_cast<uInt>(next.size());
      if (code == Z_STREAM_END && next.empty()) return Inflation::whole;
    }
    if (code == Z_STREAM_END) inflateReset(&stream);
    stream.next_out = piece.data();
    stream.avail_out = static_cast<uInt>(piece.size());
    code = inflate(&stream, Z_NO_FLUSH);
    text.append(reinterpret_cast<const char*>(piece.data()), piece.size() - stream.avail_out);
    if (code == Z_BUF_ERROR) return Inflation::cut_short;
    if (code == Z_MEM_ERROR) throw std::bad_alloc();
    if (code != Z_OK && code != Z_STREAM_END) return Inflation::damaged;
  }
  return Inflation::too_large;
}

std::string inflated(std::string_view packed, std::size_t most, const fs::path& path) {
  std::string text;
  switch (inflate_gzip(packed, most, text)) {
    case Inflation::whole:
      return text;
    case Inflation::cut_short:
      throw ConfigError(fmt::format(
          "{} is compressed with gzip and cut short: it ends {} bytes into its content. Get the "
          "whole file, or compress the original again.",
          path.string(), text.size()));
    case Inflation::damaged:
      throw ConfigError(fmt::format(
          "{} is compressed with gzip and damaged {} bytes into its content. Get the file again, "
          "or compress the original again.",
          path.string(), text.size()));
    case Inflation::too_large:
      break;
  }
  throw ConfigError(fmt::format(
      "{} is compressed with gzip and inflates to more than {} bytes, which is the most that is "
      "read. Check what it is; if it is what you want, unpack it with gunzip.",
      path.string(), most));
}

/// The first bytes of a file without inflating; none if it cannot be read.
std::string first_bytes(const fs::path& path, std::size_t most) {
  if (!objection(path).empty()) return {};
  std::ifstream stream(path, std::ios::binary);
  return next_bytes(stream, most);
}

}  // namespace

std::string content_of(const fs::path& path) {
  std::ostringstream content;
  content << std::ifstream(path, std::ios::binary).rdbuf();
  return content.str();
}

std::string first_line(const fs::path& path) {
  std::ifstream stream(path);
  std::string line;
  std::getline(stream, line);
  while (!line.empty() && (line.back() == ' ' || line.back() == '\t')) line.pop_back();
  return line;
}

bool is_gzip(const fs::path& path) {
  return begins_gzip(first_bytes(path, 2));
}

/// Text of UTF-16 becomes UTF-8, and byte order marks are dropped.
std::string read_input(const fs::path& path, std::string_view advice, std::size_t most) {
  std::ifstream stream = open_input(path, advice);
  std::string bytes = all_bytes(stream, path);
  return utf8_text(begins_gzip(bytes) ? inflated(bytes, most, path) : std::move(bytes));
}

std::string read_beginning(const fs::path& path, std::size_t bytes) {
  constexpr std::size_t gzip_overhead = 4096;  // for its header, and blocks that do not shrink
  std::string beginning = first_bytes(path, bytes + gzip_overhead);
  if (begins_gzip(beginning)) {
    std::string text;
    (void)inflate_gzip(beginning, bytes, text);
    beginning = std::move(text);
  }
  beginning.resize(std::min(beginning.size(), bytes));
  return beginning;
}

}  // namespace dlscale
