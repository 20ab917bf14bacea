// Snappy, from the Rust half of the library.

#ifndef FOLDB_LEVELDB_PORT_SNAPPY_H_
#define FOLDB_LEVELDB_PORT_SNAPPY_H_

#include <cstddef>
#include <string>

#include "leveldb/slice.h"

extern "C" {
size_t foldbport_snappy_bound(size_t length);
size_t foldbport_snappy_compress(const char* input, size_t length, char* output, size_t room);
bool foldbport_snappy_length(const char* input, size_t length, size_t* decompressed);
bool foldbport_snappy_decompress(const char* input, size_t length, char* output, size_t room);
}

namespace leveldb {
namespace snappy {

// Sets *output to the compressed input. Returns false, with *output in any state, for an input of
// more than 4 GiB.
inline bool Compress(const Slice& input, std::string* output) {
  output->resize(foldbport_snappy_bound(input.size()));
  const size_t length =
      foldbport_snappy_compress(input.data(), input.size(), &(*output)[0], output->size());
  output->resize(length);
  return length != 0;
}

// Sets *length to the bytes that the input has when decompressed. Returns false if it is damaged.
inline bool DecompressedLength(const Slice& input, size_t* length) {
  return foldbport_snappy_length(input.data(), input.size(), length);
}

// Decompresses to output, which has room for `length` bytes. Returns false if the input is damaged
// or has another length when decompressed.
inline bool Decompress(const Slice& input, char* output, size_t length) {
  return foldbport_snappy_decompress(input.data(), input.size(), output, length);
}

}  // namespace snappy
}  // namespace leveldb

#endif  // FOLDB_LEVELDB_PORT_SNAPPY_H_
