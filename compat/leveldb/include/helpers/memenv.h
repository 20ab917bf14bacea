// NewMemEnv under the path of LevelDB's own source tree. Debian installs the header in leveldb/.

#include "leveldb/helpers/memenv.h"
