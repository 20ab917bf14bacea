// CRC-32C, from the Rust half of the library, and the form in which LevelDB stores it.

#ifndef FOLDB_LEVELDB_PORT_CRC32C_H_
#define FOLDB_LEVELDB_PORT_CRC32C_H_

#include <cstddef>
#include <cstdint>

extern "C" uint32_t foldbport_crc32c_extend(uint32_t crc, const char* data, size_t length);

namespace leveldb {
namespace crc32c {

// The CRC of the bytes of `crc` followed by these.
inline uint32_t Extend(uint32_t crc, const char* data, size_t length) {
  return foldbport_crc32c_extend(crc, data, length);
}

inline uint32_t Value(const char* data, size_t length) { return Extend(0, data, length); }

// Files store a masked CRC, because the CRC of bytes that contain their own CRC is weak: it is
// rotated to the right by 15 bits, and this constant is added.
constexpr uint32_t kMaskDelta = 0xa282ead8;

inline uint32_t Mask(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + kMaskDelta; }

inline uint32_t Unmask(uint32_t masked) {
  const uint32_t rotated = masked - kMaskDelta;
  return (rotated << 15) | (rotated >> 17);
}

}  // namespace crc32c
}  // namespace leveldb

#endif  // FOLDB_LEVELDB_PORT_CRC32C_H_
